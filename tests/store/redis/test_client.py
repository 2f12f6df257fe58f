"""A Redis that may be away: when it is tried, and what the log says."""

import asyncio
import logging
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError, ResponseError, TimeoutError

from ragstone.core.errors import ConfigError
from ragstone.plugins.redis.client import Attempts, close_client, redis_client
from tests.redis_server import redis_server


class Redis:
    """Answers, or fails with `error`; counts how often it was asked, and knows the time."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked = 0
        self.now = 1000.0

    async def work(self) -> str:
        self.asked += 1
        if self.error:
            raise self.error
        return "done"


@pytest.fixture
def redis() -> Redis:
    return Redis()


@pytest.fixture
def attempts(redis: Redis, caplog: pytest.LogCaptureFixture) -> Attempts:
    caplog.set_level(logging.INFO, "ragstone.plugins.redis.client")
    url = "redis://user:secret@host:1/0"
    return Attempts(url, "it rains", rest=5, clock=lambda: redis.now)


async def test_given_answers_then_they_are_returned_and_nothing_is_said(
    redis: Redis, attempts: Attempts, caplog: pytest.LogCaptureFixture
) -> None:
    assert attempts.is_answering
    assert [await attempts.make(redis.work, "") for _ in range(3)] == ["done"] * 3
    assert attempts.is_answering
    assert caplog.messages == []


@pytest.mark.parametrize(
    "error", [ConnectionError("x"), TimeoutError("x"), ResponseError("x"), OSError("x")]
)
async def test_given_silence_then_it_rests_and_is_tried_once_after_each_rest(
    redis: Redis, attempts: Attempts, error: Exception
) -> None:
    redis.error = error
    for number in range(1, 4):
        assert [await attempts.make(redis.work, "else") for _ in range(5)] == ["else"] * 5
        assert redis.asked == number
        assert not attempts.is_answering
        redis.now += 4.9
        assert await attempts.make(redis.work, "else") == "else"
        assert redis.asked == number
        redis.now += 0.2


async def test_given_silence_and_answers_then_each_change_is_said_once_without_the_password(
    redis: Redis, attempts: Attempts, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        redis.error = ConnectionError("refused")
        for _ in range(3):
            await attempts.make(redis.work, "")
            redis.now += 5
        redis.error = None
        for _ in range(3):
            assert await attempts.make(redis.work, "") == "done"
        assert attempts.is_answering
    lost = "Redis at host:1/0 does not answer; it rains: refused"
    assert caplog.messages == [lost, "Redis at host:1/0 answers again."] * 2
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"] * 2


async def test_given_an_attempt_after_the_rest_then_nobody_else_waits_for_silence(
    redis: Redis, attempts: Attempts
) -> None:
    redis.error = ConnectionError("x")
    await attempts.make(redis.work, "")
    redis.now += 5
    began, answer = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        began.set()
        await answer.wait()
        return "late"

    trying = asyncio.create_task(attempts.make(slow, ""))
    await began.wait()
    redis.error = None
    assert await attempts.make(redis.work, "else") == "else"
    answer.set()
    assert await trying == "late"
    assert await attempts.make(redis.work, "else") == "done"


async def test_given_an_attempt_whose_user_left_then_there_is_another_after_the_rest(
    redis: Redis, attempts: Attempts
) -> None:
    redis.error = ConnectionError("x")
    await attempts.make(redis.work, "")
    redis.now += 5
    began = asyncio.Event()

    async def endless() -> str:
        began.set()
        await asyncio.Event().wait()
        return ""

    trying = asyncio.create_task(attempts.make(endless, ""))
    await began.wait()
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    redis.error = None
    assert await attempts.make(redis.work, "else") == "else"
    redis.now += 5
    assert await attempts.make(redis.work, "else") == "done"


async def test_given_a_mistake_of_the_program_then_it_is_not_taken_for_silence(
    redis: Redis, attempts: Attempts
) -> None:
    redis.error = KeyError("x")
    with pytest.raises(KeyError):
        await attempts.make(redis.work, "")
    assert attempts.is_answering


async def test_given_a_real_redis_that_goes_and_returns_then_so_do_its_answers(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path) as server:
        client = redis_client(server.url)
        attempts = Attempts(server.url, "", rest=0)
        assert await attempts.make(client.ping, False)
        for lose in (server.freeze, server.kill):
            lose()
            assert not await attempts.make(client.ping, False)
            server.kill()
            server.start()
            assert await attempts.make(client.ping, False)
        server.freeze()
        await close_client(client)


def test_given_an_address_that_is_none_then_the_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="CACHE__URL"):
        redis_client("http://example.org")
