"""What stands round every question: places, tokens, a deadline and reach."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import pytest

from ragstone.access.asking import ASKING
from ragstone.access.interceptor import Interceptor, Limits, Slots
from ragstone.core.caller import Caller
from ragstone.core.errors import RequestTimeout, TooManyRequests, UnknownCollection
from ragstone.core.events import Done, Event, Failed
from ragstone.core.turn import Ask, Principal
from tests.fake_service import WORDS, FakeService

EVA = Caller(key="key:eva")


def limited(
    service: FakeService, slots: Slots | None = None, tokens: int = 0, seconds: float = 60
) -> FakeService:
    service.interceptor = Interceptor(Limits(slots or Slots(10, 10, 1, 0), tokens, seconds))
    return service


async def drained(events: AsyncGenerator[Event, None]) -> list[Event]:
    return [event async for event in events]


async def test_given_an_answer_then_all_its_events_pass() -> None:
    events = await drained(limited(FakeService()).ask(Ask("q")))
    assert isinstance(events[-1], Done)
    assert len([event for event in events if type(event).__name__ == "Token"]) == len(WORDS)


@pytest.mark.conforms("RAG engine v1", "Limits", "A query has at most so many seconds: 504")
async def test_given_an_answer_that_takes_too_long_then_it_fails_and_is_cancelled() -> None:
    service = limited(FakeService(), seconds=0.1)
    failed = (await drained(service.ask(Ask("silent"))))[-1]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RequestTimeout)
    assert service.closed == ["silent"]


async def test_given_a_reader_who_leaves_then_the_place_is_free_and_the_answer_closed() -> None:
    service = limited(FakeService(), Slots(1, 0, 1, 0))
    async with aclosing(service.ask(Ask("endless"))) as events:
        await anext(events)
        with pytest.raises(TooManyRequests):
            await anext(service.ask(Ask("q")))
    assert service.closed == ["endless"]
    assert [ask.question for ask in service.asked] == ["endless"]
    assert await drained(service.ask(Ask("q")))


async def test_given_tokens_a_minute_then_who_used_them_waits_and_others_do_not() -> None:
    service = limited(FakeService(), tokens=20)
    ASKING.set(EVA)
    for _ in range(2):  # Each answer takes 12.
        assert await drained(service.ask(Ask("q")))
    with pytest.raises(TooManyRequests, match="20 tokens"):
        await anext(service.ask(Ask("q")))
    with pytest.raises(TooManyRequests, match="20 tokens"):
        await service.interceptor.admit()
    ASKING.set(replace(EVA, key="key:otto"))
    await service.interceptor.admit()
    ASKING.set(Caller(key="operator", operator=True))
    for _ in range(4):
        assert await drained(service.ask(Ask("q")))


async def test_given_a_question_out_of_reach_then_there_is_no_such_collection() -> None:
    service = limited(FakeService())
    ASKING.set(replace(EVA, collections=("mine",)))
    with pytest.raises(UnknownCollection):
        await anext(service.ask(Ask("q")))
    ASKING.set(EVA)
    with pytest.raises(UnknownCollection):
        await anext(service.ask(Ask("q", Principal("other"))))
    assert not service.asked
    ASKING.set(Caller(key="operator", operator=True))
    assert await drained(service.ask(Ask("q", Principal("other"))))


async def test_given_no_limits_then_questions_are_only_measured() -> None:
    service = FakeService()
    ASKING.set(EVA)
    for _ in range(20):
        assert await drained(service.ask(Ask("q")))
    figures = service.interceptor.metrics.render().decode()
    assert 'ragstone_questions_total{finish="stop",level="standard"} 20.0' in figures
