"""The one way round every question and search, whichever door it came by."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from ragstone.access.asking import ASKING, limit_key
from ragstone.access.deadline import Deadline
from ragstone.access.rates import LocalRates, Rates
from ragstone.access.slots import Slots
from ragstone.core.caller import Caller
from ragstone.core.errors import RequestTimeout, TooManyRequests, UnknownCollection
from ragstone.core.events import Done, Event, Failed
from ragstone.core.turn import Ask, Turn
from ragstone.telemetry.metrics import Metrics
from ragstone.telemetry.spans import Telemetry


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

    async def admit(self) -> None:
        """Raise TooManyRequests if the caller has used up the tokens of this minute."""
        key, tokens = limit_key(ASKING.get()), self._limits.tokens if self._limits else 0
        if not key or not tokens:
            return
        left = await self.rates.take(f"tokens:{key}", tokens, 0)
        if left.wait:
            raise TooManyRequests(
                f"This credential has used its {tokens:,} tokens of this minute.", left.wait
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
        """The events within the limits; an answer that is not complete in time fails."""
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
                    "Try again, or raise SERVER__STREAM_SECONDS."
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
