"""One end for many waits."""

import asyncio
from types import TracebackType


class Deadline:
    """Ends what is waited for in `with deadline:` at `end` of the loop's clock, by TimeoutError.

    As `asyncio.timeout_at`, but with one timer for all the waits of a stream of events, which may
    be waited for by one task after the other. Close it when no more is waited for.
    """

    def __init__(self, end: float) -> None:
        self._passed = False
        self._waiting: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._timer = asyncio.get_running_loop().call_at(end, self._end)

    def __enter__(self) -> None:
        if self._passed:
            raise TimeoutError
        self._waiting = asyncio.current_task()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._waiting = self._waiting, None
        if self._passed and task is not None:
            others = task.uncancel() > self._cancelling
            if kind is asyncio.CancelledError and not others:
                raise TimeoutError from error

    def close(self) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self._passed = True
        if self._waiting is not None:
            self._cancelling = self._waiting.cancelling()
            self._waiting.cancel()
