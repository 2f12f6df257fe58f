"""Counts the finished work of an ingest and estimates the remaining time."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ragstone.service import FileFailure, Progress

MIN_INTERVAL = 0.1
"""Seconds between two reports: a terminal cannot show more."""


class Tracker:
    """Builds `Progress` from what happens, and reports it at most ten times a second."""

    def __init__(self, job: str, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._now = Progress(job)
        self._started = time.monotonic()
        self._reported = 0.0
        self._bytes = 0
        self._total_bytes = 0

    def expect(self, files: int, size: int) -> None:
        """So many files of so many bytes will be read."""
        self._total_bytes = size
        self._set(total=files)

    def phase(self, phase: Literal["reading", "embedding"]) -> None:
        self._reported = 0.0
        self._set(phase=phase)

    def note(self, sentence: str) -> None:
        self._set(notes=(*self._now.notes, sentence))

    def indexed(self, size: int, chunks: int, pages: int) -> None:
        now = self._now
        self._bytes += size
        self._set(
            files=now.files + 1,
            indexed=now.indexed + 1,
            chunks=now.chunks + chunks,
            pages=now.pages + pages,
        )

    def unchanged(self, size: int) -> None:
        self._total_bytes -= size
        self._set(files=self._now.files + 1, unchanged=self._now.unchanged + 1)

    def failed(self, path: str, reason: str, size: int | None = None) -> None:
        """`size` is that of a file that was counted by `expect`."""
        self._total_bytes -= size or 0
        counted = size is not None
        failures = (*self._now.failed, FileFailure(path, reason))
        self._set(files=self._now.files + counted, failed=failures)

    def embedded(self, chunks: int) -> None:
        self._set(embedded=self._now.embedded + chunks)

    def pruned(self, documents: int) -> None:
        self._set(pruned=documents)

    def finish(self) -> Progress:
        """Report the end."""
        self._now = replace(
            self._now, phase="done", finished=True, seconds=self._seconds(), eta=0.0
        )
        self._report(self._now)
        return self._now

    def _set(self, **changes: object) -> None:
        self._now = replace(self._now, **changes)  # type: ignore[arg-type]
        seconds = self._seconds()
        if seconds - self._reported >= MIN_INTERVAL:
            self._reported = seconds
            self._report(replace(self._now, seconds=seconds, eta=self._eta(seconds)))

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _eta(self, seconds: float) -> float | None:
        """The seconds that remain at the rate so far; embedding takes nearly all the time."""
        if not self._now.embedded or not self._bytes:
            return None
        expected = self._now.chunks * max(1.0, self._total_bytes / self._bytes)
        return seconds * max(0.0, expected - self._now.embedded) / self._now.embedded
