"""Attempts as DBOS workflows: of one id, one is begun, on whichever machine, and it is recorded.

DBOS is one per process and runs workflows on threads of its own, so a workflow hands its work to
the event loop that the adapters belong to. Its queues are not used: they look for work at fixed
intervals, which makes an attempt wait or an idle process work.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, ClassVar

from ragstone.core.disk import disk_error
from ragstone.core.errors import Conflict
from ragstone.core.task import has_failed
from ragstone.jobs import sqlite_clock

Body = Callable[[str], Awaitable[None]]

_TAKEN = "This process already runs the jobs of another data directory. Close that one first."


class _Interrupted(BaseException):
    """Leaves a workflow without an outcome: DBOS records one only for an Exception."""


class Workflows:
    """Begins attempts. `url` is a database of SQLAlchemy's, PostgreSQL or SQLite.

    DBOS is launched with the first attempt, or by `launch`: a process without jobs needs neither
    its 200 modules nor its connections.
    """

    _held: "ClassVar[Workflows | None]" = None
    """The holder of the one place of this process."""

    def __init__(self, url: str, executor: str) -> None:
        self._url = url
        self._file = _sqlite_file(url)
        self._executor = executor
        self._loop: asyncio.AbstractEventLoop | None = None
        self._body: Body | None = None
        self._launching: asyncio.Task[Any] | None = None

    def hold(self, body: Body) -> None:
        """Take the one place of this process; `body` does the attempt of an id. Raises Conflict."""
        if Workflows._held not in (None, self):
            raise Conflict(_TAKEN)
        Workflows._held = self
        self._loop, self._body = asyncio.get_running_loop(), body

    async def launch(self) -> Any:
        """The workflow of DBOS, which is launched unless it was. Raises Conflict."""
        if self._launching is None or has_failed(self._launching):
            launching = asyncio.to_thread(_launch, self._url, self._executor, self._run)
            self._launching = asyncio.create_task(launching)
        # A caller that stops waiting leaves the launch to `destroy`.
        return await asyncio.shield(self._launching)

    async def begin(self, id: str) -> None:
        """Run the body for this id on a thread, unless that was ever begun. Raises Conflict, and
        what the disk of an embedded database refuses."""
        try:
            await asyncio.to_thread(_begin, await self.launch(), id)
        except Exception as error:
            # SQLAlchemy has the driver's error in `orig`.
            if self._file and (meant := disk_error(getattr(error, "orig", error), self._file)):
                raise meant from error
            raise

    async def forget(self, ids: Sequence[str]) -> None:
        """Drop the records of ended attempts."""
        if Workflows._held is self and ids:
            await self.launch()
            await asyncio.to_thread(_forget, ids)

    async def destroy(self) -> None:
        """Stop DBOS and leave the place to another; the bodies must have ended."""
        launching, self._launching = self._launching, None
        if launching is not None:
            await asyncio.wait([launching])
            if not has_failed(launching):
                await asyncio.to_thread(_destroy)
        if Workflows._held is self:
            Workflows._held = None

    def _run(self, id: str) -> None:
        """The workflow, on a thread of DBOS."""
        if self._loop is None or self._body is None or self._loop.is_closed():
            raise _Interrupted
        coroutine: Any = self._body(id)
        try:
            asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except CancelledError as error:
            raise _Interrupted from error


def _launch(url: str, executor: str, body: Callable[[str], None]) -> Any:
    import dbos._dbos as module
    from dbos import DBOS

    if module._dbos_global_instance is not None:
        raise Conflict(_TAKEN)
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    if file := _sqlite_file(url):
        _write_ahead(file)
    DBOS(
        config={
            "name": "ragstone",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": executor,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "sys_db_pool_size": 4,
            "db_engine_kwargs": {"connect_args": sqlite_clock.arguments()} if file else {},
            "use_listen_notify": False,
            # Nobody sends notifications here, but `_destroy` waits for the end of such a pause.
            "notification_listener_polling_interval_sec": 0.05,
        }
    )

    @DBOS.workflow(name="ragstone.attempt")
    def workflow(id: str) -> None:
        body(id)

    # Its own queues would be polled even though nothing is in them.
    DBOS.listen_queues([])
    try:
        DBOS.launch()
    except BaseException:
        _destroy()  # Otherwise a half-finished launch would block the next try.
        raise
    return workflow


def _sqlite_file(url: str) -> Path | None:
    """The file of an embedded database, None for a server's."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None


def _write_ahead(file: Path) -> None:
    """A log instead of a journal, which the file remembers: a commit takes 2 ms, not 15."""
    connection = sqlite3.connect(file)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def _begin(workflow: Any, id: str) -> None:
    from dbos import DBOS, SetWorkflowID

    with SetWorkflowID(id):
        DBOS.start_workflow(workflow, id)


def _forget(ids: Sequence[str]) -> None:
    from dbos import DBOS

    DBOS.delete_workflows(list(ids))


def _destroy() -> None:
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)
