"""One job over HTTP: its state, its progress as it is made, and how to steer it.

A caller sees the jobs of its own security context; an admin every one of the tenant, but not the
answer of another's question. Another's job is answered as one that does not exist.
"""

from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import UnknownJob
from ragstone.http import sse
from ragstone.http.identity import Who, at_least
from ragstone.http.permitted import is_reachable
from ragstone.http.responses import Json
from ragstone.service import Service, wire
from ragstone.service.jobs import JobsService, JobView

Id = Annotated[str, Path(max_length=200, description="The id of the job.")]
Action = Literal["cancel", "pause", "resume", "retry"]


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/jobs."""
    reader = [Depends(at_least("reader"))]
    routes = APIRouter(prefix="/api/v1/jobs", tags=["Jobs"], dependencies=reader)
    jobs = service.jobs

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

    return routes


async def _find_job(jobs: JobsService, caller: Caller, id: str) -> JobView:
    """The job, if the caller may see it. Raises UnknownJob."""
    view = await jobs.get(caller.principal, id, admin=caller.may("admin"))
    if view is None or not is_reachable(caller, view):
        raise UnknownJob(id)
    return view


async def _events(jobs: JobsService, caller: Caller, id: str) -> sse.Events:
    """Each state of the job as an event of its name; one that is forgotten meanwhile ends it."""
    watched: Any = jobs.watch(caller.principal, id, admin=caller.may("admin"))
    try:
        async with aclosing(watched) as views:
            async for view in views:
                yield sse.encode(wire.dump(view), "progress" if not view.ended else view.state)
    except UnknownJob as error:
        yield sse.encode(wire.dump_error(error), "error")
