"""Places for questions, and a service whose questions take them."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import cast

import pytest

from ragstone.access.asking import ASKING
from ragstone.access.limited import Limited
from ragstone.access.rates import LocalRates
from ragstone.access.slots import Slots
from ragstone.core.caller import Caller
from ragstone.core.errors import RequestTimeout, TooManyRequests
from ragstone.core.events import Done, Failed
from ragstone.core.turn import Ask
from ragstone.service import Service
from tests.fake_service import WORDS, FakeService

EVA = Caller(key="key:eva")


def limited(
    service: FakeService, slots: Slots | None = None, tokens: int = 0, seconds: float = 60
) -> Limited:
    slots = slots or Slots(10, 10, 1, 0)
    return Limited(cast(Service, service), slots, LocalRates(), tokens, seconds)


async def hold(slots: Slots, key: str, until: asyncio.Event) -> None:
    async with slots.place(key):
        await until.wait()


async def test_given_no_free_place_then_some_wait_and_the_next_is_sent_away() -> None:
    slots, until = Slots(2, 1, 5, 0), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "", until)) for _ in range(3)]
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests) as caught:
        await hold(slots, "", until)
    assert caught.value.retry_after
    until.set()
    await asyncio.gather(*running)
    await hold(slots, "", until)


async def test_given_a_long_wait_then_it_ends_with_429_and_no_place_is_lost() -> None:
    slots, until = Slots(1, 5, 0.05, 0), asyncio.Event()
    running = asyncio.create_task(hold(slots, "", until))
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests):
        await hold(slots, "", until)
    until.set()
    await running
    for _ in range(5):
        await hold(slots, "", until)


async def test_given_one_credential_with_many_questions_then_others_still_get_in() -> None:
    slots, until = Slots(10, 10, 1, 2), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "a", until)) for _ in range(2)]
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests, match="2 questions"):
        await hold(slots, "a", until)
    others = [asyncio.create_task(hold(slots, key, until)) for key in ("b", "", "", "")]
    await asyncio.sleep(0.01)
    until.set()
    await asyncio.gather(*running, *others)
    await hold(slots, "a", until)


async def test_given_waiting_questions_that_are_cancelled_then_no_place_is_lost() -> None:
    slots, until = Slots(1, 50, 5, 0), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "a", until)) for _ in range(20)]
    await asyncio.sleep(0.01)
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    until.set()
    await hold(slots, "a", until)


async def test_given_an_answer_then_all_its_events_pass() -> None:
    events = [event async for event in limited(FakeService()).ask(Ask("q"))]
    assert isinstance(events[-1], Done)
    assert len([event for event in events if type(event).__name__ == "Token"]) == len(WORDS)


async def test_given_an_answer_that_takes_too_long_then_it_fails_and_is_cancelled() -> None:
    service = FakeService()
    events = [event async for event in limited(service, seconds=0.1).ask(Ask("silent"))]
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RequestTimeout)
    assert service.closed == ["silent"]


async def test_given_a_reader_who_leaves_then_the_place_is_free_and_the_service_closed() -> None:
    service = FakeService()
    guarded = limited(service, Slots(1, 0, 1, 0))
    async with aclosing(guarded.ask(Ask("endless"))) as events:
        await anext(events)
        with pytest.raises(TooManyRequests):
            await guarded.search(Ask("q"))
    assert service.closed == ["endless"]
    assert await guarded.search(Ask("q"))


async def test_given_tokens_a_minute_then_who_used_them_waits_and_others_do_not() -> None:
    guarded = limited(FakeService(), tokens=20)
    ASKING.set(EVA)
    for _ in range(2):  # Each answer takes 12.
        assert [event async for event in guarded.ask(Ask("q"))]
    with pytest.raises(TooManyRequests, match="20 tokens"):
        await anext(guarded.ask(Ask("q")))
    ASKING.set(replace(EVA, key="key:otto"))
    assert await guarded.search(Ask("q"))
    ASKING.set(Caller(key="operator", operator=True))
    for _ in range(4):
        assert [event async for event in guarded.ask(Ask("q"))]


async def test_given_anything_else_then_it_is_the_services() -> None:
    service = FakeService()
    assert limited(service).keys is service.keys
    assert (await limited(service).overview()).version == "0.1"
