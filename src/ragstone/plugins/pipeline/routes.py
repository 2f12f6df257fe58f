"""Chat completions of the query pipeline: documents, conversation, tools or images, by `mode`."""

import uuid
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from ragstone.core.events import Event
from ragstone.http import sse
from ragstone.http.bodies import Approval
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import Json, json_unless_left
from ragstone.http.streaming import finish_turn, stream_answer
from ragstone.plugins.pipeline.answers import RagStream, rag_response
from ragstone.plugins.pipeline.requests import PipelineRequest

Step = Annotated[str, Path(max_length=100)]


def router(parts: DialectParts) -> APIRouter:
    """The routes below /api."""
    service = parts.service
    routes = APIRouter(prefix="/api", tags=["Query pipeline"])

    answers = document_responses("application/json", STREAM)

    @routes.post("/v1/chat/completions", response_model=None, responses=answers)
    @routes.post("/chat/completions", response_model=None, responses=answers)
    @for_guests
    async def create_chat_completion(
        body: PipelineRequest, request: Request, caller: Who
    ) -> Response:
        """Answer a message, streamed or in one piece."""
        ask = body.ask(caller, str(uuid.uuid4()))
        if ask.search_type != "gpt":
            narrow_principal(caller, ask.collection)
        events = service.ask(ask)
        if body.stream:
            return sse.EventStream(stream_answer(events, RagStream()))
        return await json_unless_left(request, _response_json(events))

    @routes.post("/v1/chat/approvals/{id}", response_model=None)
    @routes.post("/chat/approvals/{id}", response_model=None)
    async def approve(id: Step, body: Approval, caller: Who) -> Response:
        """Approve or decline a call of a tool, whose status came in the caller's stream."""
        await service.approve(caller.principal, id, body.approved)
        return Json({"id": id, "approved": body.approved})

    return routes


async def _response_json(events: AsyncGenerator[Event, None]) -> dict[str, Any]:
    return rag_response(await finish_turn(events))
