"""`/v2/{rag,gpt,pa,voc}/query`: the API of chat-core, field by field."""

import uuid
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import ModelUnavailable, StateUnavailable
from ragstone.core.tool import Picture
from ragstone.core.turn import Ask, SearchType
from ragstone.http import sse
from ragstone.http.bodies import Approval
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.pictures import MAX_BYTES, MAX_IMAGES, picture, pictures
from ragstone.http.identity import Who, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import Json, Refusal
from ragstone.http.streaming import hold_opening, stream_answer
from ragstone.plugins.chat_core.events import Conversation, refusal_body
from ragstone.plugins.chat_core.requests import SessionChatRequest, VisionRequest

MULTIPART = "multipart/form-data"
Room = Annotated[str, Query(max_length=255)]
Step = Annotated[str, Path(max_length=100)]


class ChatCoreRoute(APIRoute):
    """A route whose errors have the document's shape."""

    @staticmethod
    def format_refusal(refusal: Refusal) -> Response:
        """`detail` is what a program can tell errors by; a traceback is for the log. A database
        that is away is a 500."""
        status = 500 if refusal.code == StateUnavailable.code else refusal.status
        return Json(refusal_body(refusal.message, refusal.code), status, refusal.headers)


READS = "contextualize"
"""The stage that reads the conversation: a database that is away is an error before the stream."""

_ANSWERS = document_responses("application/json", STREAM)


def router(parts: DialectParts) -> APIRouter:
    """The routes below /v2."""
    service = parts.service
    routes = APIRouter(prefix="/v2", tags=["chat-core"], route_class=ChatCoreRoute)

    def answer(ask: Ask, caller: Caller) -> Response:
        if ask.search_type != "gpt":
            narrow_principal(caller, ask.collection)
        events = service.ask(ask)
        begun = hold_opening(events, in_stream=(ModelUnavailable.code,), through=READS)
        return sse.EventStream(stream_answer(begun, Conversation(ask.search_type)))

    @routes.post("/rag/query", response_model=None, responses=_ANSWERS)
    @for_guests
    async def rag(body: SessionChatRequest, caller: Who) -> Response:
        """Answer from documents, as a stream of events."""
        return answer(body.ask("rag", caller, _id()), caller)

    @routes.post("/gpt/query", response_model=None, responses=_ANSWERS)
    @for_guests
    async def gpt(body: SessionChatRequest, caller: Who) -> Response:
        """Answer from the conversation alone; takes a chat model."""
        return answer(body.ask("gpt", caller, _id()), caller)

    @routes.post("/pa/query", response_model=None, responses=_ANSWERS)
    @for_guests
    async def pa(body: SessionChatRequest, caller: Who) -> Response:
        """Answer from documents and tools over MCP."""
        return answer(body.ask("pa", caller, _id()), caller)

    @routes.post("/voc/query", response_model=None, responses=_ANSWERS)
    @for_guests
    async def voc(body: SessionChatRequest, caller: Who) -> Response:
        """Answer from customers' comments, counted and quoted, as a stream of events."""
        return answer(body.ask("voc", caller, _id()), caller)

    @routes.post("/pa/approvals/{id}", response_model=None)
    async def approve(id: Step, body: Approval, caller: Who) -> Response:
        """Approve or decline a call of a tool, whose step came in the caller's stream."""
        await service.approve(caller.principal, id, body.approved)
        return Json({"id": id, "approved": body.approved})

    @routes.post(
        "/vision/query", response_model=None, openapi_extra=_vision_body(), responses=_ANSWERS
    )
    @for_guests
    async def vision(request: Request, caller: Who) -> Response:
        """Answer about images, by a chat model that can look at them; JSON, or a form with the
        images as files."""
        body, seen = await _vision_request(request)
        return answer(body.build_ask(seen, caller, _id()), caller)

    @routes.get("/{search_type}/query", response_model=None)
    async def tokens(
        search_type: SearchType, caller: Who, room_id: Room, user_id: Room = ""
    ) -> Response:
        """The tokens that a room has taken so far."""
        here = conversation_key(caller.principal, room_id, user_id)
        return Json({"tokens": await service.conversations.tokens(here, search_type)})

    return routes


def _id() -> str:
    return str(uuid.uuid4())


async def _vision_request(request: Request) -> tuple[VisionRequest, tuple[Picture, ...]]:
    """Return the request and its images; raises RequestValidationError, InputError, TooLarge."""
    if request.headers.get("content-type", "").startswith(MULTIPART):
        async with request.form(
            max_files=MAX_IMAGES, max_fields=50, max_part_size=MAX_BYTES
        ) as form:
            fields, uploads = _fields(form)
            data = [await upload.read() for upload in uploads]
        seen = tuple(picture(item) for item in data)
        return _validate_body({**fields, "images": ["form"] if seen else []}), seen
    try:
        given = await request.json()
    except ValueError as error:
        wrong = {"type": "json_invalid", "loc": ("body",), "msg": "invalid JSON"}
        raise RequestValidationError([wrong]) from error
    body = _validate_body(given)
    return body, pictures(body.images)


def _fields(form: FormData) -> tuple[dict[str, Any], list[UploadFile]]:
    """Return the fields of a form, of which `metadata_filter_values` may come several times."""
    uploads = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    fields: dict[str, Any] = {k: v for k, v in form.items() if isinstance(v, str)}
    if "metadata_filter_values" in fields:
        fields["metadata_filter_values"] = form.getlist("metadata_filter_values")
    return fields, uploads


def _validate_body(given: Any) -> VisionRequest:
    try:
        return VisionRequest.model_validate(given)
    except ValidationError as error:
        found = [
            {**item, "loc": ("body", *item["loc"])} for item in error.errors(include_url=False)
        ]
        raise RequestValidationError(found) from error


def _vision_body() -> dict[str, Any]:
    """What /v2/vision/query takes, for OpenAPI: it is read by hand, as it comes in two forms."""
    schema = VisionRequest.model_json_schema()
    form = {**schema, "properties": {**schema["properties"]}}
    form["properties"]["images"] = {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
    }
    content = {"application/json": {"schema": schema}, MULTIPART: {"schema": form}}
    return {"requestBody": {"required": True, "content": content}}
