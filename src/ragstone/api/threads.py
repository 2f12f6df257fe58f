"""Asynchronous work for programs without asyncio: one event loop in a thread of its own."""

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from importlib import import_module
from typing import Any, Generic, Self, TypeVar

from ragstone.core.errors import ClientClosed

T = TypeVar("T")

Tasks = set["asyncio.Task[Any]"]

AHEAD = 16
"""Items that a generator may be ahead of who reads it."""


class LoopThread:
    """An event loop in a thread, begun with the first call. Any thread may call, also one in which
    another event loop runs.

    `last` is done before it ends: when it is closed, when nobody holds it any more, as when a cell
    of a notebook is run again, or when the program ends.
    """

    def __init__(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._lock = threading.Lock()
        self._last = last
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: weakref.finalize[..., LoopThread] | None = None
        self._closed = False
        self._tasks: Tasks = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for what `work` returns or raises; an interrupt cancels it.

        Raises ClientClosed, also when another thread closes this one meanwhile.
        """
        future = self._submit(work)
        try:
            return future.result()
        except CancelledError as error:
            raise ClientClosed from error
        except BaseException:
            future.cancel()
            raise
        finally:
            del future  # Its error's traceback holds this frame: nobody would be rid of the two.

    def iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """The items as they come; closing the generator closes `items`. Raises ClientClosed."""
        queue: asyncio.Queue[T | None] = asyncio.Queue(AHEAD)
        task = self.run(_start_pump(items, queue, self._tasks))
        try:
            while (item := self.run(queue.get())) is not None:
                yield item
            self.run(_task_result(task))
        finally:
            with suppress(ClientClosed):
                self.run(_stop_task(task))

    def close(self) -> None:
        """Do the last work, then end the thread; nothing happens the second time."""
        with self._lock:
            self._closed = True
        if self._end is not None:
            self._end()

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        # Under the lock: what begins here is among what `close` stops.
        with self._lock:
            if self._closed or (self._end is not None and not self._end.alive):
                work.close()
                raise ClientClosed
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._end = self._start(self._loop)
            return asyncio.run_coroutine_threadsafe(_as_task(work, self._tasks), self._loop)

    def _start(self, loop: asyncio.AbstractEventLoop) -> "weakref.finalize[..., LoopThread]":
        """Begin the thread; what ends it."""
        thread = threading.Thread(target=_serve, args=(loop,), name="ragstone", daemon=True)
        thread.start()
        end = weakref.finalize(self, _end_loop, loop, thread, self._tasks, self._last)
        end.atexit = False
        _before_threads_end(end)
        return end


class Twin(Generic[T]):
    """A plain client or a part of it: each method runs the one of `inner` in the loop's thread."""

    _inner: T
    _thread: LoopThread

    @classmethod
    def _wrap(cls, inner: T, thread: LoopThread) -> Self:
        twin = cls.__new__(cls)
        twin._inner, twin._thread = inner, thread
        return twin


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def _before_threads_end(end: Callable[[], Any]) -> None:
    """Call `end` when the program ends, while the threads of executors still take work: `atexit`
    would be too late for that."""
    # What was registered last is called first, so theirs must have been registered by now.
    import_module("concurrent.futures.thread")
    threading._register_atexit(end)  # type: ignore[attr-defined]


def _end_loop(
    loop: asyncio.AbstractEventLoop,
    thread: threading.Thread,
    tasks: Tasks,
    last: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Stop the tasks of the loop, run the last work, and end the loop."""
    if thread is threading.current_thread():  # The loop's own thread collects garbage: no waiting.
        loop.create_task(_finish(tasks, last)).add_done_callback(lambda _: loop.stop())
        return
    try:
        asyncio.run_coroutine_threadsafe(_finish(tasks, last), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _finish(tasks: Tasks, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    await last()


async def _as_task(work: Coroutine[Any, Any, T], tasks: Tasks) -> T:
    """Run the work as one of the tasks that end with the loop."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  A coroutine runs in a task.
    tasks.add(task)
    try:
        return await work
    finally:
        tasks.discard(task)
        del task  # As above.


async def _start_pump(
    items: AsyncGenerator[T, None], queue: "asyncio.Queue[T | None]", tasks: Tasks
) -> "asyncio.Task[None]":
    task = asyncio.create_task(_pump(items, queue))
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


async def _pump(items: AsyncGenerator[T, None], queue: "asyncio.Queue[T | None]") -> None:
    """Put each item into the queue, and None at the end. One task reads all of them, as a generator
    may hold what belongs to a task."""
    try:
        async with aclosing(items):
            async for item in items:
                await queue.put(item)
    except asyncio.CancelledError:
        raise
    except BaseException:
        await queue.put(None)
        raise
    await queue.put(None)


async def _task_result(task: "asyncio.Task[None]") -> None:
    await task


async def _stop_task(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
