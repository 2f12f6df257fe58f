"""`/api/v1/rag`: the RAG engine of the VoiceHelper document, field by field."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import InputError, ModelUnavailable, RagstoneError
from ragstone.core.events import Event
from ragstone.core.turn import Ask
from ragstone.http import sse
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, for_guests, open_to_all
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.ops import checks
from ragstone.http.responses import Json, Refusal, format_fault, json_unless_left
from ragstone.http.streaming import finish_turn, or_refusal, stream_answer
from ragstone.plugins.rag_v1 import answers
from ragstone.plugins.rag_v1.requests import GENERATE_TOKENS, BatchRequest, QueryRequest, RagRequest
from ragstone.service import Service

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Queries of a batch that are answered at a time."""


class RagRoute(APIRoute):
    """A route whose errors are those of a FastAPI service, with ours beside them.

    422 for what is wrong with a request, 503 where nothing can be searched, 504 for what takes too
    long, and 500 where the chat model fails.
    """

    @staticmethod
    def format_refusal(refusal: Refusal) -> Response:
        """Return the refusal with the status that the document states."""
        status = refusal.status
        if isinstance(refusal.error, ModelUnavailable):
            status = 500
        elif status == 400:
            status = 422
        detail = [
            {**item, "loc": [str(part)[:100] for part in item["loc"]]} for item in refusal.details
        ] or refusal.message
        return Json({"detail": detail, "error": refusal.body}, status, refusal.headers)


class RagEngine:
    """Answers the requests of the document by the service."""

    def __init__(self, service: Service, max_tokens: int | None) -> None:
        self._service = service
        self._max_tokens = max_tokens

    async def generate(self, body: RagRequest, caller: Caller) -> dict[str, Any]:
        """Return an answer in one piece, or the call of a function."""
        started = time.perf_counter()
        ask = body.ask(caller, _id(), max_tokens=self._max_tokens)
        if body.functions:
            turn = await self._service.function_calling(ask)
        else:
            turn = await finish_turn(self._events(ask, body.collection))
        return answers.whole(turn, time.perf_counter() - started, body)

    def generate_stream(self, body: RagRequest, caller: Caller) -> Response:
        """Return the same as events."""
        if body.functions:
            raise InputError("Functions are answered in one piece: use /generate, not streamed.")
        ask = body.ask(caller, _id(), streamed=True, max_tokens=self._max_tokens)
        stream = answers.GenerateStream(body.include_citations)
        return sse.EventStream(stream_answer(self._events(ask, body.collection), stream))

    async def query(self, body: QueryRequest, caller: Caller) -> dict[str, Any]:
        """Return an answer in a conversation."""
        started, ask = time.perf_counter(), body.ask(caller, _id())
        turn = await finish_turn(self._events(ask, body.collection))
        return answers.query_body(turn, body, time.perf_counter() - started)

    def query_stream(self, body: QueryRequest, caller: Caller) -> Response:
        """Return the same as events."""
        events = self._events(body.ask(caller, _id(), streamed=True), body.collection)
        return sse.EventStream(stream_answer(events, answers.QueryStream(body), sse.DONE, sse.DONE))

    async def batch(self, body: BatchRequest, caller: Caller) -> dict[str, Any]:
        """Return the answers of all queries in their order, some at a time."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def in_turn(query: Any) -> dict[str, Any]:
            async with turns:
                return await self._answer_query(body, query, caller)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(in_turn(query)) for query in body.queries]
        results = [task.result() for task in tasks]
        failed = sum("error" in result for result in results)
        return {"results": results, "total": len(results), "failed": failed}

    async def _answer_query(self, body: BatchRequest, query: Any, caller: Caller) -> dict[str, Any]:
        """Return the answer to one query of a batch, or its error."""
        text = query.get("query") if isinstance(query, dict) else query
        said = {"query": text if isinstance(text, str) else None}
        try:
            return {**said, **await self.generate(body.request(query), caller)}
        except ValidationError as error:
            return {**said, "error": _first_error(error), "code": InputError.code}
        except RagstoneError as error:
            return {**said, "error": error.message, "code": error.code}
        except Exception:
            log.exception("A query of a batch broke")
            broken = "Something broke inside Ragstone; the log says what."
            return {**said, "error": broken, "code": RagstoneError.code}

    def _events(self, ask: Ask, named: str | None) -> AsyncGenerator[Event, None]:
        """Return the answer; only a collection that the client named must exist."""
        events = self._service.ask(ask)
        return events if named else or_refusal(ask, events, answers.nothing_found(ask))


def router(parts: DialectParts) -> APIRouter:
    """The routes below /api/v1/rag."""
    service = parts.service
    routes = APIRouter(prefix="/api/v1/rag", tags=["RAG engine (rag_v1)"], route_class=RagRoute)
    printed = parts.settings.origin("llm.max_tokens").source == "default"
    engine = RagEngine(service, GENERATE_TOKENS if printed else None)

    @routes.post(
        "/generate", response_model=None, responses=document_responses("application/json", STREAM)
    )
    @for_guests
    async def generate(body: RagRequest, request: Request, caller: Who) -> Response:
        """Answer a query in one piece, or let the chat model call a function."""
        if body.stream:
            return engine.generate_stream(body, caller)
        return await json_unless_left(request, engine.generate(body, caller))

    @routes.post(
        "/generate/stream",
        response_model=None,
        responses=document_responses("application/json", STREAM),
    )
    @for_guests
    async def generate_stream(body: RagRequest, caller: Who) -> Response:
        """Answer a query as events: context, chunk, citations, done."""
        return engine.generate_stream(body, caller)

    @routes.post("/batch", response_model=None)
    @for_guests
    async def batch(body: BatchRequest, request: Request, caller: Who) -> Response:
        """Answer up to 50 queries; one that fails has an `error` and spoils no other."""
        return await json_unless_left(request, engine.batch(body, caller))

    @routes.post("/query", response_model=None)
    @for_guests
    async def query(body: QueryRequest, request: Request, caller: Who) -> Response:
        """Answer a query of a conversation."""
        return await json_unless_left(request, engine.query(body, caller))

    @routes.post(
        "/query-stream",
        response_model=None,
        responses=document_responses("application/json", STREAM),
    )
    @for_guests
    async def query_stream(body: QueryRequest, caller: Who) -> Response:
        """The same as events: query_rewritten, documents_retrieved, generation_start, token,
        generation_complete, and a last line [DONE]."""
        return engine.query_stream(body, caller)

    @routes.get("/health", response_model=None)
    @open_to_all
    async def health() -> Response:
        """Whether a query would be answered; 503 names what does not work."""
        found, fine = await checks(service)
        status = "healthy" if fine else "unhealthy"
        body = {"status": status, "service": "rag-engine", "checks": found}
        return Json(body, 200 if fine else 503)

    return routes


def _id() -> str:
    return f"rag-{uuid.uuid4().hex}"


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:100]
    return format_fault(where, first)


def _printable(detail: dict[str, Any]) -> dict[str, Any]:
    return {**detail, "loc": [str(part)[:100] for part in detail["loc"]]}
