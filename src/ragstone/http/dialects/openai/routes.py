"""The OpenAI-compatible API: chat completions, models and embeddings."""

import base64
import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragstone.answer.first_cited import number_sources
from ragstone.core.caller import Caller
from ragstone.core.errors import InputError, NoChatModel, NoVision, UnknownModel
from ragstone.core.events import Event
from ragstone.http import sse
from ragstone.http.addresses import base_address
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.openai import shapes
from ragstone.http.dialects.openai.answers import Completion
from ragstone.http.dialects.openai.completions import CompletionRequest, LegacyCompletion
from ragstone.http.dialects.openai.housekeeping import do_chore, find_chore
from ragstone.http.dialects.openai.requests import CHAT_MODELS, ChatRequest, EmbeddingRequest
from ragstone.http.identity import Who, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import OPENAI_PREFIX, Json, Refusal, format_refusal, json_unless_left
from ragstone.http.streaming import finish_turn, stream_answer
from ragstone.service import Service
from ragstone.settings import ServerSettings

CHARACTERS_PER_TOKEN = 4
Kind = Literal["chat", "embedding"]


class OpenAiRoute(APIRoute):
    """A route whose refusals have the status that OpenAI's servers give them."""

    @staticmethod
    def format_refusal(refusal: Refusal) -> Response:
        """The refusal of images that no model can look at is 400, as all that is about images."""
        unseen = isinstance(refusal.error, NoChatModel | NoVision)
        return format_refusal(OPENAI_PREFIX, replace(refusal, status=400) if unseen else refusal)


def open_router() -> APIRouter:
    """Return a router for routes below /v1."""
    return APIRouter(prefix=OPENAI_PREFIX, tags=["OpenAI-compatible"], route_class=OpenAiRoute)


def router(parts: DialectParts) -> APIRouter:
    """Make the routes of completions, models and embeddings."""
    service, server = parts.service, parts.settings.server
    routes = open_router()
    _add_completions(routes, service, server)
    _add_models(routes, service)
    return routes


def _add_completions(routes: APIRouter, service: Service, server: ServerSettings) -> None:
    def make_completion(body: ChatRequest, request: Request, kind: str) -> Completion:
        lists = server.list_sources if body.list_sources is None else body.list_sources
        id = f"{kind}-{uuid.uuid4().hex}"
        return Completion(body, id, base_address(request, server), lists)

    async def answer(
        body: ChatRequest,
        request: Request,
        caller: Caller,
        id: str,
        made: Completion | LegacyCompletion,
    ) -> Response:
        ask = replace(body.ask(id), principal=caller.principal, streams=bool(body.stream))
        chore = find_chore(ask)
        if not ask.pictures and chore is None:
            narrow_principal(caller, ask.collection)
        events = do_chore(chore, ask, service) if chore else number_sources(service.ask(ask))
        if body.stream:
            return sse.EventStream(stream_answer(events, made, sse.DONE))
        return await json_unless_left(request, _whole(made, events))

    @routes.post(
        "/chat/completions",
        response_model=None,
        responses=document_responses("application/json", STREAM, shape=shapes.ChatCompletion),
    )
    @for_guests
    async def chat_completions(body: ChatRequest, request: Request, caller: Who) -> Response:
        """Answer the last message from the documents, or from the images that it holds, streamed
        or in one piece."""
        made = make_completion(body, request, "chatcmpl")
        return await answer(body, request, caller, made.id, made)

    @routes.post(
        "/completions",
        response_model=None,
        responses=document_responses("application/json", STREAM, shape=shapes.TextCompletion),
    )
    @for_guests
    async def completions(body: CompletionRequest, request: Request, caller: Who) -> Response:
        """Answer a prompt from the documents, streamed or in one piece, as OpenAI did before there
        were chats."""
        chat = body.chat()
        made = make_completion(chat, request, "cmpl")
        return await answer(chat, request, caller, made.id, LegacyCompletion(made))


def _add_models(routes: APIRouter, service: Service) -> None:
    @routes.get(
        "/models", response_model=None, responses=document_responses(shape=shapes.ModelList)
    )
    @for_guests
    async def models() -> Response:
        """The levels of answering as chat models, and the embedding models."""
        found = await _models(service)
        return Json({"object": "list", "data": [_model(*item) for item in found.items()]})

    @routes.get(
        "/models/{name:path}",
        response_model=None,
        responses=document_responses(shape=shapes.ModelObject),
    )
    @for_guests
    async def model(name: str) -> Response:
        """One of the models."""
        kind = (await _models(service)).get(name)
        if kind is None:
            raise UnknownModel(f"There is no model {name[:100]!r}; GET /v1/models lists them.")
        return Json(_model(name, kind))

    @routes.post(
        "/embeddings", response_model=None, responses=document_responses(shape=shapes.EmbeddingList)
    )
    async def embeddings(body: EmbeddingRequest, request: Request) -> Response:
        """The vectors of texts."""
        return await json_unless_left(request, _embed(service, body))


async def _whole(
    made: Completion | LegacyCompletion, events: AsyncGenerator[Event, None]
) -> dict[str, Any]:
    return made.whole(await finish_turn(events))


async def _models(service: Service) -> dict[str, Kind]:
    """Return each model's kind by its name."""
    embedding: dict[str, Kind] = dict.fromkeys(await service.models(), "embedding")
    return {**dict.fromkeys(CHAT_MODELS, "chat"), **embedding}


def _model(name: str, kind: Kind) -> dict[str, Any]:
    """OpenAI's object does not tell what a model is for; `type` does, as other servers have it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "ragstone", "type": kind}


async def _embed(service: Service, body: EmbeddingRequest) -> dict[str, Any]:
    name, found = await service.embed(body.input, body.model)
    vectors = np.asarray(found, dtype="<f4")
    if body.dimensions not in (None, vectors.shape[1]):
        raise InputError(
            f"The model {name} makes vectors of {vectors.shape[1]} dimensions, "
            f"not {body.dimensions}. Leave dimensions out."
        )
    # No tokenizer is at hand for every model; this is the usual estimate.
    tokens = sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in body.input)
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(vector, body.encoding_format)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": name, "usage": usage}


def _vector(vector: Any, encoding: str | None) -> str | list[float]:
    if encoding == "base64":
        return base64.b64encode(vector.tobytes()).decode()
    return cast(list[float], vector.tolist())
