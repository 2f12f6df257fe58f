"""One process that reads files, and the thread that speaks to it."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar, cast

from ragstone.core.disk import TemporaryFolder
from ragstone.core.errors import ConfigError, DocumentError
from ragstone.ingest.file_threads import DaemonThread
from ragstone.ingest.formats.types import MEGABYTE
from ragstone.ingest.parse_messages import (
    Message,
    ReadRequest,
    Ready,
    encode_message,
    receive_frame,
    send_frame,
)
from ragstone.registry import PLUGINS_OFF

if TYPE_CHECKING:
    from pydantic import TypeAdapter

log = logging.getLogger(__name__)

T = TypeVar("T")

FILES = 500
"""Files after which a process is replaced: libraries leak."""

KEPT_MB = 300
"""Memory with which a process may wait for its next file."""

START_SECONDS = 60.0

SHOWN_CHARS = 1000

LAST_LINES = 5

LAST_WORDS_SECONDS = 2.0
"""How long what an ended process printed is waited for."""

ENVIRONMENT = (
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS",
    "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPYCACHEPREFIX", PLUGINS_OFF,
    "SYSTEMDRIVE", "SYSTEMROOT", "TZ", "USERPROFILE", "VIRTUAL_ENV", "WINDIR",
)  # fmt: skip
"""What a process sees of the environment, besides LC_*: it has no keys and passwords."""


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
        """Start the process. Raises ConfigError if that fails."""
        try:
            await self.call(self._start)
            async with asyncio.timeout(START_SECONDS):
                message, _ = await self.receive()
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
        send_frame(cast(BinaryIO, self._popen.stdin), encode_message(request))

    async def receive(self) -> tuple[Message, int]:
        """Return the next message and its bytes; raises EOFError when the process has ended,
        ValueError for what is not a message."""
        received = self.call(self._receive)
        # Who stops waiting ends the process, and what comes of that is nobody's error.
        received.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(received)

    def finish(self) -> None:
        """The file is done: the process may have another one."""
        self.reusable = self._files < FILES and self.memory_mb() < KEPT_MB

    def memory_mb(self) -> float:
        """Return the memory that the process has for itself; 0 once it has ended."""
        used = self._facts("memory_info")
        # Libraries are shared by all processes, and count for none.
        return float(used.rss - getattr(used, "shared", 0)) / MEGABYTE if used else 0.0

    def processor_seconds(self) -> float:
        """Return the time of a processor that it has taken so far; 0 once it has ended."""
        used = self._facts("cpu_times")
        return float(used.user + used.system) if used else 0.0

    def _facts(self, name: str) -> Any:
        """Return what the system knows of the process; None once it has ended."""
        psutil: Any = import_module("psutil")
        try:
            self._known = self._known or psutil.Process(self._popen.pid)
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
        """Return its exit status, once its pipe has ended, and what it printed last is read. A
        process that a parser started may hold that pipe for longer."""
        status = self._popen.wait()
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
    def _popen(self) -> "subprocess.Popen[bytes]":
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
            # A group of its own, so that what a parser starts ends with it.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        said = cast(BinaryIO, self._child.stderr)
        self._listener = Thread(target=_listen, args=(said, self.last_lines), daemon=True)
        self._listener.start()
        if self._closed:  # in this very moment, when there was nothing to end yet
            self._kill()

    def _receive(self) -> tuple[Message, int]:
        data = receive_frame(cast(BinaryIO, self._popen.stdout))
        return _messages().validate_json(data, strict=True), len(data)

    def _kill(self) -> None:
        """Kill the process, with those that a parser may have started."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        kill_session(child)

    def _clear_away(self) -> None:
        if child := self._child:
            # Until then its folder may be written to.
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


def kill_session(leader: subprocess.Popen[bytes] | asyncio.subprocess.Process) -> None:
    """Kill a process that leads a session of its own, with those that it has started."""
    with suppress(OSError):
        if sys.platform == "win32":
            leader.kill()
        else:
            os.killpg(leader.pid, signal.SIGKILL)


def _listen(said: BinaryIO, last: "deque[str]") -> None:
    """Read what parsers print, so that they need not wait; keep the last lines."""
    with said, suppress(OSError, ValueError):
        while line := said.readline(SHOWN_CHARS):
            if text := single_line(line.decode("utf-8", "replace")):
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


def single_line(text: str) -> str:
    return " ".join(printable(text).split())[:SHOWN_CHARS]


def printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
