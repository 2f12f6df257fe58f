"""Attempts as DBOS workflows: of one id, one is begun, on whichever machine, and it is recorded.

DBOS is one per process and runs workflows on threads of its own, so a workflow hands its work to
the event loop that the adapters belong to. Its queues are not used: they look for work at fixed
intervals, which makes an attempt wait or an idle process work (docs/jobs.md has figures).
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from ragstone.errors import Conflict

Body = Callable[[str], Awaitable[None]]


class _Interrupted(BaseException):
    """Leaves a workflow without an outcome: DBOS records one only for an Exception."""


class Workflows:
    """Begins attempts. `url` is a database of SQLAlchemy's, PostgreSQL or SQLite."""

    def __init__(self, url: str, executor: str) -> None:
        self._url = url
        self._executor = executor
        self._loop: asyncio.AbstractEventLoop | None = None
        self._body: Body | None = None
        self._workflow: Any = None

    async def launch(self, body: Body) -> None:
        """Get ready; `body` does the attempt of an id. Raises Conflict, StateUnavailable."""
        self._loop, self._body = asyncio.get_running_loop(), body
        self._workflow = await asyncio.to_thread(_launch, self._url, self._executor, self._run)

    async def begin(self, id: str) -> None:
        """Run the body for this id on a thread, unless that was ever begun."""
        await asyncio.to_thread(_begin, self._workflow, id)

    async def forget(self, ids: Sequence[str]) -> None:
        """Drop the records of ended attempts."""
        if self._workflow is not None and ids:
            await asyncio.to_thread(_forget, ids)

    async def destroy(self) -> None:
        """Stop DBOS; the bodies must have ended."""
        if self._workflow is not None:
            self._workflow = None
            await asyncio.to_thread(_destroy)

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
        raise Conflict(
            "This process already runs the jobs of another data directory. Close that one first."
        )
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    if url.startswith("sqlite:///"):
        _write_ahead(Path(url.removeprefix("sqlite:///")))
    DBOS(
        config={
            "name": "ragstone",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": executor,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "sys_db_pool_size": 4,
            "use_listen_notify": False,
        }
    )

    @DBOS.workflow(name="ragstone.attempt")
    def workflow(id: str) -> None:
        body(id)

    # Its own queues would be polled even though nothing is in them.
    DBOS.listen_queues([])
    DBOS.launch()
    return workflow


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
