"""Ragstone's own API for the command line on the same machine, in the terms of `wire`.

It reads files by their path, so it asks for the token that only the data directory's owner can
read.
"""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any, TypeVar, cast

import numpy as np
from fastapi import APIRouter, Body, Depends, Query, Request
from starlette.responses import Response

from ragstone.core.errors import InputError, RagstoneError
from ragstone.core.turn import Ask, Principal
from ragstone.http import sse
from ragstone.http.middleware import operator_only
from ragstone.http.responses import Json, unless_left
from ragstone.service import IngestRequest, Service, wire

T = TypeVar("T")
JsonBody = Annotated[dict[str, Any], Body()]
_MAX_SQL_INT = 2**63 - 1


def router(service: Service) -> APIRouter:
    """The routes below /local."""
    routes = APIRouter(
        prefix="/local", include_in_schema=False, dependencies=[Depends(operator_only)]
    )

    @routes.post("/ask", response_model=None)
    async def ask(body: JsonBody) -> Response:
        """Answer a question as a stream of events."""
        question = wire.load(Ask, body)
        events = service.ask(question)
        return sse.EventStream(stream(events, wire.dump_event))

    @routes.post("/search", response_model=None)
    async def search(body: JsonBody, request: Request) -> Response:
        """The passages for a question, best first."""
        return await unless_left(request, _search(service, wire.load(Ask, body)))

    @routes.post("/functions", response_model=None)
    async def functions(body: JsonBody, request: Request) -> Response:
        """An answer, or calls of the tools that are offered."""
        return await unless_left(request, _functions(service, wire.load(Ask, body)))

    @routes.post("/ingest", response_model=None)
    async def ingest(body: JsonBody) -> Response:
        """Index files and folders of this machine as a stream of progress."""
        progress = service.ingest(wire.load(IngestRequest, body))
        return sse.EventStream(stream(progress, wire.dump))

    @routes.post("/rebuild", response_model=None)
    async def rebuild(body: JsonBody) -> Response:
        """Index a collection anew as a stream of progress."""
        progress = service.rebuild(_text(body, "tenant"), _text(body, "collection"))
        return sse.EventStream(stream(progress, wire.dump))

    _add_catalog(routes, service)
    _add_cache(routes, service)
    return routes


def _add_catalog(routes: APIRouter, service: Service) -> None:
    @routes.get("/collections", response_model=None)
    async def collections(principal: Annotated[Principal, Depends(_principal)]) -> Response:
        """The collections of a tenant."""
        return Json([wire.dump(found) for found in await service.collections(principal)])

    @routes.get("/documents", response_model=None)
    async def documents(
        principal: Annotated[Principal, Depends(_principal)],
        collection: str,
        limit: Annotated[int, Query(ge=0, le=100_000)] = 1000,
        offset: Annotated[int, Query(ge=0, le=_MAX_SQL_INT)] = 0,
    ) -> Response:
        """The documents of a collection, by path."""
        found = await service.documents(principal, collection, limit=limit, offset=offset)
        return Json([wire.dump(document) for document in found])

    @routes.post("/delete", response_model=None)
    async def delete(body: JsonBody) -> Response:
        """Delete documents, or a whole collection when `paths` is null."""
        principal = wire.load(Principal, body.get("principal"))
        paths = body.get("paths")
        if paths is not None and not _are_texts(paths):
            raise InputError("paths must be a list of texts, or null for the whole collection.")
        return Json({"deleted": await service.delete(principal, _text(body, "collection"), paths)})

    @routes.post("/read", response_model=None)
    async def read(body: JsonBody) -> Response:
        """A part of a document's text."""
        principal = wire.load(Principal, body.get("principal"))
        collection, path = _text(body, "collection"), _text(body, "path")
        offset, limit = wire.load(int, body.get("offset")), wire.load(int, body.get("limit"))
        found = await service.reading.read(
            principal, collection, path, max(0, offset), max(0, limit)
        )
        return Json(wire.dump(found))

    @routes.post("/embed", response_model=None)
    async def embed(body: JsonBody, request: Request) -> Response:
        """The vectors of texts, as base64 of little-endian 32-bit floats."""
        return await unless_left(request, _embed(service, body))

    @routes.get("/report", response_model=None)
    async def report(
        principal: Annotated[Principal, Depends(_principal)],
        days: Annotated[int, Query(ge=1, le=3650)] = 30,
    ) -> Response:
        """What `ragstone stats` shows."""
        return Json(wire.dump(await service.report(principal, days)))

    @routes.get("/overview", response_model=None)
    async def overview() -> Response:
        """What `ragstone status` shows."""
        return Json(wire.dump(await service.overview()))


def _add_cache(routes: APIRouter, service: Service) -> None:
    @routes.get("/cache", response_model=None)
    async def cache() -> Response:
        """What the semantic cache has done."""
        return Json(wire.dump(await service.cache_figures()))

    @routes.post("/cache/clear", response_model=None)
    async def clear_cache() -> Response:
        """Forget every question."""
        return Json({"entries": await service.clear_cache()})

    @routes.post("/cache/rebuild", response_model=None)
    async def rebuild_cache() -> Response:
        """Read the cache anew from where it is stored."""
        return Json({"entries": await service.rebuild_cache()})


async def _search(service: Service, ask: Ask) -> Response:
    return Json(wire.dump(await service.search(ask)))


async def _functions(service: Service, ask: Ask) -> Response:
    return Json(wire.dump(await service.function_calling(ask)))


async def _embed(service: Service, body: dict[str, Any]) -> Response:
    if not _are_texts(body.get("texts")) or not body["texts"]:
        raise InputError("texts must be a list of one text or more.")
    name, found = await service.embed(body["texts"], _text(body, "model"))
    vectors = np.asarray(found, dtype="<f4")
    packed = base64.b64encode(vectors.tobytes()).decode()
    return Json({"model": name, "dimensions": vectors.shape[1], "vectors": packed})


async def stream(items: AsyncIterator[T], dump: Callable[[T], Any]) -> AsyncGenerator[bytes, None]:
    """Each item as an event; what fails in the middle as an event named error."""
    started = False
    try:
        async with aclosing(cast(Any, items)) as source:
            async for item in source:
                yield sse.encode(dump(item))
                started = True
    except RagstoneError as error:
        if not started:
            raise
        yield sse.encode(wire.dump_error(error), "error")


async def _principal(
    tenant: str = "default",
    user: str = "local",
    group: Annotated[list[str] | None, Query()] = None,
) -> Principal:
    return Principal(tenant, user, tuple(group or ()))


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is missing or no text.")
    return value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
