"""Counts the finished work of an ingest and estimates the remaining time."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ragstone.core.answer import Usage
from ragstone.service import FileCopy, FileFailure, Progress, Skipped

MIN_INTERVAL = 0.1
"""Seconds between two reports: a terminal cannot show more."""

TELLING, TELLING_SECONDS = 64, 10.0
"""Files, or chunks with vectors, from which their rate says something about the rest; fewer chunks
do that took so long."""

FILE_BYTES = 4096
"""What a file takes besides its bytes, as bytes: small ones take time too."""

MAX_OMISSION_NOTES = 20
"""Documents of which it is told what they lack."""

MAX_REPORTED_FAILURES, MAX_FAILURES = 100, 1_000
"""Failures that a report holds, and the last one: a job keeps them in its row."""

MAX_COPIES_TOLD = 100
"""Copies that are told by name: a job keeps them in its row."""

MAX_KINDS, OTHER = 30, "other"
"""Kinds of skipped files that are told apart; all further ones are the last."""


class Tracker:
    """Builds `Progress` from what happens, and reports it at most ten times a second.

    `earlier` is how far the job was when it was cut off: what it had indexed is found unchanged
    now, and still is this job's work. `failures` is how many the last report names; others are
    counted.
    """

    def __init__(
        self,
        job: str,
        report: Callable[[Progress], None],
        earlier: Progress | None = None,
        failures: int = MAX_FAILURES,
    ) -> None:
        self._report = report
        self._earlier = before = earlier or Progress(job)
        self._now = Progress(
            job,
            indexed=before.indexed,
            added=before.added,
            rights=before.rights,
            chunks=before.chunks,
            embedded=before.embedded,
            pages=before.pages,
            seconds=before.seconds,
            notes=before.notes,
            questions=before.questions,
            usage=before.usage,
            copies=before.copies,
            more_copies=before.more_copies,
        )
        self._same = 0
        self._left_out = 0
        self._failures: list[FileFailure] = []
        self._most_failures = failures
        self._failed = 0
        self._skipped = Counter[str]()
        self._started = time.monotonic()
        self._reported = 0.0
        self._bytes = 0
        self._total_bytes = 0
        self._same_bytes = 0
        self._changed_bytes = 0
        self._embedded_before = before.embedded
        self._changed = 0
        self._taken_over = 0
        self._since = self._started
        self._noted = self._started
        self._busy = 0.0
        self._busy_alone = 0.0
        self._done_before = 0

    def expect(self, files: int, size: int) -> None:
        """Note that so many files of so many bytes will be read."""
        self._total_bytes = size + files * FILE_BYTES
        self._since = time.monotonic()
        self._set(total=files)

    def set_waiting(self, chunks: int) -> None:
        """Note that so many chunks of the collection wait for their vectors now."""
        before = self._earlier
        # The stored progress may be a second older than what was done.
        done = max(before.embedded, before.chunks + before.waiting - chunks)
        self._embedded_before = done
        self._set(embedded=done, waiting=chunks + done - before.chunks)

    def phase(self, phase: Literal["embedding", "building"]) -> None:
        self._reported = 0.0
        self._set(phase=phase)
        self._busy_alone = 0.0
        self._done_before = self._now.embedded - self._embedded_before

    def note(self, sentence: str) -> None:
        self._set(notes=(*self._now.notes, sentence))

    def note_omission(self, sentence: str) -> None:
        """A note on what a document lacks; only the first ones are kept."""
        self._left_out += 1
        if self._left_out <= MAX_OMISSION_NOTES:
            self.note(sentence)
        elif self._left_out == MAX_OMISSION_NOTES + 1:
            self.note("More was left out: 'ragstone document show' tells it of each document.")

    def count_copy(self, copy: FileCopy) -> None:
        """Tell that a file has the content of another document."""
        now = self._now
        if any(copy.path == told.path for told in now.copies):
            return  # Before the job was cut off.
        if len(now.copies) < MAX_COPIES_TOLD:
            self._set(copies=(*now.copies, copy))
        else:
            self._set(more_copies=now.more_copies + 1)

    def count_skipped(self, kind: str) -> None:
        """A file or folder of this kind is passed over."""
        known = kind in self._skipped or len(self._skipped) < MAX_KINDS
        self._skipped[kind if known else OTHER] += 1
        self._set(skipped=tuple(Skipped(*item) for item in self._skipped.most_common()))

    def count_passed(self, kind: str, size: int, *, read: bool = True) -> None:
        """Count a file as passed over that was counted by `expect`; with `read` it was also
        counted as changed."""
        if read:
            self._bytes += size + FILE_BYTES
        else:
            self._total_bytes -= size + FILE_BYTES
        self._set(files=self._now.files + 1)
        self.count_skipped(kind)

    def count_changed(self, size: int) -> None:
        """Count a file that was counted by `expect` as one to read."""
        self._changed_bytes += size + FILE_BYTES
        self._changed += 1

    def count_indexed(self, size: int, chunks: int, pages: int, *, new: bool = False) -> None:
        now = self._now
        self._bytes += size + FILE_BYTES
        self._set(
            files=now.files + 1,
            indexed=now.indexed + 1,
            added=now.added + new,
            chunks=now.chunks + chunks,
            pages=now.pages + pages,
        )

    def count_rights(self, size: int) -> None:
        """Count a document of which the readers alone are others."""
        self._set(rights=self._now.rights + 1)
        self.count_changed(size)
        self.count_indexed(size, 0, 0)

    def count_unchanged(self, size: int) -> None:
        self._total_bytes -= size + FILE_BYTES
        self._same_bytes += size + FILE_BYTES
        self._same += 1
        unchanged = max(0, self._same - self._earlier.indexed)
        self._set(files=self._now.files + 1, unchanged=unchanged)

    def count_failed(
        self, path: str, reason: str, size: int | None = None, *, read: bool = False
    ) -> None:
        """Note a failure. `size`, in bytes, is of a file that was counted by `expect`; with `read`
        it was also counted as changed."""
        if size is not None and read:
            self._bytes += size + FILE_BYTES
        elif size is not None:
            self._total_bytes -= size + FILE_BYTES
        counted = size is not None
        self._failed += 1
        if len(self._failures) < self._most_failures:
            self._failures.append(FileFailure(path, reason))
        self._set(files=self._now.files + counted)

    def count_embedded(self, chunks: int) -> None:
        self._set(embedded=self._now.embedded + chunks)

    def count_reused(self, chunks: int) -> None:
        """So many chunks had their vectors already, which says nothing about the time of others."""
        self._taken_over += chunks
        self._embedded_before += chunks
        self.count_embedded(chunks)

    def count_questions(self, questions: int, usage: Usage) -> None:
        """Add questions that were thought of with this use of the chat model."""
        now = self._now
        self._set(questions=now.questions + questions, usage=now.usage + usage)

    def count_pruned(self, documents: int, held: int = 0) -> None:
        self._set(pruned=documents, held=held)

    def finish(self) -> Progress:
        """Report the end."""
        self._now = replace(
            self._now,
            phase="done",
            finished=True,
            failed=tuple(self._failures),
            more_failed=self._failed - len(self._failures),
            seconds=self._seconds(),
            eta=0.0,
            # Also what a writer that died has left of versions that others wrote anew had vectors.
            embedded=min(self._now.embedded, self._now.vectors),
        )
        self._report(self._now)
        return self._now

    def _set(self, **changes: object) -> None:
        self._note_time()
        self._now = replace(self._now, **changes)  # type: ignore[arg-type]
        seconds = self._seconds()
        # `seconds` counts earlier attempts too; only differences matter here.
        if seconds - self._reported >= MIN_INTERVAL:
            self._reported = seconds
            failed = tuple(self._failures[:MAX_REPORTED_FAILURES])
            more = self._failed - len(failed)
            now = replace(self._now, failed=failed, more_failed=more)
            self._report(replace(now, seconds=seconds, eta=self._eta()))

    def _note_time(self) -> None:
        """Count the time since the last change as the embedder's if anything waited for it."""
        now = time.monotonic()
        if self._now.embedded != self._now.vectors:  # More while a long document is read.
            self._busy += now - self._noted
            self._busy_alone += now - self._noted
        self._noted = now

    def _seconds(self) -> float:
        return self._earlier.seconds + time.monotonic() - self._started

    def _eta(self) -> float | None:
        """Return the seconds that remain: those of reading, and of the vectors that will be missing
        then, each at its own rate so far. None if there is too little to tell a rate from."""
        if self._now.phase == "building":
            return None
        if self._now.phase == "embedding":
            return self._seconds_of_vectors(0.0, 0.0)
        took = time.monotonic() - self._since
        to_read = self._bytes_to_read()
        if not self._bytes and (to_read or self._now.files < TELLING):
            return None
        reading = took * to_read / self._bytes if self._bytes else 0.0
        vectors = self._seconds_of_vectors(reading, to_read)
        return None if vectors is None else max(reading, self._seconds_of_comparing(took)) + vectors

    def _seconds_of_comparing(self, took: float) -> float:
        """Return what it takes to tell which of the remaining files are changed."""
        compared, total = self._same + self._changed, self._now.total or 0
        left = max(0, total - max(compared, self._now.files))
        return took * left / compared if compared else 0.0

    def _seconds_of_vectors(self, reading: float, to_read: float) -> float | None:
        """Return what the vectors take that are still missing when the rest is read, `to_read`
        bytes in so many seconds."""
        now, done = self._now, self._now.embedded - self._embedded_before
        new = now.chunks - self._earlier.chunks - self._taken_over
        to_come = to_read * max(0, new) / self._bytes if self._bytes else 0.0
        missing = now.vectors - now.embedded + to_come
        if missing <= 0:
            return 0.0
        if not _is_telling(done, self._busy):
            return None
        if now.phase == "embedding":
            alone = done - self._done_before
            if _is_telling(alone, self._busy_alone):  # Nothing else wants the processor any more.
                return missing * self._busy_alone / alone
            return missing * self._busy / done
        meanwhile = reading * done / (time.monotonic() - self._since)
        return max(0.0, missing - meanwhile) * self._busy / done

    def _bytes_to_read(self) -> float:
        """Return bytes of files that are changed, or will be found so: as large a share of those
        that are not compared yet as of those that are."""
        unread = max(0, self._changed_bytes - self._bytes)
        compared = self._same_bytes + self._changed_bytes
        unknown = max(0, self._total_bytes - self._changed_bytes)
        # Where nothing is compared yet, all may be new.
        share = self._changed_bytes / compared if compared else 1.0
        return unread + unknown * share


def _is_telling(done: int, seconds: float) -> bool:
    """Tell whether the rate of so many chunks in so many seconds says something about others."""
    return done >= TELLING or (done > 0 and seconds >= TELLING_SECONDS)
