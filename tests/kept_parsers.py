"""Processes that read files and stay for the next Ragstone of a test: starting two and loading
their libraries is a third of what a test costs that has a document read."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragstone.ingest import pipeline
from ragstone.ingest.child_process import ParseProcess, _environment
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.settings import IngestSettings

MOST = 4

_kept: list[tuple[int, ParseProcess]] = []
"""Each with the memory that it may take."""


class LentProcesses(ParseProcesses):
    """Takes processes that wait, and lets its own wait when it closes. What tests of
    `ParseProcesses` itself make are others, which start and end."""

    def __init__(self, settings: IngestSettings, processes: int = 2) -> None:
        super().__init__(settings, processes)
        self._memory_mb = settings.parse_memory_mb
        self._own: set[ParseProcess] = set()
        """Those that began, or were taken, where a test had changed nothing that they see."""

    async def aclose(self) -> None:
        for process in self._own.intersection(self._free):
            if process.alive and _surroundings() == _usual:
                process.mark_taken()
                self._free.remove(process)
                self._all.discard(process)
                _kept.append((self._memory_mb, process))
        while len(_kept) > MOST:
            _kept.pop(0)[1].close()
        await super().aclose()

    async def _take_process(self) -> ParseProcess:
        usual = _surroundings() == _usual
        if usual and not self._free:
            self._free += self._take_kept()
        process = await super()._take_process()
        if usual:
            self._own.add(process)
        return process

    def _take_kept(self) -> list[ParseProcess]:
        """Return the process that last began to wait and may take as much memory, in a list, or
        none."""
        for number, (memory_mb, process) in reversed(list(enumerate(_kept))):
            if memory_mb == self._memory_mb:
                del _kept[number]
                self._all.add(process)
                return [process]
        return []


def _surroundings() -> object:
    """What a process sees of the one that starts it."""
    return _environment(os.environ, Path(tempfile.gettempdir())), os.getcwd()


_usual: object = None


@contextmanager
def keeping_parsers(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have what is opened meanwhile share processes."""
    global _usual
    _usual = _surroundings()
    patch.setattr(pipeline, "ParseProcesses", LentProcesses)
    yield
    end_kept_parsers()


def end_kept_parsers() -> None:
    """End the processes that wait for a next one."""
    while _kept:
        _kept.pop()[1].close().result()
