"""The time that a request has, a model's time-outs and who stands by for it fit together."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from ragstone.core.clock import TIME_LIMITS, UNLIMITED, Limit, TimeLimits
from ragstone.core.errors import Busy, ModelUnavailable
from ragstone.models import calls
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import WithFallback
from ragstone.settings import LlmSettings
from tests.model_server import ModelServer, model_server
from tests.models.call_constants import settings_of
from tests.models.test_failures import SPARE, heard, text
from tests.patience import until

pytestmark = pytest.mark.slow

SECONDS = 3.0
HANGING = ("hang", "hang after headers", "hang mid-stream", "drip")
SILENT = HANGING[:2]
Make = Callable[..., ChatModel]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def spare() -> Iterator[ModelServer]:
    with model_server(says=(SPARE,)) as server:
        yield server


@pytest.fixture
async def chat(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """Makes models with the usual time-outs, and closes them."""
    made: list[ChatModel] = []

    def make(url: str, standby: bool = False, **changes: Any) -> ChatModel:
        given = settings_of(monkeypatch, changes)
        made.append(ChatModel(LlmSettings(base_url=url, model="m", **given), standby=standby))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()


def begin_request(streams: bool = False, seconds: float = SECONDS) -> Limit:
    """Be in a request that has so many seconds."""
    limit = Limit.start(seconds, "SERVER__REQUEST_SECONDS")
    limits = TimeLimits(limit, limit, False, Limit.start(600.0, "SERVER__REQUEST_SECONDS"))
    TIME_LIMITS.set(limits.for_stream() if streams else limits)
    return limit


@pytest.mark.parametrize("way", HANGING)
async def test_a_hanging_model_is_replaced_before_the_request_ends(
    way: str, server: ModelServer, spare: ModelServer, chat: Make
) -> None:
    server.way = way
    model = WithFallback(chat(server.url, standby=True), chat(spare.url))

    limit = begin_request()
    _, turn, error = await heard(model)

    assert error is None
    assert limit.remaining > 0
    assert turn is not None
    assert turn.answer is not None
    assert turn.answer.text == SPARE


@pytest.mark.parametrize("way", SILENT)
async def test_a_stream_of_a_hanging_model_begins_before_the_request_would_end(
    way: str, server: ModelServer, spare: ModelServer, chat: Make
) -> None:
    server.way = way
    model = WithFallback(chat(server.url, standby=True), chat(spare.url))

    limit = begin_request(streams=True)
    events, _, error = await heard(model)

    assert error is None
    assert limit.remaining > 0
    assert text(events) == SPARE


async def test_a_stream_that_has_begun_may_take_longer_than_a_request(
    server: ModelServer, spare: ModelServer, chat: Make
) -> None:
    server.says, server.pause = ("In ", "1871. ", "[1]"), 0.5
    model = WithFallback(chat(server.url, standby=True), chat(spare.url))

    limit = begin_request(streams=True, seconds=1.0)
    events, _, _ = await heard(model)

    assert limit.remaining < 0
    assert text(events) == "In 1871. [1]"


@pytest.mark.parametrize("way", HANGING)
async def test_without_a_fallback_the_error_names_the_settings(
    way: str, server: ModelServer, chat: Make
) -> None:
    server.way = way

    limit = begin_request()
    error = (await heard(chat(server.url)))[2]

    assert isinstance(error, ModelUnavailable)
    assert limit.remaining > 0
    assert "SERVER__REQUEST_SECONDS" in str(error)
    assert "LLM__FALLBACK=extractive" in str(error)


@pytest.mark.parametrize("way", HANGING)
async def test_the_breaker_counts_what_the_end_of_a_request_cut_off(
    way: str, server: ModelServer, spare: ModelServer, chat: Make
) -> None:
    server.way = way
    first = chat(server.url, standby=True, breaker_failures=2)
    model = WithFallback(first, chat(spare.url))

    for _ in range(2):
        begin_request()
        await heard(model)
    asked = len(server.calls)
    begin_request()
    _, turn, _ = await heard(model)

    assert first._calls.breaker.state == "open"
    assert len(server.calls) == asked
    assert turn is not None


async def test_a_model_that_was_given_little_time_has_not_failed(
    server: ModelServer, chat: Make
) -> None:
    server.delay = 1.0
    model = chat(server.url, breaker_failures=1)

    # The search took nearly all of the time.
    limit = Limit(SECONDS, time.monotonic() + 0.2, "SERVER__REQUEST_SECONDS")
    TIME_LIMITS.set(TimeLimits(limit, limit, streams=False))
    assert (await heard(model))[2]

    assert model._calls.breaker.state == "closed"


@pytest.mark.parametrize("leave_after", [0.0, 0.3])
async def test_a_caller_who_leaves_is_no_failure_of_the_model(
    leave_after: float, server: ModelServer, chat: Make
) -> None:
    server.way = "hang"
    model = chat(server.url, breaker_failures=1)

    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(heard(model), leave_after)

    assert model._calls.breaker.state == "closed"


async def test_a_call_does_not_queue_longer_than_its_request_has(
    server: ModelServer, chat: Make
) -> None:
    server.way = "hang"
    model = chat(server.url, parallel=1)
    holder = asyncio.create_task(heard(model))
    await until(lambda: bool(server.calls))

    limit = begin_request()
    error = (await heard(model))[2]

    assert isinstance(error, Busy)
    assert limit.remaining > 0
    holder.cancel()
    await asyncio.wait([holder])


async def test_a_model_that_loads_longer_than_a_request_is_waited_for_in_the_background(
    server: ModelServer, spare: ModelServer, chat: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "COLD_SECONDS", 0.3)
    server.delay = SECONDS * 2
    first = chat(server.url, standby=True, breaker_failures=1)
    model = WithFallback(first, chat(spare.url))

    begin_request()
    assert text((await heard(model))[0]) == SPARE
    assert first._calls.breaker.state == "open"
    await until(lambda: first._calls.breaker.state == "closed")
    server.delay = 0.0
    begin_request()

    assert text((await heard(model))[0]) == "In 1871. [1]"


async def test_a_server_that_says_that_it_loads_is_asked_again_until_it_has(
    server: ModelServer, chat: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "LOADING_PAUSE", 0.01)
    server.ways = ["loading"] * 20
    model = chat(server.url, breaker_failures=2, retries=0)

    TIME_LIMITS.set(UNLIMITED)

    assert text((await heard(model))[0]) == "In 1871. [1]"


async def test_a_server_that_loads_is_replaced_at_once(
    server: ModelServer, spare: ModelServer, chat: Make
) -> None:
    server.way = "loading"
    first = chat(server.url, standby=True, breaker_failures=1)
    model = WithFallback(first, chat(spare.url))

    assert text((await heard(model))[0]) == SPARE

    assert len(server.calls) == 1
    assert first._calls.breaker.state == "closed"


async def test_a_server_that_never_ends_loading_is_left_in_time(
    server: ModelServer, chat: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "LOADING_PAUSE", 0.1)
    server.way = "loading"

    limit = begin_request()
    error = (await heard(chat(server.url)))[2]

    assert "LLM__TIMEOUT" in str(error)
    assert limit.remaining > 0


@pytest.mark.parametrize("streams", [True, False])
async def test_the_end_of_a_thought_that_a_template_opened_never_leaks(
    streams: bool, server: ModelServer, chat: Make
) -> None:
    server.says = ("Hm, the light", "house.</th", "ink>\n\nIn 1871. ", "[1]")

    begin_request(streams=streams)
    _, turn, _ = await heard(chat(server.url))

    assert turn is not None
    assert turn.answer is not None
    before = "Hm, the lighthouse.\n\n" if streams else ""
    assert turn.answer.text == f"{before}In 1871. [1]"
