"""What several servers keep together in one Redis.

What servers read of the prompts, in Redis, under the mark that it was read for.

{PREFIX}<mark>   string   JSON: tenant to name to text
"""

import json
from collections.abc import Mapping

from ragstone.plugins.redis.cache import RedisCache
from ragstone.plugins.redis.client import REST, Attempts, close_client, redis_client
from ragstone.plugins.redis.rates import SharedRates

Texts = Mapping[str, Mapping[str, str]]

PREFIX = "ragstone:prompts:1:"
KEPT = 86_400
"""Seconds that the texts of a mark are kept."""


class RedisTexts:
    """`store.sql.templates.SharedTexts` in Redis."""

    def __init__(self, url: str, rest: float = REST) -> None:
        self._redis = redis_client(url)
        self._attempts = Attempts(url, "prompts are read from the database", rest)

    async def get(self, mark: int) -> Texts | None:
        said = await self._attempts.make(lambda: self._redis.get(f"{PREFIX}{mark}"), None)
        try:
            found = json.loads(said) if said else None
        except ValueError:
            return None
        return found if _are_texts(found) else None

    async def put(self, mark: int, texts: Texts) -> None:
        said = json.dumps(texts)
        await self._attempts.make(lambda: self._redis.set(f"{PREFIX}{mark}", said, ex=KEPT), None)

    async def aclose(self) -> None:
        await close_client(self._redis)


def _are_texts(found: object) -> bool:
    return isinstance(found, dict) and all(
        isinstance(own, dict) and all(isinstance(text, str) for text in own.values())
        for own in found.values()
    )


class RedisServer:
    """`cache.shared.SharedServer` at `url`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def cache(self, max_entries: int) -> RedisCache:
        return RedisCache(self._url, max_entries)

    def rates(self) -> SharedRates:
        return SharedRates(self._url)

    def texts(self) -> RedisTexts:
        return RedisTexts(self._url)
