"""The cache of several servers, in Redis.

Each scope has a stream of its questions and their vectors; every server reads what is new of it
before it compares, so that the comparison itself is in memory. What is known of a question is a
key of its own that ends by itself. A set of all entries by their end tells which are too many.

    {PREFIX}s:<scope>   stream   id, question, vector of every entry made
    {PREFIX}e:<id>      string   what is kept, with the time to live
    {PREFIX}all         set      ids by the time at which they end
    {PREFIX}figures     hash     hits, misses, saved seconds
"""

from collections.abc import Callable

import numpy as np

from ragstone.cache.codec import FORMAT, entry_id, pack, unpack
from ragstone.cache.vector_matrix import VectorMatrix
from ragstone.core.clock import state_time
from ragstone.plugins.redis.client import REST, Attempts, close_client, redis_client
from ragstone.ports import CacheFigures, Kept, Near, Vectors

PREFIX = f"ragstone:cache:{FORMAT}:"
IN_ONE_READ = 1000
STREAMS_KEPT = 2
"""How many times the life of an entry a scope without new ones is kept."""

ROOM = 2
"""Places in a stream for one entry: those that were made anew or have ended are in it too."""

OLDEST = """
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[1]) then return {} end
return redis.call('ZPOPMIN', KEYS[1], ARGV[2])
"""
"""Takes the tenth that would end first out of the set if there are too many, in one step,
so that servers that keep something at the same time do not each take it."""

SCOPES = 1000
"""Scopes whose vectors this process holds; the one read first goes."""


class RedisCache:
    """`ports.Cache` in Redis; see `cache.local.LocalCache` for `max_entries`."""

    def __init__(
        self,
        url: str,
        max_entries: int,
        rest: float = REST,
        clock: Callable[[], float] = state_time,
    ) -> None:
        self._redis = redis_client(url)
        self._attempts = Attempts(url, "questions go on without the cache", rest)
        self._max = max_entries
        self._clock = clock
        self._shelves: dict[str, tuple[VectorMatrix, str]] = {}

    async def open(self) -> None:
        """Say at once if Redis does not answer; the server starts all the same."""
        await self._attempts.make(self._redis.ping, None)

    async def near(self, scope: str, vector: Vectors, least: float, limit: int) -> list[Near]:
        await self._attempts.make(lambda: self._refresh(scope, len(vector)), None)
        if not self._attempts.is_answering or scope not in self._shelves:
            return []
        return self._shelves[scope][0].near(vector, least, limit)

    async def exact(self, scope: str, question: str) -> Near | None:
        return Near(entry_id(scope, question), question, 1.0)

    async def take(self, scope: str, entry: Near) -> Kept | None:
        name = f"{PREFIX}e:{entry.id}"
        content = await self._attempts.make(lambda: self._redis.get(name), None)
        kept = unpack(content) if content else None
        if kept is None:
            if self._attempts.is_answering and scope in self._shelves:
                self._shelves[scope][0].remove(entry.id)
            return None
        await self._attempts.make(lambda: self._record_hit(scope, entry.id, kept), None)
        return kept

    async def count_miss(self) -> None:
        await self._attempts.make(
            lambda: self._redis.hincrby(f"{PREFIX}figures", "misses", 1), None
        )

    async def keep(self, scope: str, vector: Vectors, kept: Kept) -> None:
        await self._attempts.make(lambda: self._store_entry(scope, vector, kept), None)

    async def figures(self) -> CacheFigures:
        figures = await self._attempts.make(self._figures, None)
        return figures or CacheFigures(self._attempts.where, shared=True)

    async def clear(self) -> int:
        self._shelves.clear()
        return await self._attempts.make(self._clear, 0)

    async def rebuild(self) -> int:
        self._shelves.clear()
        return (await self.figures()).entries

    def resize(self, max_entries: int) -> None:
        """Change the limit; a write removes the surplus."""
        self._max = max_entries

    async def aclose(self) -> None:
        await close_client(self._redis)

    async def _refresh(self, scope: str, dimensions: int) -> None:
        """Read what the scope's stream has that is not known here."""
        shelf, last = self._shelves.get(scope) or (VectorMatrix(dimensions), "-")
        while True:
            start = last if last == "-" else f"({last}"
            records = await self._redis.xrange(f"{PREFIX}s:{scope}", start, "+", count=IN_ONE_READ)
            for number, record in records:
                last = number.decode()
                vector = np.frombuffer(record[b"v"], "<f4")
                if len(vector) == shelf.dimensions:
                    question = record[b"q"].decode("utf-8", "surrogatepass")
                    shelf.add(record[b"i"].decode(), question, vector)
            if len(records) < IN_ONE_READ:
                break
        while len(shelf) > ROOM * self._max:
            shelf.remove(shelf.oldest())
        if len(shelf):
            self._shelves[scope] = (shelf, last)
        while len(self._shelves) > SCOPES:
            del self._shelves[next(iter(self._shelves))]

    async def _record_hit(self, scope: str, id: str, kept: Kept) -> None:
        async with self._redis.pipeline(transaction=False) as pipe:
            if kept.renews:
                pipe.pexpire(f"{PREFIX}e:{id}", _milliseconds(kept))
                pipe.zadd(f"{PREFIX}all", {id: self._clock() + kept.ttl}, xx=True)
                pipe.pexpire(f"{PREFIX}s:{scope}", STREAMS_KEPT * _milliseconds(kept), gt=True)
            pipe.hincrby(f"{PREFIX}figures", "hits", 1)
            pipe.hincrbyfloat(f"{PREFIX}figures", "saved_seconds", kept.seconds)
            await pipe.execute()

    async def _store_entry(self, scope: str, vector: Vectors, kept: Kept) -> None:
        id, now = entry_id(scope, kept.question), self._clock()
        stream, every = f"{PREFIX}s:{scope}", f"{PREFIX}all"
        question = kept.question.encode("utf-8", "surrogatepass")
        record = {"i": id, "q": question, "v": np.asarray(vector, "<f4").tobytes()}
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.set(f"{PREFIX}e:{id}", pack(kept), px=_milliseconds(kept))
            pipe.xadd(stream, record, maxlen=ROOM * self._max, approximate=True)
            pipe.pexpire(stream, STREAMS_KEPT * _milliseconds(kept), nx=True)
            pipe.pexpire(stream, STREAMS_KEPT * _milliseconds(kept), gt=True)
            pipe.zremrangebyscore(every, "-inf", now)
            pipe.zadd(every, {id: now + kept.ttl})
            pipe.eval(OLDEST, 1, every, self._max, max(1, self._max // 10))
            gone = (await pipe.execute())[-1]
        if gone:
            await self._redis.unlink(*(f"{PREFIX}e:{item.decode()}" for item in gone[::2]))

    async def _figures(self) -> CacheFigures:
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcount(f"{PREFIX}all", f"({self._clock()}", "+inf")
            pipe.hgetall(f"{PREFIX}figures")
            entries, counts = await pipe.execute()
        return CacheFigures(
            self._attempts.where,
            True,
            int(entries),
            int(counts.get(b"hits", 0)),
            int(counts.get(b"misses", 0)),
            float(counts.get(b"saved_seconds", 0)),
            shared=True,
        )

    async def _clear(self) -> int:
        figures = await self._figures()
        keys = [item async for item in self._redis.scan_iter(f"{PREFIX}*", count=IN_ONE_READ)]
        for start in range(0, len(keys), IN_ONE_READ):
            await self._redis.unlink(*keys[start : start + IN_ONE_READ])
        return figures.entries


def _milliseconds(kept: Kept) -> int:
    """Tell how long an entry lives from now on."""
    return max(1, int(kept.ttl * 1000))
