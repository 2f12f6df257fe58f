"""The client for a Redis that may be away: it gives up soon, and is then left alone for a while."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from ragstone.core.errors import ConfigError

log = logging.getLogger(__name__)
T = TypeVar("T")

SECONDS = 0.25
"""How long Redis may take to connect or to answer before its user goes on without it."""

REST = 5.0
"""Seconds before a Redis that did not answer is tried again."""


def redis_client(url: str) -> Any:
    """Return a client of the Redis at `url`, not connected yet.

    Raises ConfigError if `url` is not an address of a Redis.
    """
    try:
        return Redis.from_url(
            url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, retry=Retry(NoBackoff(), 0)
        )
    except ValueError as error:
        raise ConfigError(f"CACHE__URL is not an address of a Redis: {error}.") from error


class Attempts:
    """Attempts to do something with the Redis at `url`. After one that failed there are none for
    `rest` seconds, then one; so long as it is under way, and after it failed, there are no others.

    The log says once that Redis does not answer and what that means, in the words of `without`, and
    once that it answers again.
    """

    def __init__(
        self,
        url: str,
        without: str,
        rest: float = REST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.where = url.rpartition("@")[2]
        self._without = without
        self._rest = rest
        self._clock = clock
        self._silent_until: float | None = None

    @property
    def is_answering(self) -> bool:
        """Whether the last attempt had an answer; true before the first."""
        return self._silent_until is None

    async def make(self, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """Return what `work` returns, or `otherwise` while Redis does not answer."""
        if self._silent_until is not None:
            if self._clock() < self._silent_until:
                return otherwise
            self._silent_until = self._clock() + self._rest
        try:
            done = await work()
        except (RedisError, OSError) as error:
            self._record_failure(error)
            return otherwise
        if not self.is_answering:
            log.info("Redis at %s answers again.", self.where)
            self._silent_until = None
        return done

    def _record_failure(self, error: Exception) -> None:
        if self.is_answering:
            log.warning("Redis at %s does not answer; %s: %s", self.where, self._without, error)
        self._silent_until = self._clock() + self._rest


async def close_client(client: Any) -> None:
    """Close the client, whether or not its Redis is there to say goodbye to."""
    with suppress(RedisError, OSError):
        await client.aclose()
