"""A service whose questions wait for a place, end in time, and count for who asks them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ragstone.access.asking import ASKING
from ragstone.access.deadline import Deadline
from ragstone.access.rates import Rates
from ragstone.access.slots import Slots
from ragstone.core.caller import Caller
from ragstone.core.errors import RequestTimeout, TooManyRequests
from ragstone.core.events import Done, Event, Failed
from ragstone.core.turn import Ask, Turn
from ragstone.service import SearchResult, Service


class Limited:
    """Passes everything on to `service`; `ask` and `search` only as the limits allow.

    Who asks is what `ASKING` says. An answer that is not complete after `seconds` fails.
    """

    def __init__(
        self, service: Service, slots: Slots, rates: Rates, tokens: int, seconds: float
    ) -> None:
        self._service = service
        self._slots = slots
        self._rates = rates
        self._tokens = tokens
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    async def ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        """As `Service.ask`; raises TooManyRequests before the first event."""
        key = limited_key(ASKING.get())
        await self._affordable(key)
        async with self._slots.place(key), aclosing(self._service.ask(ask)) as events:
            end = Deadline(asyncio.get_running_loop().time() + self._seconds)
            try:
                while True:
                    with end:
                        event = await anext(events, None)
                    if event is None:
                        return
                    if isinstance(event, Done | Failed):
                        await self._count(key, event)
                    yield event
            except TimeoutError:
                message = f"The answer took longer than {self._seconds:g} s and was stopped."
                yield Failed(RequestTimeout(message), Turn(ask))
            finally:
                end.close()

    async def search(self, ask: Ask) -> SearchResult:
        """As `Service.search`; raises TooManyRequests."""
        key = limited_key(ASKING.get())
        await self._affordable(key)
        async with self._slots.place(key):
            return await self._service.search(ask)

    async def _affordable(self, key: str) -> None:
        if not key or not self._tokens:
            return
        left = await self._rates.take(f"tokens:{key}", self._tokens, 0)
        if left.wait:
            raise TooManyRequests(
                f"This credential has used its {self._tokens:,} tokens of this minute.", left.wait
            )

    async def _count(self, key: str, event: Done | Failed) -> None:
        if not key or not self._tokens:
            return
        usage = event.turn.usage
        spent = usage.prompt_tokens + usage.completion_tokens
        if spent:
            await self._rates.add(f"tokens:{key}", spent)


def limited_key(caller: Caller) -> str:
    """The name under which a caller's use is counted; empty for the local user and operator."""
    return "" if caller.operator else caller.key
