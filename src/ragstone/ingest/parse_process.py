"""Reads files in processes of their own, which a hostile file may end.

A process is given one file after the other, and a new one takes the place of one that died, took
too much or grew. It has no more memory and time than the settings say, and sends chunks only as
fast as they are taken.
"""

import asyncio
import base64
import logging
import os
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ragstone.core.errors import DocumentError, TooLarge, UnreadableDocument
from ragstone.ingest.child_process import ParseProcess, printable, single_line
from ragstone.ingest.chunk import TextPiece
from ragstone.ingest.formats.recognition import PAGE_SECONDS
from ragstone.ingest.formats.types import MEGABYTE
from ragstone.ingest.parse_messages import (
    MEMORY,
    ArchiveMember,
    ArchiveMembers,
    Beginning,
    DocumentHead,
    Drawn,
    Finished,
    Message,
    Pieces,
    ReadFailure,
    ReadRequest,
    Recognising,
)
from ragstone.ingest.turns import NOBODY, Owner, Turns
from ragstone.settings import IngestSettings

log = logging.getLogger(__name__)

T = TypeVar("T")

IDLE_SECONDS = 60.0
"""How long a process waits for a file before it ends."""

WATCH_SECONDS = 0.05

SECONDS_PER_MB = 30.0

PROCESSOR_SHARE, MIN_PROCESSOR_SECONDS = 1 / 12, 10.0
"""What a small file may take of a processor, as a share of the seconds for reading a file, but not
less than so many, or all of them. Each megabyte of a file allows as much again."""

PIECE_SHARE = 1 / 50
"""What each chunk that came of a file allows besides, as a share of that: a file that only uses up
a parser's time gives nothing for it."""

OUTPUT_BYTES = 16 * MEGABYTE
OUTPUT_RATIO = 200
OUTPUT_MOST_BYTES = 4096 * MEGABYTE
"""What may come of a file, as JSON with all places: so much, and so many times its own size, but
not more than the last. Text packed a hundred times still fits."""

MAX_NOTES, MAX_NOTE_CHARS = 100, 1000
"""Sentences on what was left out of a file that are kept, and characters of each."""

PARSE_PROCESSES = 2
"""Files that are read at once. More would wait: embedding takes longer than reading, and text is
recognised on half of the processors each."""

HEAVY_MB = 256
"""Memory from which a file may be why the whole server was ended."""

CLOSE_SECONDS = 5.0
"""How long it is waited at the end until what the processes had is cleared away."""


class ParseProcesses:
    """So many processes, and one for each who would have none (`Turns`); each is started when it is
    needed."""

    def __init__(self, settings: IngestSettings, processes: int = PARSE_PROCESSES) -> None:
        self._settings = settings
        self._turns = Turns(processes)
        self._free: list[ParseProcess] = []
        self._all: set[ParseProcess] = set()
        self._closed = False

    async def aclose(self) -> None:
        """End all processes, also those that are reading."""
        self._closed = True
        cleared = [asyncio.wrap_future(process.close()) for process in self._all]
        self._all.clear()
        self._free.clear()
        if cleared:
            await asyncio.wait(cleared, timeout=CLOSE_SECONDS)

    @asynccontextmanager
    async def open_reading(
        self,
        path: Path,
        size: int,
        heavy: Callable[[], None] = lambda: None,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
        owner: Owner = NOBODY,
    ) -> AsyncIterator["Reading"]:
        """A file of so many bytes that is being read; `batches` are its chunks. Raises
        DocumentError, and so may the iteration. `heavy` is called once if reading takes much
        memory. What the file includes must be in `folder`; `captions` are what a model said of its
        pictures, by their digests."""
        async with self._open_reading(path, size, owner, heavy, folder, captions) as reading:
            await reading.open()
            yield reading

    async def read_beginning(
        self,
        path: Path,
        size: int,
        characters: int,
        heavy: Callable[[], None] = lambda: None,
        owner: Owner = NOBODY,
    ) -> str:
        """Return the beginning of a file's text; raises DocumentError."""
        async with self._open_reading(path, size, owner, heavy) as reading:
            return await reading.read_beginning(characters)

    async def members(
        self, path: Path, size: int, folder: Path | None, heavy: Callable[[], None], owner: Owner
    ) -> list[ArchiveMember]:
        """The members of an archive, with a `folder` unpacked into it; raises DocumentError."""
        async with self._open_reading(path, size, owner, heavy) as reading:
            return await reading.members(folder)

    async def picture(
        self, path: Path, size: int, id: str, folder: Path | None = None, owner: Owner = NOBODY
    ) -> bytes:
        """Return a picture of a file by its id, as it is shown; raises DocumentError."""
        async with self._open_reading(path, size, owner, folder=folder) as reading:
            return await reading.picture(id)

    @asynccontextmanager
    async def _open_reading(
        self,
        path: Path,
        size: int,
        owner: Owner,
        heavy: Callable[[], None] = lambda: None,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
    ) -> AsyncIterator["Reading"]:
        """A file and a process for it. One that was left in the midst of it ends."""
        async with self._turns.place(owner):
            process = await self._take_process()
            try:
                reading = Reading(process, path, size, self._settings, folder, captions)
                watching = asyncio.create_task(reading.watch(heavy))
                try:
                    yield reading
                finally:
                    watching.cancel()
            finally:
                # It is only after `finish`: one that was left in the midst of a file still reads
                # it.
                if process.reusable and not self._closed:
                    # Taken from the end, so that the others become idle and end.
                    self._free.append(process)
                    process.idle(IDLE_SECONDS, self._end)
                else:
                    self._end(process)

    async def _take_process(self) -> ParseProcess:
        while self._free:
            process = self._free.pop()
            if process.alive:
                process.mark_taken()
                return process
            self._end(process)
        process = ParseProcess(self._settings.parse_memory_mb)
        self._all.add(process)
        try:
            await process.start()
        except BaseException:
            self._end(process)
            raise
        return process

    def _end(self, process: ParseProcess) -> None:
        if process in self._free:
            self._free.remove(process)
        self._all.discard(process)
        process.close()


class Reading:
    """One file in one process."""

    def __init__(
        self,
        process: ParseProcess,
        path: Path,
        size: int,
        settings: IngestSettings,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
    ) -> None:
        self._folder = folder
        self._captions = captions
        self.head = DocumentHead("", "")
        self._last_notes: Sequence[str] = ()
        self._process = process
        self._path = path
        self._settings = settings
        self._seconds = settings.parse_seconds + SECONDS_PER_MB * size / MEGABYTE
        self._left = self._seconds
        least = min(settings.parse_seconds, MIN_PROCESSOR_SECONDS)
        base = max(least, settings.parse_seconds * PROCESSOR_SHARE)
        self._piece_seconds = base * PIECE_SHARE
        self._processor_seconds = base * (1 + size / MEGABYTE)
        self._pages = 0
        # The limit on memory does not hold for text that is sent as it is read.
        self._bytes = min(OUTPUT_BYTES + OUTPUT_RATIO * size, OUTPUT_MOST_BYTES)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was left out, once all batches came."""
        notes = (*self.head.notes, *self._last_notes)
        return tuple(note[:MAX_NOTE_CHARS] for note in notes[:MAX_NOTES])

    async def watch(self, heavy: Callable[[], None]) -> None:
        """End the process when it takes more memory, or more of the processor, than it may."""
        told = False
        began = self._process.processor_seconds()
        while (used := self._process.memory_mb()) <= self._settings.parse_memory_mb:
            if used > HEAVY_MB and not told:
                told = True
                heavy()
            if self._process.processor_seconds() - began > self._processor_seconds:
                self._process.overstep(self._too_laborious())
                return
            await asyncio.sleep(WATCH_SECONDS)
        self._process.overstep(self._too_large())

    async def open(self) -> None:
        """Begin to read."""
        await self._ask()
        self.head = self._expect(await self._next(), DocumentHead)

    async def read_beginning(self, characters: int) -> str:
        """Return the beginning of the text instead of the chunks."""
        await self._ask(beginning=characters)
        text = self._expect(await self._next(), Beginning).text
        self._process.finish()
        return text

    async def batches(self) -> AsyncGenerator[Sequence[TextPiece], None]:
        """Yield the chunks, in batches."""
        while not isinstance(message := await self._next(), Finished):
            if pieces := self._expect(message, Pieces).pieces:
                # Text is worth its time; a file that only loops gives none.
                self._processor_seconds += len(pieces) * self._piece_seconds
                yield pieces
        self._last_notes = tuple(message.notes)
        if not message.spent:
            self._process.finish()

    async def members(self, folder: Path | None) -> list[ArchiveMember]:
        """Return the members of the archive that it is, instead of the chunks."""
        await self._ask(members=True, unpack_to=str(folder or ""))
        members: list[ArchiveMember] = []
        while not isinstance(message := await self._next(), Finished):
            members += self._expect(message, ArchiveMembers).members
        self._process.finish()
        return members

    async def picture(self, id: str) -> bytes:
        """Return a picture of it instead of the chunks."""
        await self._ask(picture=id)
        drawn = self._expect(await self._next(), Drawn).base64
        self._process.finish()
        try:
            return base64.b64decode(drawn, validate=True)
        except ValueError as error:
            raise UnreadableDocument(f"{self._path.name} holds no such picture.") from error

    async def _ask(
        self, beginning: int = 0, picture: str = "", members: bool = False, unpack_to: str = ""
    ) -> None:
        settings = self._settings
        request = ReadRequest(
            str(self._path),
            settings.max_file_mb,
            settings.max_memory_mb,
            settings.chunk_size,
            settings.chunk_overlap,
            int(self._seconds) + 60,
            beginning,
            str(self._folder or ""),
            settings.ocr,
            settings.ocr_pages,
            picture,
            dict(self._captions),
            members,
            unpack_to,
        )
        with suppress(OSError):  # Why a process has died is told where its answer is read.
            await self._process.call(self._process.send, request)

    async def _next(self) -> Message:
        """Return the next message that says something, within the time that is left."""
        silent = self._settings.parse_seconds
        while isinstance(message := await self._receive(silent), Recognising):
            self._pages += 1
            if self._pages <= self._settings.ocr_pages:
                self._seconds += PAGE_SECONDS
                self._left += PAGE_SECONDS
                # Each thread of the recognition counts.
                self._processor_seconds += PAGE_SECONDS * (os.cpu_count() or 1)
                silent = self._settings.parse_seconds + PAGE_SECONDS
        return message

    async def _receive(self, silent: float) -> Message:
        """Return the next message, which has to come in so many seconds."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(self._left, silent)):
                message, size = await self._process.receive()
        except TimeoutError as error:
            raise self._too_slow(silent) from error
        except EOFError as error:
            raise await self._death_error() from error
        except ValueError as error:
            log.warning("A parser's process sent what cannot be read: %s", single_line(str(error)))
            raise UnreadableDocument(
                f"The parser of {self._path.name} sent what cannot be read; the log says more."
            ) from error
        self._left -= time.monotonic() - began
        self._bytes -= size
        if self._bytes < 0:
            raise TooLarge(
                f"{self._path.name} holds far more text than a file of its size can. If it is not "
                "damaged, save it in another form, or split it."
            )
        if isinstance(message, ReadFailure):
            raise self._failure_error(message)
        return message

    def _expect(self, message: Message, kind: type[T]) -> T:
        if not isinstance(message, kind):
            raise UnreadableDocument(f"The parser of {self._path.name} sent {message.kind} too.")
        return message

    def _failure_error(self, failure: ReadFailure) -> DocumentError:
        if failure.code == MEMORY:
            return self._too_large()
        self._process.finish()
        for kind in DocumentError.__subclasses__():
            if kind.code == failure.code:
                return kind(single_line(failure.message))
        name = single_line(failure.message)
        log.error("A parser broke on %s\n%s", self._path, printable(failure.trace))
        return UnreadableDocument(f"The parser failed on this file ({name}); the log says more.")

    async def _death_error(self) -> DocumentError:
        status = await self._process.call(self._process.reap)
        if self._process.overstepped:
            return self._process.overstepped
        for line in self._process.last_lines:
            log.warning("The process that read %s: %s", self._path, line)
        return UnreadableDocument(
            f"The process that read {self._path.name} ended ({_describe_status(status)}), as "
            "happens with a "
            f"damaged file, or one that needs far more than {self._settings.parse_memory_mb:,} MB "
            "of memory. Save it anew, or split it."
        )

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"{self._path.name} took more than {self._settings.parse_memory_mb:,} MB of memory to "
            "read. Split it, or allow more (INGEST__PARSE_MEMORY_MB)."
        )

    def _too_laborious(self) -> UnreadableDocument:
        return UnreadableDocument(
            f"{self._path.name} kept the processor busy for {self._processor_seconds:,.0f} "
            "seconds, longer than a file of its size should. Split it, or allow more "
            "(INGEST__PARSE_SECONDS)."
        )

    def _too_slow(self, silent: float) -> UnreadableDocument:
        if self._left > silent:
            told = f"Nothing came of {self._path.name} for {silent:,.0f}"
        else:
            told = f"{self._path.name} took more than {self._seconds:,.0f}"
        return UnreadableDocument(
            f"{told} seconds while it was read. Split it, or allow more (INGEST__PARSE_SECONDS)."
        )


def _describe_status(status: int) -> str:
    """Return an exit status, or the signal that it stands for."""
    try:
        return signal.Signals(-status).name if status < 0 else f"status {status}"
    except ValueError:
        return f"signal {-status}"
