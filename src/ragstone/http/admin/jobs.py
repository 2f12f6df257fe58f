"""Jobs over HTTP: their state, their progress as it is made, and how to steer them.

A caller sees the jobs of its own security context; an admin every one of the tenant, but not the
answer of another's question. Another's job is answered as one that does not exist.
"""

from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import UnknownJob
from ragstone.http import sse
from ragstone.http.bodies import Body
from ragstone.http.identity import Who, at_least
from ragstone.http.middleware import operator_only
from ragstone.http.responses import Json
from ragstone.service import Service, wire
from ragstone.service.jobs import JobsService, JobState, JobView

Id = Annotated[str, Path(max_length=200, description="The id of the job.")]
Kind = Annotated[str, Path(max_length=50, description="The kind of the jobs.")]
Action = Literal["cancel", "pause", "resume", "retry"]


class Clean(Body):
    """The body of POST /api/v1/jobs/clean."""

    state: Literal["done", "failed", "cancelled"] | None = Field(
        None, description="Only jobs that ended so."
    )
    age: float = Field(
        0.0, strict=True, ge=0, le=1e9, description="Seconds since they ended, at least."
    )


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/jobs."""
    routes = APIRouter(prefix="/api/v1/jobs", tags=["Jobs"], dependencies=[_READER])
    jobs = service.jobs

    @routes.get("", response_model=None)
    async def list_jobs(
        caller: Who,
        kind: Annotated[str | None, Query(max_length=50, description="Only this kind.")] = None,
        state: Annotated[JobState | None, Query(description="Only in this state.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="Most jobs to list.")] = 100,
    ) -> Response:
        """The caller's jobs, or for an admin all of the tenant, newest first, without results."""
        own, admin = caller.principal, caller.may("admin")
        found = await jobs.list(own.tenant, kind, state, limit, principal=own, admin=admin)
        return Json({"jobs": [wire.dump(item) for item in found if _is_reachable(caller, item)]})

    @routes.get("/kinds", response_model=None, dependencies=[Depends(operator_only)])
    async def kinds() -> Response:
        """Every kind of job: how many are in each state, and whether it is paused."""
        return Json({"kinds": [wire.dump(item) for item in await jobs.kinds()]})

    @routes.post("/clean", response_model=None, dependencies=[_ADMIN])
    async def clean(caller: Who, body: Clean) -> Response:
        """Forget ended jobs of the tenant, with their results."""
        gone = await jobs.clean(caller.principal.tenant, body.state, body.age)
        return Json({"forgotten": gone})

    _add_kinds(routes, jobs)
    _add_one(routes, jobs)
    return routes


def _add_kinds(routes: APIRouter, jobs: JobsService) -> None:
    """Whether jobs of a kind are begun concerns every tenant: the operator decides."""
    operator = [Depends(operator_only)]

    @routes.post("/kinds/{kind}/pause", response_model=None, dependencies=operator)
    async def pause_kind(kind: Kind) -> Response:
        """Begin no job of this kind; those that run go on."""
        await jobs.pause_kind(kind)
        return Json({"kind": kind, "paused": True})

    @routes.post("/kinds/{kind}/resume", response_model=None, dependencies=operator)
    async def resume_kind(kind: Kind) -> Response:
        """Begin jobs of this kind again."""
        await jobs.resume_kind(kind)
        return Json({"kind": kind, "paused": False})


def _add_one(routes: APIRouter, jobs: JobsService) -> None:
    @routes.get("/{id}", response_model=None)
    async def one(id: Id, caller: Who) -> Response:
        """A job with its progress, and its result while that is kept."""
        return Json(wire.dump(await _find_job(jobs, caller, id)))

    @routes.get("/{id}/events", response_model=None)
    async def events(id: Id, caller: Who) -> Response:
        """The job as it is now and whenever it changes, as a stream of events, to its end."""
        await _find_job(jobs, caller, id)
        return sse.EventStream(_events(jobs, caller, id))

    @routes.post("/{id}/{action}", response_model=None)
    async def steer(id: Id, action: Action, caller: Who) -> Response:
        """Cancel, pause, resume or retry a job."""
        await _find_job(jobs, caller, id)
        act = getattr(jobs, action)
        return Json(wire.dump(await act(caller.principal, id, admin=caller.may("admin"))))


async def _find_job(jobs: JobsService, caller: Caller, id: str) -> JobView:
    """The job, if the caller may see it. Raises UnknownJob."""
    view = await jobs.get(caller.principal, id, admin=caller.may("admin"))
    if view is None or not _is_reachable(caller, view):
        raise UnknownJob(id)
    return view


def _is_reachable(caller: Caller, view: JobView) -> bool:
    return not view.collection or caller.reaches(view.collection)


async def _events(jobs: JobsService, caller: Caller, id: str) -> sse.Events:
    """Each state of the job as an event of its name; one that is forgotten meanwhile ends it."""
    watched: Any = jobs.watch(caller.principal, id, admin=caller.may("admin"))
    try:
        async with aclosing(watched) as views:
            async for view in views:
                yield sse.encode(wire.dump(view), "progress" if not view.ended else view.state)
    except UnknownJob as error:
        yield sse.encode(wire.dump_error(error), "error")


_READER = Depends(at_least("reader"))
_ADMIN = Depends(at_least("admin"))
