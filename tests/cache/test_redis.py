"""What only the cache in Redis does: several servers, and a Redis that is gone."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.core.errors import ConfigError
from ragstone.plugins.redis.cache import PREFIX, RedisCache
from tests.conformance.test_cache import an_answer, vector
from tests.redis_server import RedisServer, redis_server

pytestmark = pytest.mark.slow


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


def a_cache(server: RedisServer, rest: float = 0.0) -> RedisCache:
    return RedisCache(server.url, 100, rest)


@pytest.mark.conforms("RAG engine v1", "Semantic cache", "Entries in Redis")
async def test_given_two_servers_then_what_one_keeps_the_other_finds(redis: RedisServer) -> None:
    one, other = a_cache(redis), a_cache(redis)
    assert await other.near("s", vector(1), 0.9, 5) == []
    for number in range(3):
        await one.keep("s", vector(1, number / 100), an_answer(f"Q{number}"))
        found = await other.near("s", vector(1), 0.9, 5)
        assert len(found) == number + 1
        assert await other.take("s", found[-1]) is not None
    assert (await one.figures()).hits == 3
    await one.clear()
    [near, *_] = await other.near("s", vector(1), 0.9, 5)
    assert await other.take("s", near) is None
    for cache in (one, other):
        await cache.aclose()


async def test_given_its_time_is_over_then_an_entry_is_gone(redis: RedisServer) -> None:
    cache = a_cache(redis)
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=3.0))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    assert await cache.take("s", near) is not None
    time.sleep(3.1)
    assert await cache.take("s", near) is None
    assert await cache.near("s", vector(1), 0.9, 5) == []
    assert (await cache.figures()).entries == 0
    await cache.aclose()


@pytest.mark.parametrize("renews", [True, False])
async def test_given_a_hit_then_the_entrys_time_begins_anew_if_it_renews(
    redis: RedisServer, renews: bool
) -> None:
    cache = a_cache(redis)
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=1000, renews=renews))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    name = f"{PREFIX}e:{near.id}"
    await cache._redis.pexpire(name, 500_000)
    assert await cache.take("s", near) is not None
    assert (await cache._redis.pttl(name) > 500_000) == renews
    await cache.aclose()


@pytest.mark.parametrize("how", ["kill", "freeze"])
async def test_given_redis_is_lost_then_it_is_said_once_and_heals(
    redis: RedisServer, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = a_cache(redis)
    await cache.keep("s", vector(1), an_answer("Q"))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    getattr(redis, how)()
    assert await cache.take("s", near) is None
    assert await cache.near("s", vector(1), 0.9, 5) == []
    await cache.keep("s", vector(1), an_answer("Q2"))
    await cache.count_miss()
    assert not (await cache.figures()).available
    assert len([r for r in caplog.records if "does not answer" in r.message]) == 1
    redis.kill()
    redis.start()
    await cache.keep("s", vector(1), an_answer("Q3"))
    found = await cache.near("s", vector(1), 0.9, 5)
    assert "Q3" in {near.question for near in found}
    assert (await cache.figures()).available
    await cache.aclose()


async def test_given_redis_is_lost_then_it_is_left_alone_for_a_while(redis: RedisServer) -> None:
    cache = a_cache(redis, rest=60)
    redis.freeze()
    await cache.count_miss()
    started = time.monotonic()
    for _ in range(100):
        await cache.near("s", vector(1), 0.9, 5)
    assert time.monotonic() - started < 5
    await cache.aclose()


def test_given_an_address_that_is_none_then_the_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="CACHE__URL"):
        RedisCache("http://example.org", 100)
