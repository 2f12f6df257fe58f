"""Requests a minute: counted exactly, by one process and by several over a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from ragstone.access.rates import LocalRates, Rates
from ragstone.core.errors import ConfigError
from ragstone.plugins.redis.rates import SharedRates
from tests.redis_server import RedisServer, redis_server


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_020.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["local", "redis"])
async def rates(
    request: pytest.FixtureRequest, clock: Clock, redis: RedisServer
) -> AsyncIterator[Rates]:
    rates: Rates = LocalRates(clock)
    if request.param == "redis":
        rates = SharedRates(redis.url, "", clock=clock)
    yield rates
    await rates.aclose()


async def test_given_a_limit_then_so_many_pass_in_a_minute(
    rates: Rates, clock: Clock, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    taken = [await rates.take(name, 5) for _ in range(7)]
    assert [item.remaining for item in taken] == [4, 3, 2, 1, 0, 0, 0]
    assert [bool(item.wait) for item in taken] == [False] * 5 + [True] * 2
    assert not (await rates.take(name + "another", 5)).wait
    clock.now += taken[-1].wait + 0.01
    assert not (await rates.take(name, 5)).wait
    assert (await rates.take(name, 5)).wait
    clock.now += 200
    assert (await rates.take(name, 5)).remaining == 4


async def test_given_more_was_used_than_the_limit_then_the_next_waits_for_it(
    rates: Rates, clock: Clock, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    assert not (await rates.take(name, 100, 0)).wait
    await rates.add(name, 1000)
    wait = (await rates.take(name, 100, 0)).wait
    assert 40 < wait <= 120
    clock.now += wait + 0.01
    assert not (await rates.take(name, 100, 0)).wait


@with_settings(max_examples=100)
@given(st.integers(1, 20), st.lists(st.tuples(st.floats(0, 30), st.integers(1, 3)), max_size=60))
def test_given_any_requests_then_never_twice_the_limit_in_a_minute_and_waiting_helps(
    limit: int, requests: list[tuple[float, int]]
) -> None:
    async def run() -> None:
        clock = Clock()
        rates = LocalRates(clock)
        passed: list[tuple[float, int]] = []
        for pause, cost in requests:
            clock.now += pause
            allowance = await rates.take("a", limit, cost)
            assert 0 <= allowance.remaining <= limit
            if not allowance.wait:
                passed.append((clock.now, cost))
            elif cost <= limit:
                clock.now += allowance.wait + 0.001
                assert not (await rates.take("a", limit, cost)).wait
                passed.append((clock.now, cost))
        for at, _ in passed:
            assert sum(cost for when, cost in passed if at - 60 < when <= at) < 2 * limit + 1

    asyncio.run(run())


async def test_given_two_servers_on_one_redis_then_they_count_together(
    redis: RedisServer, clock: Clock
) -> None:
    one, other = (SharedRates(redis.url, "", clock=clock) for _ in range(2))
    taken = await asyncio.gather(
        *(server.take("both", 10) for server in (one, other) for _ in range(10))
    )
    assert sum(not allowance.wait for allowance in taken) == 10
    await one.aclose()
    await other.aclose()


async def test_given_a_lost_redis_then_each_counts_for_itself_and_says_so_once(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as server:
        rates = SharedRates(server.url, rest=0, clock=clock)
        assert (await rates.take("a", 3)).remaining == 2
        server.kill()
        assert [bool((await rates.take("a", 3)).wait) for _ in range(4)] == [False] * 3 + [True]
        await rates.add("a", 1)
        assert len(caplog.records) == 1
        server.start()
        clock.now += 6
        assert (await rates.take("a", 3)).remaining == 2
        server.freeze()
        clock.now += 6
        loop = asyncio.get_running_loop()
        started = loop.time()
        await rates.take("b", 3)
        assert loop.time() - started < 2
        await rates.aclose()


def test_given_no_address_of_a_redis_then_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="CACHE__URL"):
        SharedRates("http://127.0.0.1:1", "")
