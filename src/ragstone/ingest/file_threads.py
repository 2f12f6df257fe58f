"""Threads for reading the files of users, of which a disk or a mount may never answer.

They are few and their own: what waits for a folder keeps nothing else waiting. A call that shows no
sign of life for DEADLINE_SECONDS is given up. Its thread is left behind: another takes its place,
and it does not keep the program from ending. What is on the same mount is refused at once until
that answers again.
"""

import contextvars
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from ragstone.core.errors import FilesUnavailable

T = TypeVar("T")

MAX_THREADS = 8
"""Calls at once, apart from those that were given up."""

DEADLINE_SECONDS = 30.0
"""How long nothing may come of a file or folder."""

_LOOK_SECONDS = 1.0
"""How often who waits for a thread looks whether one was given up."""

FSTAB = "/etc/fstab"
"""What is to be mounted, as Linux and others know it."""


class _Call:
    """A call in a thread: which file or folder it waits for, and since when."""

    def __init__(self) -> None:
        self.path = ""
        self.since = time.monotonic()

    @property
    def patience(self) -> float:
        """Seconds until it is given up."""
        return self.since + DEADLINE_SECONDS - time.monotonic()


_lock = threading.Lock()
_running: set[_Call] = set()
_waiting: deque[Future[None]] = deque()
_own = threading.local()


async def run(places: Iterable[str | Path], function: Callable[..., T], *arguments: object) -> T:
    """Call a function that reads files below these places in a thread. Raises FilesUnavailable
    where one of them does not answer."""
    import asyncio  # The process that reads files needs this module too, and starts without loops.

    work = partial(contextvars.copy_context().run, function, *arguments)
    folders = [os.fspath(place) for place in places]
    while isinstance(started := _start(folders, work), Future):
        await asyncio.wait({asyncio.wrap_future(started)}, timeout=_LOOK_SECONDS)
    call, done = started
    future = asyncio.wrap_future(done)
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    while not future.done():
        if call.patience <= 0:
            raise _unavailable(call.path)
        await asyncio.wait({future}, timeout=call.patience)
    return future.result()


def report_progress(path: str | Path) -> None:
    """Show that the call in this thread is alive, and which file or folder it goes on with."""
    call: _Call | None = getattr(_own, "call", None)
    if call is not None:
        call.path, call.since = os.fspath(path), time.monotonic()


def mount_points() -> frozenset[str]:
    """Return the folders where something is mounted, or would be if it could; none where the system
    does not tell."""
    found = set()
    for file in ("/proc/self/mounts", FSTAB):
        with suppress(OSError):
            for line in Path(file).read_text(encoding="utf-8", errors="replace").splitlines():
                fields = line.split()
                if len(fields) > 1 and not line.startswith("#"):
                    # Spaces and the like stand as octal numbers.
                    place = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), fields[1])
                    found.add(place)
    return frozenset(place for place in found if place.startswith("/") and place != "/")


def _start(folders: list[str], work: Callable[[], T]) -> "tuple[_Call, Future[T]] | Future[None]":
    """Begin a call; while too many others run, what is done when one ends. Raises
    FilesUnavailable."""
    with _lock:
        # Before a new thread: one more on a dead mount would be lost too.
        lost = [call for call in _running if call.patience <= 0]
        if lost:
            _refuse_if_lost(folders, lost)
        # Lost calls keep their threads, but not their places.
        if len(_running) - len(lost) >= MAX_THREADS:
            _waiting.append(Future())
            return _waiting[-1]
        call, done = _Call(), Future[T]()
        threading.Thread(target=_work, args=(call, done, work), name="files", daemon=True).start()
        _running.add(call)
    return call, done


def _work(call: _Call, done: "Future[T]", work: Callable[[], T]) -> None:
    _own.call = call
    complete(done, work)
    with _lock:
        _running.discard(call)
        while _waiting:
            complete(_waiting.popleft(), lambda: None)


def _refuse_if_lost(folders: list[str], lost: list[_Call]) -> None:
    """Raise for a folder on the mount of a file that does not answer, or above that file."""
    mounts = mount_points()
    for call in lost:
        for folder in folders:
            if _is_inside(call.path, folder) or _mount(call.path, mounts) == _mount(folder, mounts):
                raise _unavailable(call.path)


def _mount(path: str, mounts: frozenset[str]) -> str:
    """Return the mount that a path is on; the path itself where none is known."""
    return max((mount for mount in mounts if _is_inside(path, mount)), key=len, default=path)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _unavailable(path: str) -> FilesUnavailable:
    return FilesUnavailable(
        f"{path or 'The disk'} does not answer: nothing came of it for {DEADLINE_SECONDS:g} "
        "seconds. Check the disk or network it is on, and try again."
    )


P = ParamSpec("P")


class DaemonThread(Executor):
    """Runs one call after the other, as a `ThreadPoolExecutor` of one thread does. Python waits for
    those at its end, and a call that waits for a disk may never end."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done = Future[T]()
        self._calls.put((done, partial(fn, *args, **kwargs)))
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the thread end behind the last call; it is never waited for."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            complete(*call)


def complete(done: "Future[T]", work: Callable[[], T]) -> None:
    """Give a future the result of a call, or its error."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        done.set_exception(error)
    else:
        done.set_result(result)
