"""The jobs in Ragstone's own protocol, for the command line on the same machine."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal, cast

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragstone.core.errors import RagstoneError, UnknownJob
from ragstone.core.turn import Ask, Principal
from ragstone.http import sse
from ragstone.http.middleware import operator_only
from ragstone.http.responses import Json
from ragstone.service import Service, wire
from ragstone.service.jobs import JobsService, JobState

_Values = dict[str, Any]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Given(_Body):
    """A new job."""

    kind: str
    request: _Values
    principal: _Values
    priority: int | None = Field(None, ge=0, le=1_000_000)
    id: str = ""


class Wanted(_Body):
    """Which jobs to list."""

    tenant: str
    kind: str | None = None
    state: JobState | None = None
    limit: int = Field(100, ge=1, le=100_000)
    principal: _Values | None = None


class This(_Body):
    """One job, and who asks for it."""

    principal: _Values
    id: str
    admin: bool = False

    def who(self) -> Principal:
        return wire.load(Principal, self.principal)


class OfKind(_Body):
    """A kind of jobs."""

    kind: str


class Old(_Body):
    """Which jobs to forget."""

    tenant: str
    state: JobState | None = None
    age: float = Field(0.0, strict=True, ge=0, le=1e9)


def router(service: Service) -> APIRouter:
    """The routes below /local/jobs."""
    guard = [Depends(operator_only)]
    routes = APIRouter(prefix="/local/jobs", tags=["Local"], dependencies=guard)
    _add_many(routes, service.jobs)
    _add_one(routes, service.jobs)
    return routes


def _add_many(routes: APIRouter, jobs: JobsService) -> None:
    @routes.post("/list", response_model=None)
    async def listed(body: Wanted) -> Response:
        """Jobs, newest first."""
        own = wire.load(Principal, body.principal) if body.principal else None
        found = await jobs.list(body.tenant, body.kind, body.state, body.limit, principal=own)
        return Json({"jobs": [wire.dump(one) for one in found]})

    @routes.post("/kinds", response_model=None)
    async def kinds() -> Response:
        """Every kind of job."""
        return Json({"kinds": [wire.dump(one) for one in await jobs.kinds()]})

    @routes.post("/kinds/{action}", response_model=None)
    async def steer_kind(action: Literal["pause", "resume"], body: OfKind) -> Response:
        """Begin no jobs of a kind, or begin them again."""
        await getattr(jobs, f"{action}_kind")(body.kind)
        return Json({})

    @routes.post("/clean", response_model=None)
    async def clean(body: Old) -> Response:
        """Forget ended jobs."""
        return Json({"forgotten": await jobs.clean(body.tenant, body.state, body.age)})


def _add_one(routes: APIRouter, jobs: JobsService) -> None:
    @routes.post("/ask", response_model=None)
    async def ask(body: _Values) -> Response:
        """Answer a question in the background."""
        return Json(wire.dump(await jobs.ask(wire.load(Ask, body))))

    @routes.post("/submit", response_model=None)
    async def submit(body: Given) -> Response:
        """Queue a job."""
        principal = wire.load(Principal, body.principal)
        view = await jobs.submit(
            body.kind, body.request, principal=principal, priority=body.priority, id=body.id
        )
        return Json(wire.dump(view))

    @routes.post("/get", response_model=None)
    async def get(body: This) -> Response:
        """One job."""
        view = await jobs.get(body.who(), body.id, admin=body.admin)
        if view is None:
            raise UnknownJob(body.id)
        return Json(wire.dump(view))

    @routes.post("/watch", response_model=None)
    async def watch(body: This) -> Response:
        """One job as a stream of its states."""
        return sse.EventStream(_stream(jobs, body))

    @routes.post("/{action}", response_model=None)
    async def steer(action: Literal["cancel", "pause", "resume", "retry"], body: This) -> Response:
        """Steer a job."""
        act = getattr(jobs, action)
        return Json(wire.dump(await act(body.who(), body.id, admin=body.admin)))


async def _stream(jobs: JobsService, body: This) -> AsyncGenerator[bytes, None]:
    started = False
    try:
        watched = cast(Any, jobs.watch(body.who(), body.id, admin=body.admin))
        async with aclosing(watched) as views:
            async for view in views:
                yield sse.encode(wire.dump(view))
                started = True
    except RagstoneError as error:
        if not started:
            raise
        yield sse.encode(wire.dump_error(error), "error")
