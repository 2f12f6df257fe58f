"""How much a credential used in the last minute, counted by all servers together in Redis."""

from collections.abc import Callable

from ragstone.access.rates import MINUTE, Allowance, LocalRates, compute_allowance
from ragstone.core.clock import state_time
from ragstone.plugins.redis.client import REST, Attempts, close_client, redis_client

PREFIX = "ragstone:rate:"
TAKE = """
local before = tonumber(redis.call('GET', KEYS[1]) or '0')
local used = tonumber(redis.call('GET', KEYS[2]) or '0')
local cost = tonumber(ARGV[1])
local wanted = math.max(cost, 1)
if cost > 0 and used + before * tonumber(ARGV[3]) + wanted <= tonumber(ARGV[2]) then
  redis.call('INCRBY', KEYS[2], cost)
  redis.call('EXPIRE', KEYS[2], 180)
end
return {before, used}
"""
"""Reads both minutes, and takes the cost if it fits, in one step."""


class SharedRates:
    """`Rates` in Redis. While it does not answer, each process counts for itself."""

    def __init__(
        self, url: str, rest: float = REST, clock: Callable[[], float] = state_time
    ) -> None:
        self._redis = redis_client(url)
        self._attempts = Attempts(url, "each server counts requests for itself", rest)
        self._alone = LocalRates(clock)
        self._clock = clock

    async def take(self, name: str, limit: int, cost: int = 1) -> Allowance:
        now = self._clock()
        minute, into = divmod(now, MINUTE)
        keys = [_name(name, int(minute) - 1), _name(name, int(minute))]
        share = 1 - into / MINUTE
        found = await self._attempts.make(
            lambda: self._redis.eval(TAKE, 2, *keys, cost, limit, share), None
        )
        if found is None:
            return await self._alone.take(name, limit, cost)
        return compute_allowance(int(found[0]), int(found[1]), limit, cost, now)

    async def add(self, name: str, cost: int) -> None:
        key = _name(name, int(self._clock() // MINUTE))

        async def try_add() -> bool:
            async with self._redis.pipeline() as pipeline:
                pipeline.incrby(key, cost)
                pipeline.expire(key, 180)
                await pipeline.execute()
            return True

        if not await self._attempts.make(try_add, False):
            await self._alone.add(name, cost)

    async def aclose(self) -> None:
        await close_client(self._redis)


def _name(name: str, minute: int) -> str:
    return f"{PREFIX}{name}:{minute}"
