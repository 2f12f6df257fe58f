"""The OpenAI-compatible API: chat completions, models and embeddings."""

import base64
import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragstone.core.errors import InputError, NoChatModel, NoVision, UnknownModel
from ragstone.core.events import Event
from ragstone.http import sse
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.openai.answers import Completion
from ragstone.http.dialects.openai.requests import CHAT_MODELS, ChatRequest, EmbeddingRequest
from ragstone.http.identity import Who, narrowed
from ragstone.http.openapi import STREAM, documented
from ragstone.http.responses import (
    OPENAI_PREFIX,
    Json,
    Refusal,
    json_unless_left,
    refusal_response,
)
from ragstone.http.streaming import finished, streamed
from ragstone.service import Service

EMBEDDING_PURPOSE = "embedding"
CHARACTERS_PER_TOKEN = 4


class OpenAiRoute(APIRoute):
    """A route whose refusals have the status that OpenAI's servers give them."""

    @staticmethod
    def refused(refusal: Refusal) -> Response:
        """The refusal of images that no model can look at is 400, as all that is about images."""
        unseen = isinstance(refusal.error, NoChatModel | NoVision)
        return refusal_response(OPENAI_PREFIX, replace(refusal, status=400) if unseen else refusal)


def router(parts: DialectParts) -> APIRouter:
    """The routes below /v1."""
    service = parts.service
    routes = APIRouter(prefix=OPENAI_PREFIX, tags=["OpenAI-compatible"], route_class=OpenAiRoute)

    @routes.post(
        "/chat/completions",
        response_model=None,
        responses=documented("application/json", STREAM),
    )
    async def chat_completions(body: ChatRequest, request: Request, caller: Who) -> Response:
        """Answer the last message from the documents, or from the images that it holds, streamed
        or in one piece."""
        completion = Completion(body, f"chatcmpl-{uuid.uuid4().hex}")
        ask = replace(body.ask(completion.id), principal=caller.principal)
        if not ask.pictures:
            narrowed(caller, ask.collection)
        events = service.ask(ask)
        if body.stream:
            return sse.EventStream(streamed(events, completion, sse.DONE))
        return await json_unless_left(request, _whole(completion, events))

    @routes.get("/models", response_model=None)
    async def models() -> Response:
        """The levels of answering as chat models, and the embedding models."""
        return Json({"object": "list", "data": [_model(name) for name in await _models(service)]})

    @routes.get("/models/{name:path}", response_model=None)
    async def model(name: str) -> Response:
        """One of the models."""
        if name not in await _models(service):
            raise UnknownModel(f"There is no model {name[:100]!r}; GET /v1/models lists them.")
        return Json(_model(name))

    @routes.post("/embeddings", response_model=None)
    async def embeddings(body: EmbeddingRequest, request: Request) -> Response:
        """The vectors of texts."""
        return await json_unless_left(request, _embed(service, body))

    return routes


async def _whole(completion: Completion, events: AsyncGenerator[Event, None]) -> dict[str, Any]:
    return completion.whole(await finished(events))


async def _models(service: Service) -> list[str]:
    models = (await service.overview()).models
    return [*CHAT_MODELS, *(name for name, use in models.items() if EMBEDDING_PURPOSE in use)]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ragstone"}


async def _embed(service: Service, body: EmbeddingRequest) -> dict[str, Any]:
    name, found = await service.embed(body.input, body.model)
    vectors = np.asarray(found, dtype="<f4")
    if body.dimensions not in (None, vectors.shape[1]):
        raise InputError(
            f"The model {name} makes vectors of {vectors.shape[1]} dimensions, "
            f"not {body.dimensions}."
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
