"""Ingest and rebuild as durable workflows: what was running when the process died is run again.

DBOS keeps the workflows in a SQLite file. It is a process-wide singleton and runs workflows on
threads of its own, so a workflow hands its work to the event loop that the adapters belong to.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from ragstone.errors import Conflict, RagstoneError
from ragstone.service import Progress

log = logging.getLogger(__name__)

Report = Callable[[Progress], None]
Work = Callable[[str, dict[str, Any], Report], Awaitable[Progress]]


class JobRow(Protocol):
    """A job as its store returns it."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def request(self) -> dict[str, Any]: ...


class JobStore(Protocol):
    """Where jobs are kept so that every process can see them (`state.jobs.SqlJobs`)."""

    async def create(self, id: str, kind: str, request: dict[str, Any]) -> None: ...
    async def update(self, id: str, progress: dict[str, Any]) -> None: ...
    async def finish(self, id: str, state: str, error: str = "") -> None: ...
    async def unfinished(self) -> Any: ...


class _Shutdown(BaseException):
    """Leaves a workflow pending: DBOS records the end of one only for an Exception."""


class Jobs:
    """Runs jobs durably. `start` recovers what an earlier process left; `stop` leaves the rest."""

    def __init__(self, file: Path, store: JobStore, work: dict[str, Work]) -> None:
        self._file = file
        self._store = store
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workflow: Any = None
        self._starting = asyncio.Lock()
        self._running: dict[str, asyncio.Future[Progress]] = {}
        self._latest: dict[str, Progress] = {}
        self._changed = asyncio.Event()
        self._stopping = False

    async def start(self) -> None:
        """Launch DBOS once; jobs that an earlier process left unfinished are run again."""
        async with self._starting:
            if self._workflow is None:
                self._loop = asyncio.get_running_loop()
                self._workflow = await asyncio.to_thread(_launch, self._file, self._run)
                for row in await self._store.unfinished():
                    await self._begin(row.id, row.kind, row.request)

    async def submit(self, kind: str, request: dict[str, Any]) -> str:
        """Begin a job and return its id; the same request that is still unfinished is one job."""
        await self.start()
        for row in await self._store.unfinished():
            if row.kind == kind and row.request == request:
                return str(row.id)
        job = uuid4().hex
        await self._store.create(job, kind, request)
        await self._begin(job, kind, request)
        return job

    async def _begin(self, job: str, kind: str, request: dict[str, Any]) -> None:
        """Start the workflow of this id, unless there is one already."""
        self._latest[job] = Progress(job)
        await asyncio.to_thread(_start, self._workflow, job, kind, request)

    async def watch(self, job: str) -> AsyncGenerator[Progress, None]:
        """Progress as it is made, to the end."""
        seen: Progress | None = None
        while True:
            now = self._latest.get(job)
            if now is None or now is seen:
                await self._changed.wait()
                continue
            seen = now
            yield now
            if now.finished:
                return

    def unfinished(self) -> tuple[Progress, ...]:
        """The jobs of this process that go on."""
        return tuple(p for p in self._latest.values() if not p.finished)

    async def stop(self) -> None:
        """Interrupt running jobs, to be continued by the next `start`."""
        self._stopping = True
        for future in list(self._running.values()):
            future.cancel()
        if self._running:
            await asyncio.wait(list(self._running.values()))
        if self._workflow is not None:
            await asyncio.to_thread(_destroy)

    def _run(self, job: str, kind: str, request: dict[str, Any]) -> None:
        """The workflow's body, on a thread of DBOS."""
        if self._loop is None or self._stopping:
            raise _Shutdown
        try:
            asyncio.run_coroutine_threadsafe(self._do(job, kind, request), self._loop).result()
        except CancelledError as error:
            raise _Shutdown from error

    async def _do(self, job: str, kind: str, request: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._work[kind](job, request, self._heard))
        self._running[job] = task
        try:
            last = await task
            await self._store.finish(job, "done")
            self._publish(last)
        except RagstoneError as error:
            await self._fail(job, error.message)
        except ExceptionGroup as group:
            known = group.subgroup(RagstoneError)
            if known is None:
                log.exception("Job %s broke", job)
            await self._fail(job, _first(known or group))
        except Exception:
            log.exception("Job %s broke", job)
            await self._fail(job, "Something broke inside Ragstone; the log says what.")
        finally:
            self._running.pop(job, None)

    def _heard(self, progress: Progress) -> None:
        """Take a report from a running job; the last one is published when the store has it."""
        if not progress.finished:
            self._publish(progress)

    def _publish(self, progress: Progress) -> None:
        self._latest[progress.job] = progress
        self._changed.set()
        self._changed = asyncio.Event()

    async def _fail(self, job: str, error: str) -> None:
        await self._store.finish(job, "failed", error)
        self._publish(Progress(job, phase="done", finished=True, error=error))


def _first(group: BaseExceptionGroup[Any]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


def _launch(file: Path, body: Callable[[str, str, dict[str, Any]], None]) -> Any:
    import dbos._dbos as module
    from dbos import DBOS

    if module._dbos_global_instance is not None:
        raise Conflict(
            "This process already runs the jobs of another data directory. Close that one first."
        )
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    DBOS(
        config={
            "name": "ragstone",
            "system_database_url": f"sqlite:///{file}",
            "application_version": "1",
            "executor_id": "local",
            "log_level": "ERROR",
            "console_log_level": "ERROR",
        }
    )

    @DBOS.workflow(name="ragstone.job")
    def workflow(job: str, kind: str, request: dict[str, Any]) -> None:
        body(job, kind, request)

    DBOS.launch()
    return workflow


def _start(workflow: Any, job: str, kind: str, request: dict[str, Any]) -> None:
    from dbos import DBOS, SetWorkflowID

    with SetWorkflowID(job):
        DBOS.start_workflow(workflow, job, kind, request)


def _destroy() -> None:
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)
