"""The one way round every question and search, whichever door it came by."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

from ragstone.access.asking import ASKING, limit_key
from ragstone.access.rates import LocalRates, Rates
from ragstone.core.caller import Caller
from ragstone.core.errors import RequestTimeout, TooManyRequests, UnknownCollection
from ragstone.core.events import Done, Event, Failed
from ragstone.core.turn import Ask, Turn
from ragstone.telemetry.metrics import Metrics
from ragstone.telemetry.spans import Telemetry


class Slots:
    """`places` questions run at a time; at most `queue` more wait, each for at most `patience`
    seconds. `each` is how many one credential may have, waiting ones too; 0 for no limit."""

    def __init__(self, places: int, queue: int, patience: float, each: int) -> None:
        self._free = asyncio.Semaphore(places)
        self._queue = queue
        self._patience = patience
        self._each = each
        self._waiting = 0
        self._of: Counter[str] = Counter()

    @asynccontextmanager
    async def place(self, key: str) -> AsyncIterator[None]:
        """Hold a place for the credential `key`, empty for one without limits of its own."""
        if key and self._each and self._of[key] >= self._each:
            raise TooManyRequests(
                f"This credential already has {self._each} questions under way. "
                "Wait for one of them.",
                1.0,
            )
        self._of[key] += 1
        try:
            await self._acquire()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._of[key] -= 1
            if not self._of[key]:
                del self._of[key]

    async def _acquire(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._waiting >= self._queue:
            raise self._full_error()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise self._full_error() from error
        finally:
            self._waiting -= 1

    def _full_error(self) -> TooManyRequests:
        return TooManyRequests(
            "The server is answering as many questions as it can. Try again in a moment.",
            self._patience,
        )


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


@dataclass(frozen=True, slots=True)
class Limits:
    """`slots` are the places for questions, `tokens` what a credential may use in a minute (0 for
    no limit), `seconds` how long an answer may take."""

    slots: Slots
    tokens: int
    seconds: float


class Interceptor:
    """Stands round the engines of one process: permissions, limits, a deadline, spans and figures.

    Who asks is what `ASKING` says. Without `limits` questions are only measured. `rates` count
    what each credential uses.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        rates: Rates | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.rates = rates or LocalRates()
        self.telemetry = telemetry or Telemetry()
        self.metrics = Metrics(self.telemetry)
        self._limits = limits

    def question(
        self, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer; raises TooManyRequests, UnknownCollection before the first."""
        return self.metrics.observe("question", ask, self._with_limits(ask, events))

    def search(self, ask: Ask, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The events of a search; raises TooManyRequests, UnknownCollection before the first."""
        return self.metrics.observe("search", ask, self._with_limits(ask, events))

    def preview(self, ask: Ask, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Return the events of what nobody asked: limited as a question, and in no figure."""
        return self._with_limits(ask, events)

    async def admit(self) -> None:
        """Raise TooManyRequests if the caller has used up the tokens of this minute."""
        key, tokens = limit_key(ASKING.get()), self._limits.tokens if self._limits else 0
        if not key or not tokens:
            return
        left = await self.rates.take(f"tokens:{key}", tokens, 0)
        if left.wait:
            raise TooManyRequests(
                f"This credential has used its {tokens:,} tokens of this minute. Ask again later.",
                left.wait,
            )

    async def aclose(self) -> None:
        """Close the counter."""
        await self.rates.aclose()

    def _with_limits(
        self, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        return events if self._limits is None else self._limit_events(self._limits, ask, events)

    async def _limit_events(
        self, limits: Limits, ask: Ask, answered: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events within the limits; an answer that is not complete in time fails."""
        caller = ASKING.get()
        check_reach(caller, ask)
        key = limit_key(caller)
        await self.admit()
        async with limits.slots.place(key), aclosing(answered) as events:
            end = Deadline(asyncio.get_running_loop().time() + limits.seconds)
            try:
                while True:
                    with end:
                        event = await anext(events, None)
                    if event is None:
                        return
                    if isinstance(event, Done | Failed):
                        await self._count(limits, key, event)
                        self.metrics.count_use(key, event.turn)
                    yield event
            except TimeoutError:
                message = (
                    f"The answer took longer than {limits.seconds:g} s and was stopped. "
                    "Try again, or raise SERVER__REQUEST_SECONDS."
                )
                yield Failed(RequestTimeout(message), Turn(ask))
            finally:
                end.close()

    async def _count(self, limits: Limits, key: str, event: Done | Failed) -> None:
        usage = event.turn.usage
        spent = usage.prompt_tokens + usage.completion_tokens
        if spent and key and limits.tokens:
            await self.rates.add(f"tokens:{key}", spent)


def check_reach(caller: Caller, ask: Ask) -> None:
    """Raise UnknownCollection for a question that the credential does not reach. Every dialect
    refuses it before; here no new one can forget to."""
    strange = bool(limit_key(caller)) and ask.principal.tenant != caller.principal.tenant
    if strange or not caller.reaches(ask.collection):
        raise UnknownCollection(ask.collection)
