"""What servers read of the prompts, in Redis, under the mark that it was read for.

{PREFIX}<mark>   string   JSON: tenant to name to text
"""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from redis.exceptions import RedisError

from ragstone.redis_client import redis_client

log = logging.getLogger(__name__)

T = TypeVar("T")
Texts = Mapping[str, Mapping[str, str]]

PREFIX = "ragstone:prompts:1:"
PAUSE = 5.0
"""Seconds before a Redis that did not answer is tried again."""

KEPT = 86_400
"""Seconds that the texts of a mark are kept."""


class RedisTexts:
    """`state.templates.SharedTexts` in Redis."""

    def __init__(self, url: str, password: str = "", pause: float = PAUSE) -> None:
        self._redis = redis_client(url, password)
        self._pause = pause
        self._closed_until = 0.0

    async def get(self, mark: int) -> Texts | None:
        said = await self._tried(lambda: self._redis.get(f"{PREFIX}{mark}"))
        try:
            found = json.loads(said) if said else None
        except ValueError:
            return None
        return found if _are_texts(found) else None

    async def put(self, mark: int, texts: Texts) -> None:
        said = json.dumps(texts)
        await self._tried(lambda: self._redis.set(f"{PREFIX}{mark}", said, ex=KEPT))

    async def aclose(self) -> None:
        with suppress(RedisError, OSError, TimeoutError):
            await self._redis.aclose()

    async def _tried(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` returns, None while Redis does not answer."""
        if self._closed_until > time.monotonic():
            return None
        try:
            return await work()
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("Redis does not answer; prompts are read from the database: %s", error)
            self._closed_until = time.monotonic() + self._pause
            return None


def _are_texts(found: object) -> bool:
    return isinstance(found, dict) and all(
        isinstance(own, dict) and all(isinstance(text, str) for text in own.values())
        for own in found.values()
    )
