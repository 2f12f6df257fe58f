"""The client for a Redis that may be away: it gives up soon and does not try twice."""

from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ragstone.errors import ConfigError

SECONDS = 0.25
"""How long Redis may take to connect or to answer before its user goes on without it."""


def redis_client(url: str, password: str) -> Any:
    """A client of the Redis at `url`, not connected yet.

    Raises ConfigError if `url` is no address of a Redis.
    """
    try:
        return Redis.from_url(
            url,
            password=password or None,
            socket_timeout=SECONDS,
            socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise ConfigError(f"CACHE__URL is no address of a Redis: {error}.") from error
