"""Several processes that answer at one address."""

import asyncio
import logging
import multiprocessing
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event

from prometheus_client.multiprocess import mark_process_dead

from ragstone.access.gate import KnownTokens
from ragstone.core.errors import ConfigError, RagstoneError
from ragstone.http.server.answering import GRACE_SECONDS, answer
from ragstone.http.server.loop import on_signals, run
from ragstone.ingest.free_memory import limit_arenas
from ragstone.settings import Settings
from ragstone.telemetry.metrics import FOLDER

log = logging.getLogger(__name__)

FIGURES = "figures"
"""The folder of what the processes count, in the data directory."""

PAUSE = 2.0
"""Seconds from the start of a process to the start of its successor at least, so that one that
cannot start does not keep the machine busy."""

LOOK_SECONDS = 0.2
STOP_SECONDS = 10.0
"""How much longer than the grace period a process may take to end."""


def limit(settings: Settings) -> Settings:
    """Return the settings, with one process where only one can hold the index or the state."""
    if settings.server.workers == 1:
        return settings
    if not settings.index.is_shared:
        held, need = "the index", "INDEX__URL to a Qdrant, PostgreSQL or Elasticsearch server"
    elif not settings.state.url:
        held, need = "the state", "STATE__URL to a PostgreSQL server"
    else:
        return settings
    log.warning(
        "SERVER__WORKERS is %s, but one process starts: only one can hold %s in the data "
        "directory. Set %s.",
        *(settings.server.workers, held, need),
    )
    return settings.model_copy(update={"server": settings.server.model_copy(update={"workers": 1})})


class Workers:
    """Starts the processes, starts them again when they die, and ends them.

    Each is a replica with a data directory of its own below that of the server.
    """

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        tokens: KnownTokens,
        ready: Callable[[bool], None],
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._tokens = tokens
        self._ready = ready
        self._running: dict[int, _Process] = {}
        self._said = False
        self._figures = settings.ragstone_data.expanduser().absolute() / FIGURES

    async def run(self) -> None:
        """Until SIGINT or SIGTERM; raises ConfigError when a process cannot start."""
        stopped = asyncio.Event()
        on_signals(lambda _: stopped.set())
        await asyncio.to_thread(self._empty_figures)
        try:
            for worker in range(self._settings.server.workers):
                self._start(worker)
            while not stopped.is_set():
                self._look_after()
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await stopped.wait()
                except TimeoutError:
                    continue
        finally:
            await asyncio.to_thread(self._end)

    def _empty_figures(self) -> None:
        """Make the folder in which the processes add up their figures, for those of this start."""
        shutil.rmtree(self._figures, ignore_errors=True)
        self._figures.mkdir(parents=True, mode=0o700)
        # The processes inherit it: prometheus_client reads it while they import it.
        os.environ[FOLDER] = str(self._figures)

    def _start(self, worker: int) -> None:
        data = self._settings.ragstone_data.expanduser().absolute() / f"worker-{worker}"
        settings = self._settings.model_copy(update={"ragstone_data": data})
        context = multiprocessing.get_context("spawn")
        ready = context.Event()
        process = context.Process(
            target=_work, args=(settings, self._listener, self._tokens, ready)
        )
        process.start()
        self._running[worker] = _Process(process, time.monotonic(), ready)

    def _look_after(self) -> None:
        """Restart dead workers, and log once when all are ready."""
        for worker, item in list(self._running.items()):
            if item.process.is_alive():
                continue
            if not self._said:
                raise ConfigError("A process of the server could not start; it has said why.")
            if time.monotonic() - item.started > PAUSE:
                log.error("Process %s ended (%s).", item.process.pid, item.process.exitcode)
                # What it counted stays; what it was doing is over.
                mark_process_dead(  # type: ignore[no-untyped-call]
                    item.process.pid, str(self._figures)
                )
                self._start(worker)
        if not self._said and all(item.ready.is_set() for item in self._running.values()):
            self._said = True
            self._ready(False)  # Whether a key exists, only the processes know.

    def _end(self) -> None:
        for item in self._running.values():
            item.process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS + STOP_SECONDS
        for item in self._running.values():
            item.process.join(max(0.1, deadline - time.monotonic()))
            if item.process.is_alive():
                item.process.kill()
                item.process.join()


@dataclass(frozen=True, slots=True)
class _Process:
    process: SpawnProcess
    started: float
    ready: Event


def _work(settings: Settings, listener: socket.socket, tokens: KnownTokens, ready: Event) -> None:
    """The work of a process: serve until a signal to stop."""
    logging.basicConfig(level=settings.log_level)
    limit_arenas()
    try:
        run(answer(settings, listener, tokens, lambda _: ready.set()))
    except RagstoneError as error:
        sys.exit(f"ragstone: {error.message}")
