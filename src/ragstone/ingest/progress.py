"""Counts the finished work of an ingest and estimates the remaining time."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ragstone.core.answer import Usage
from ragstone.service import FileFailure, Progress, Skipped

MIN_INTERVAL = 0.1
"""Seconds between two reports: a terminal cannot show more."""

MOST_FAILURES = 10_000
"""Failures that are told in a second. Each report names all of them, so that of many thousands ten
reports a second would take more time and memory than the files."""

TELLING = 64
"""Chunks with vectors from which their rate says something about the rest."""

MOST_LEFT_OUT = 20
"""Documents of which it is told what they lack."""

MOST_KINDS, OTHER = 30, "other"
"""Kinds of skipped files that are told apart; all further ones are the last."""


class Tracker:
    """Builds `Progress` from what happens, and reports it at most ten times a second, less often
    where many files have failed.

    `earlier` is how far the job was when it was cut off: what it had indexed is found unchanged
    now, and still is this job's work.
    """

    def __init__(
        self, job: str, report: Callable[[Progress], None], earlier: Progress | None = None
    ) -> None:
        self._report = report
        self._earlier = before = earlier or Progress(job)
        self._now = Progress(
            job,
            indexed=before.indexed,
            chunks=before.chunks,
            embedded=before.embedded,
            pages=before.pages,
            seconds=before.seconds,
            notes=before.notes,
            questions=before.questions,
            usage=before.usage,
        )
        self._failed: list[FileFailure] = []
        self._same = 0
        self._left_out = 0
        self._skipped = Counter[str]()
        self._started = time.monotonic()
        self._reported = 0.0
        self._bytes = 0
        self._total_bytes = 0
        self._same_bytes = 0
        self._changed_bytes = 0
        self._embedded_before = before.embedded

    def expect(self, files: int, size: int) -> None:
        """So many files of so many bytes will be read."""
        self._total_bytes = size
        self._set(total=files)

    def waiting(self, chunks: int) -> None:
        """So many chunks of the collection wait for their vectors now."""
        before = self._earlier
        # The stored progress may be a second older than what was done.
        done = max(before.embedded, before.chunks + before.waiting - chunks)
        self._embedded_before = done
        self._set(embedded=done, waiting=chunks + done - before.chunks)

    def phase(self, phase: Literal["reading", "embedding"]) -> None:
        self._reported = 0.0
        self._set(phase=phase)

    def note(self, sentence: str) -> None:
        self._set(notes=(*self._now.notes, sentence))

    def left_out(self, sentence: str) -> None:
        """A note on what a document lacks; only the first ones are kept."""
        self._left_out += 1
        if self._left_out <= MOST_LEFT_OUT:
            self.note(sentence)
        elif self._left_out == MOST_LEFT_OUT + 1:
            self.note("More documents lack files that they include.")

    def skipped(self, kind: str) -> None:
        """A file or folder of this kind is passed over."""
        known = kind in self._skipped or len(self._skipped) < MOST_KINDS
        self._skipped[kind if known else OTHER] += 1
        self._set(skipped=tuple(Skipped(*one) for one in self._skipped.most_common()))

    def passed_over(self, kind: str, size: int) -> None:
        """A file that was counted by `expect` is passed over after all."""
        self._total_bytes -= size
        self._set(files=self._now.files + 1)
        self.skipped(kind)

    def changed(self, size: int) -> None:
        """A file that was counted by `expect` is to be read."""
        self._changed_bytes += size

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
        self._same_bytes += size
        self._same += 1
        unchanged = max(0, self._same - self._earlier.indexed)
        self._set(files=self._now.files + 1, unchanged=unchanged)

    def failed(self, path: str, reason: str, size: int | None = None) -> None:
        """`size` is that of a file that was counted by `expect`."""
        self._total_bytes -= size or 0
        counted = size is not None
        self._failed.append(FileFailure(path, reason))
        self._set(files=self._now.files + counted)

    def embedded(self, chunks: int) -> None:
        self._set(embedded=self._now.embedded + chunks)

    def asked(self, questions: int, usage: Usage) -> None:
        """So many questions were thought of with this use of the chat model."""
        now = self._now
        self._set(questions=now.questions + questions, usage=now.usage + usage)

    def pruned(self, documents: int) -> None:
        self._set(pruned=documents)

    def finish(self) -> Progress:
        """Report the end."""
        self._now = replace(
            self._now,
            phase="done",
            finished=True,
            failed=tuple(self._failed),
            seconds=self._seconds(),
            eta=0.0,
        )
        self._report(self._now)
        return self._now

    def _set(self, **changes: object) -> None:
        self._now = replace(self._now, **changes)  # type: ignore[arg-type]
        seconds = self._seconds()
        if seconds - self._reported >= max(MIN_INTERVAL, len(self._failed) / MOST_FAILURES):
            self._reported = seconds
            failed = tuple(self._failed)
            self._report(replace(self._now, failed=failed, seconds=seconds, eta=self._eta()))

    def _seconds(self) -> float:
        return self._earlier.seconds + time.monotonic() - self._started

    def _eta(self) -> float | None:
        """The seconds that remain at the rate so far: of the vectors, which take nearly all the
        time where there are any to make, else of the files."""
        now, done = self._now, self._now.embedded - self._embedded_before
        took = time.monotonic() - self._started
        if done < TELLING or not (self._bytes or now.phase == "embedding"):
            if now.embedded < now.vectors or now.files < TELLING or not now.total:
                return None
            return took * max(0, now.total - now.files) / now.files
        new = now.chunks - self._earlier.chunks
        to_read = self._bytes_to_read() * new / self._bytes if self._bytes else 0.0
        left = max(0.0, now.vectors - now.embedded + to_read)
        return took * left / done

    def _bytes_to_read(self) -> float:
        """Bytes of files that are changed, or will be found so: as large a share of those that are
        not compared yet as of those that are."""
        unread = max(0, self._changed_bytes - self._bytes)
        compared = self._same_bytes + self._changed_bytes
        unknown = max(0, self._total_bytes - self._changed_bytes)
        share = self._changed_bytes / compared if compared else 1.0
        return unread + unknown * share
