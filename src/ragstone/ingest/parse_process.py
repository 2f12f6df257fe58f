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
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar, cast

from ragstone.core.errors import ConfigError, DocumentError, TooLarge, UnreadableDocument
from ragstone.core.temporary import TemporaryFolder
from ragstone.ingest.chunk import TextPiece
from ragstone.ingest.daemon_thread import DaemonThread
from ragstone.ingest.formats.recognition import PAGE_SECONDS
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
    Ready,
    Recognising,
    encode_message,
    receive_frame,
    send_frame,
)
from ragstone.ingest.turns import NOBODY, Owner, Turns
from ragstone.registry import PLUGINS_OFF
from ragstone.settings import IngestSettings

if TYPE_CHECKING:
    from pydantic import TypeAdapter

log = logging.getLogger(__name__)

T = TypeVar("T")

MEGABYTE = 1 << 20

FILES = 500
"""Files after which a process is replaced: libraries leak."""

KEPT_MB = 300
"""Memory with which a process may wait for its next file."""

IDLE_SECONDS = 60.0
"""How long a process waits for a file before it ends."""

START_SECONDS = 60.0
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

HEAVY_MB = 256
"""Memory from which a file may be why the whole server was ended."""

SHOWN_CHARS = 1000
LAST_LINES = 5

CLOSE_SECONDS = 5.0
"""How long it is waited at the end until what the processes had is cleared away."""

LAST_WORDS_SECONDS = 2.0
"""How long what an ended process printed is waited for."""

ENVIRONMENT = (
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS",
    "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPYCACHEPREFIX", PLUGINS_OFF,
    "SYSTEMDRIVE", "SYSTEMROOT", "TZ", "USERPROFILE", "VIRTUAL_ENV", "WINDIR",
)  # fmt: skip
"""What a process sees of the environment, besides LC_*: it has no keys and passwords."""


class ParseProcesses:
    """As many processes as the settings allow, and one for each who would have none (`Turns`); each
    is started when it is needed."""

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._turns = Turns(settings.parse_processes)
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
        """The beginning of a file's text; raises DocumentError."""
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
        """A picture of a file by its id, as it is shown; raises DocumentError."""
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
                if process.reusable and not self._closed:
                    self._free.append(process)
                    process.idle(IDLE_SECONDS, self._end)
                else:
                    self._end(process)

    async def _take_process(self) -> "ParseProcess":
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

    def _end(self, process: "ParseProcess") -> None:
        if process in self._free:
            self._free.remove(process)
        self._all.discard(process)
        process.close()


class Reading:
    """One file in one process."""

    def __init__(
        self,
        process: "ParseProcess",
        path: Path,
        size: int,
        settings: IngestSettings,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
    ) -> None:
        self._folder = folder
        self._captions = captions
        self.head = DocumentHead("", "")
        self.last_notes: Sequence[str] = ()
        """What turned out while it was read, once all batches came."""
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
        self._bytes = min(OUTPUT_BYTES + OUTPUT_RATIO * size, OUTPUT_MOST_BYTES)

    async def watch(self, heavy: Callable[[], None]) -> None:
        """End the process when it takes more memory, or more of the processor, than it may."""
        told = False
        began = self._process.used_seconds()
        while (used := self._process.used_mb()) <= self._settings.parse_memory_mb:
            if used > HEAVY_MB and not told:
                told = True
                heavy()
            if self._process.used_seconds() - began > self._processor_seconds:
                self._process.overstep(self._too_laborious())
                return
            await asyncio.sleep(WATCH_SECONDS)
        self._process.overstep(self._too_large())

    async def open(self) -> None:
        """Begin to read."""
        await self._ask()
        self.head = self._expect(await self._next(), DocumentHead)

    async def read_beginning(self, characters: int) -> str:
        """The beginning of the text instead of the chunks."""
        await self._ask(beginning=characters)
        text = self._expect(await self._next(), Beginning).text
        self._process.finish()
        return text

    async def batches(self) -> AsyncGenerator[Sequence[TextPiece], None]:
        """The chunks, in batches."""
        while not isinstance(message := await self._next(), Finished):
            if pieces := self._expect(message, Pieces).pieces:
                self._processor_seconds += len(pieces) * self._piece_seconds
                yield pieces
        self.last_notes = tuple(message.notes)
        if not message.spent:
            self._process.finish()

    async def members(self, folder: Path | None) -> list[ArchiveMember]:
        """The members of the archive that it is, instead of the chunks."""
        await self._ask(members=True, unpack_to=str(folder or ""))
        members: list[ArchiveMember] = []
        while not isinstance(message := await self._next(), Finished):
            members += self._expect(message, ArchiveMembers).members
        self._process.finish()
        return members

    async def picture(self, id: str) -> bytes:
        """A picture of it instead of the chunks."""
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
            settings.chunk_unit,
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
        """The next message that says something, within the time that is left."""
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
        """The next message, which has to come in so many seconds."""
        began = time.monotonic()
        try:
            message, size = await asyncio.wait_for(self._process.receive(), min(self._left, silent))
        except TimeoutError as error:
            raise self._too_slow(silent) from error
        except EOFError as error:
            raise await self._death_error() from error
        except ValueError as error:
            log.warning("A parser's process sent what cannot be read: %s", _one_line(str(error)))
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
                return kind(_one_line(failure.message))
        name = _one_line(failure.message)
        log.error("A parser broke on %s\n%s", self._path, _printable(failure.trace))
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


class ParseProcess:
    """One process and the thread that speaks to it. The thread lives as long: on Linux the process
    ends with the thread that started it."""

    def __init__(self, memory_mb: int) -> None:
        self.overstepped: DocumentError | None = None
        """Why it was ended."""
        self.reusable = False
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._memory_mb = memory_mb
        self._files = 0
        self._thread = DaemonThread("parse")
        self._child: subprocess.Popen[bytes] | None = None
        self._folder: TemporaryFolder | None = None
        self._known: Any = None
        self._listener: Thread | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self._closed = False
        self._cleared: Future[None]

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    async def start(self) -> None:
        """Raises ConfigError if the process does not start."""
        try:
            await self.call(self._start)
            message, _ = await asyncio.wait_for(self.receive(), START_SECONDS)
        except (TimeoutError, EOFError, ValueError, OSError) as error:
            reason = str(error) or type(error).__name__
            said = self.last_lines[-1] if self.last_lines else reason
            raise ConfigError(f"The process that reads files does not start: {said}.") from error
        if not isinstance(message, Ready):
            raise ConfigError("The process that reads files is not of this version.")
        self.reusable = True

    def call(self, function: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        """Run something that may wait for the process."""
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def send(self, request: ReadRequest) -> None:
        self.reusable = False
        self._files += 1
        send_frame(cast(BinaryIO, self._running.stdin), encode_message(request))

    async def receive(self) -> tuple[Message, int]:
        """The next message and its bytes; raises EOFError when the process has ended, ValueError
        for what is not a message."""
        received = self.call(self._receive)
        # Who stops waiting ends the process, and what comes of that is nobody's error.
        received.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(received)

    def finish(self) -> None:
        """The file is done: the process may have another one."""
        self.reusable = self._files < FILES and self.used_mb() < KEPT_MB

    def used_mb(self) -> float:
        """The memory that the process has for itself; 0 once it has ended."""
        used = self._facts("memory_info")
        return float(used.rss - getattr(used, "shared", 0)) / MEGABYTE if used else 0.0

    def used_seconds(self) -> float:
        """The time of a processor that it has taken so far; 0 once it has ended."""
        used = self._facts("cpu_times")
        return float(used.user + used.system) if used else 0.0

    def _facts(self, name: str) -> Any:
        """What the system knows of the process; None once it has ended."""
        psutil: Any = import_module("psutil")
        try:
            self._known = self._known or psutil.Process(self._running.pid)
            return getattr(self._known, name)()
        except psutil.Error:
            return None

    def idle(self, seconds: float, end: Callable[["ParseProcess"], None]) -> None:
        """Call `end` unless the process is taken before."""
        self._waiting = asyncio.get_running_loop().call_later(seconds, end, self)

    def mark_taken(self) -> None:
        if self._waiting:
            self._waiting.cancel()

    def overstep(self, reason: DocumentError) -> None:
        """End it for what it took."""
        self.overstepped = reason
        self._kill()

    def reap(self) -> int:
        """Its exit status, once its pipe has ended, and what it printed last is read. A process
        that a parser started may hold that pipe for longer."""
        status = self._running.wait()
        if self._listener:
            self._listener.join(LAST_WORDS_SECONDS)
        return status

    def close(self) -> "Future[None]":
        """End it, in the midst of whatever it does; what it had is cleared away behind that."""
        self.mark_taken()
        if not self._closed:
            self._closed = True
            self.reusable = False
            self._kill()
            self._cleared = self._thread.submit(self._clear_away)
            self._thread.shutdown()
        return self._cleared

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._child is not None  # noqa: S101 - started before anything else is asked
        return self._child

    def _start(self) -> None:
        if self._closed:
            raise EOFError
        self._folder = TemporaryFolder()
        command = [_interpreter(), "-P", "-m", "ragstone.ingest.parse_child"]
        self._child = subprocess.Popen(  # noqa: S603 - a module of ours, without a shell
            [*command, str(self._memory_mb), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(os.environ, self._folder.path),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        said = cast(BinaryIO, self._child.stderr)
        self._listener = Thread(target=_listen, args=(said, self.last_lines), daemon=True)
        self._listener.start()
        if self._closed:  # in this very moment, when there was nothing to end yet
            self._kill()

    def _receive(self) -> tuple[Message, int]:
        data = receive_frame(cast(BinaryIO, self._running.stdout))
        return _messages().validate_json(data, strict=True), len(data)

    def _kill(self) -> None:
        """With the processes that a parser may have started."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        with suppress(OSError):
            if sys.platform == "win32":
                child.kill()
            else:
                os.killpg(child.pid, signal.SIGKILL)

    def _clear_away(self) -> None:
        if child := self._child:
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with suppress(OSError):
                    cast(BinaryIO, pipe).close()
        if self._folder:
            self._folder.remove()


@cache
def _messages() -> "TypeAdapter[Message]":
    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[Message, Field(discriminator="kind")])


def _listen(said: BinaryIO, last: "deque[str]") -> None:
    """Read what parsers print, so that they need not wait; keep the last lines."""
    with said, suppress(OSError, ValueError):
        while line := said.readline(SHOWN_CHARS):
            if text := _one_line(line.decode("utf-8", "replace")):
                log.debug("A parser said: %s", text)
                last.append(text)


def _environment(given: Mapping[str, str], temporary: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in given.items()
        if name.upper() in ENVIRONMENT or name.startswith("LC_")
    }
    # Formats of packages that this process has put on its path are found too.
    places = [str(Path(place).absolute()) for place in sys.path]
    return {
        **kept,
        **dict.fromkeys(("TEMP", "TMP", "TMPDIR"), str(temporary)),
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONIOENCODING": "utf-8",
    }


def _interpreter() -> str:
    """On Windows that of an environment starts another process, which is not the one to watch."""
    base = getattr(sys, "_base_executable", "") if sys.platform == "win32" else ""
    return base or sys.executable


def _describe_status(status: int) -> str:
    """An exit status, or the signal that it stands for."""
    try:
        return signal.Signals(-status).name if status < 0 else f"status {status}"
    except ValueError:
        return f"signal {-status}"


def _one_line(text: str) -> str:
    return " ".join(_printable(text).split())[:SHOWN_CHARS]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
