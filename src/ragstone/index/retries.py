"""Trying a request to a server again: when, how often, and how long together."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

LONGEST = 5.0
"""Seconds of the longest pause, unless the first is longer."""

Worth = Callable[[Exception], float | None]
"""Seconds that a server wants to be left alone after an error, 0 if it says nothing; None for an
error that would come again."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Further tries after a failed one, and seconds before the first of them."""

    most: int = 3
    pause: float = 0.1

    def pauses(self) -> Iterator[float]:
        """Each twice as long as the one before, less a random part of up to a half: many who were
        refused at once do not come back at once."""
        for tried in range(self.most):
            whole = min(self.pause * 2**tried, max(self.pause, LONGEST))
            yield whole * random.uniform(0.5, 1.0)  # noqa: S311


async def with_retries(
    send: Callable[[], Awaitable[T]],
    retries: Retries,
    worth: Worth,
    timeout: float,
    *,
    each: bool = False,
) -> T:
    """What `send` returns, tried again while its errors are `worth` it.

    All tries together have `timeout` seconds, as somebody waits for a read; with `each`, every one
    has them. The last error is raised, TimeoutError where the time was over.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + timeout
    for pause in retries.pauses():
        try:
            async with asyncio.timeout(timeout if each else until - clock()):
                return await send()
        except Exception as error:
            wanted = worth(error)
            if wanted is None:
                raise
            pause = max(pause, wanted)
            if pause >= (timeout if each else until - clock()):
                raise
        await asyncio.sleep(pause)
    async with asyncio.timeout(timeout if each else until - clock()):
        return await send()
