"""What a question leaves, and what is left where one of the stores fails."""

import asyncio
import gc
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from ragstone.conversation.persist import Persist
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import StateUnavailable
from ragstone.core.turn import Ask, Principal, Recalled, Turn
from ragstone.language.late_interaction import EncodedQuestion
from tests.engine.adapters import ran
from tests.engine.samples import a_passage

TURN = Turn(
    Ask("How high?", Principal("acme", "ann"), room="r1", id="a1"),
    question="How high?",
    passages=(a_passage(1, "It is 30 m high."),),
    answer=GeneratedAnswer("It is 30 m high. [1]", model="author"),
    recalled=Recalled(answer_scope="here", encoded=EncodedQuestion(())),  # type: ignore[arg-type]
)


class Kept:
    """Every store of the tail; what is named in `broken` fails."""

    name = "author"

    def __init__(self, broken: Mapping[str, Exception]) -> None:
        self.done: set[str] = set()
        self._broken = broken

    async def _do(self, what: str) -> None:
        if what in self._broken:
            raise self._broken[what]
        self.done.add(what)

    async def append(self, *_: Any) -> None:
        await self._do("turn")

    async def save(self, *_: Any) -> None:
        await self._do("statistics")


class Cache(Kept):
    async def keep(self, *_: Any) -> None:
        await self._do("cache entry")


class Traces(Kept):
    async def keep(self, *_: Any) -> None:
        await self._do("trace")


async def persist(
    stage: Persist, turn: Turn = TURN, broken: Mapping[str, Exception] = {}
) -> set[str]:
    store, cache, traces = Kept(broken), Cache(broken), Traces(broken)
    parts = {"conversations": store, "history": store, "cache": cache, "traces": traces}
    await ran(stage, turn, answerer=store, **parts)
    return store.done | cache.done | traces.done


EVERYTHING = {"turn", "statistics", "cache entry", "trace"}


async def test_given_an_answer_then_turn_statistics_cache_entry_and_trace_are_kept() -> None:
    assert await persist(Persist()) == EVERYTHING


@pytest.mark.parametrize("part", sorted(EVERYTHING))
@pytest.mark.parametrize("error", [StateUnavailable("gone"), ZeroDivisionError()], ids=repr)
async def test_given_a_store_that_fails_then_the_others_keep_theirs_and_the_log_names_it(
    part: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert await persist(Persist(), broken={part: error}) == EVERYTHING - {part}
    assert f"The {part} of a question could not be kept" in caplog.text


async def test_given_a_search_then_it_is_no_turn_of_a_conversation() -> None:
    assert await persist(Persist(stores=False)) == {"cache entry", "trace"}


async def test_given_no_days_for_traces_then_none_is_kept() -> None:
    assert await persist(Persist(days=0)) == EVERYTHING - {"trace"}


async def test_given_a_question_that_wants_nothing_kept_then_nothing_is() -> None:
    ask = Ask("How high?", Principal("acme", "ann"), room="r1", keeps=False)
    assert await persist(Persist(), Turn(ask, question="How high?")) == set()


async def test_given_a_stop_before_its_parts_began_then_none_is_left_behind() -> None:
    task = asyncio.create_task(persist(Persist()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # A part that nobody will await warns as soon as it is collected.
    gc.collect()
