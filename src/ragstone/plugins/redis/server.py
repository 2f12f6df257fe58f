"""What several servers keep together in one Redis."""

from ragstone.plugins.redis.cache import RedisCache
from ragstone.plugins.redis.prompts import RedisTexts
from ragstone.plugins.redis.rates import SharedRates


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
