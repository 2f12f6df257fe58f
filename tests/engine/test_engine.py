"""The engine: events in order, times, timeouts, cancellation, back-pressure, the tail."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, cast

import pytest

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.core.events import Done, Event, Failed, StageEnded, StageStarted, Token
from ragstone.core.turn import Ask, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.search_places import SearchPlaces
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from tests.engine.adapters import a_kit
from tests.patience import PATIENCE

NO_KIT = cast(Adapters, None)


class Say(Stage):
    """Says words one by one, and notes whether it was cancelled."""

    name: ClassVar[str] = "say"
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})
    words: tuple[str, ...] = ("a", "b")
    pause: float = 0.0
    log: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        try:
            for word in self.words:
                await emit(Token(word))
                if self.log is not None:
                    self.log.append(word)
                await asyncio.sleep(self.pause)
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        return Step(
            replace(turn, answer=GeneratedAnswer("".join(self.words))), "said", "it was asked"
        )


class Break(Stage):
    name: ClassVar[str] = "break"
    error: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await emit(Token("half"))
        raise self.error


class BreakOpen(Break):
    fails: ClassVar[Any] = "open"


class Keep(Stage):
    """The tail: keeps the turn, slowly."""

    name: ClassVar[str] = "keep"
    kept: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await asyncio.sleep(0.02)
        self.kept.append(turn)
        return Step(turn)


def an_engine(*stages: Stage, tail: tuple[Stage, ...] = (), buffer: int = 64) -> Engine:
    return Engine(NO_KIT, {"standard": Recipe(stages, tail)}, buffer)


async def everything(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def test_given_a_recipe_when_run_then_events_come_in_order_and_end_with_done() -> None:
    events = await everything(an_engine(Say()).events(Ask("q")))
    assert events[0] == StageStarted("say")
    assert events[1:3] == [Token("a"), Token("b")]
    ended = events[3]
    assert isinstance(ended, StageEnded)
    assert (ended.traced.status, ended.traced.decision, ended.traced.reason) == (
        "done",
        "said",
        "it was asked",
    )
    assert ended.traced.seconds >= 0
    done = events[4]
    assert isinstance(done, Done)
    assert done.turn.answer == GeneratedAnswer("ab")
    assert done.turn.trace == (ended.traced,)
    assert len(events) == 5


async def test_given_a_closed_stage_that_fails_then_failed_is_last_and_keeps_what_was_said() -> (
    None
):
    engine = an_engine(Break(error=ModelUnavailable("gone")), Say())
    events = await everything(engine.events(Ask("q")))
    assert not any(event == StageStarted("say") for event in events)
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.error.code == "model_unavailable"
    assert last.turn.answer == GeneratedAnswer("half", finish="error")
    assert [traced.status for traced in last.turn.trace] == ["failed"]


@pytest.mark.parametrize("error", [ModelUnavailable("gone"), ZeroDivisionError()])
async def test_given_an_open_stage_that_fails_then_the_question_goes_on(error: Exception) -> None:
    events = await everything(an_engine(BreakOpen(error=error), Say()).events(Ask("q")))
    last = events[-1]
    assert isinstance(last, Done)
    assert [traced.status for traced in last.turn.trace] == ["failed", "done"]


async def test_given_a_bug_in_a_stage_then_failed_without_its_text() -> None:
    events = await everything(an_engine(Break(error=ValueError("secret"))).events(Ask("q")))
    last = events[-1]
    assert isinstance(last, Failed)
    assert "secret" not in str(last.error)


class Lack(Say):
    """Answers no question."""

    name: ClassVar[str] = "lack"

    def require(self, turn: Turn, adapters: Adapters) -> None:
        raise ModelUnavailable("no model")


async def test_given_a_stage_that_answers_no_question_then_none_runs_before_it() -> None:
    [failed] = await everything(an_engine(Say(), Lack()).events(Ask("q")))
    assert isinstance(failed, Failed)
    assert failed.error.message == "no model"


async def test_given_a_stage_that_hangs_then_it_ends_at_its_timeout() -> None:
    log: list[str] = []
    slow = Say(pause=9, timeout=0.05, log=log)
    last = (await everything(an_engine(slow).events(Ask("q"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.code == "timeout"
    assert last.turn.trace[0].status == "timeout"
    assert log == ["a", "cancelled"]


async def test_given_a_reader_who_leaves_then_work_is_cancelled_and_the_tail_still_runs() -> None:
    log: list[str] = []
    kept: list[Turn] = []
    engine = an_engine(Say(pause=9, log=log), tail=(Keep(kept=kept),))
    async with aclosing(engine.events(Ask("q"))) as events:
        async for event in events:
            if isinstance(event, Token):
                break
    assert log[-1] == "cancelled"
    await engine.aclose()
    assert [turn.answer for turn in kept] == [GeneratedAnswer("a", finish="cancelled")]


async def test_given_the_readers_task_is_cancelled_then_the_tail_still_runs() -> None:
    kept: list[Turn] = []
    engine = an_engine(Say(pause=9, log=[]), tail=(Keep(kept=kept),))
    reader = asyncio.create_task(everything(engine.events(Ask("q"))))
    await asyncio.sleep(0.02)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await engine.aclose()
    assert len(kept) == 1


async def test_given_a_slow_reader_then_the_stage_waits() -> None:
    log: list[str] = []
    engine = an_engine(Say(words=tuple("abcdefghij"), log=log), buffer=2)
    async with aclosing(engine.events(Ask("q"))) as events:
        await anext(events)
        await asyncio.sleep(0.05)
        assert len(log) <= 3
        rest = [event async for event in events]
    assert isinstance(rest[-1], Done)


async def test_given_a_turn_that_is_kept_once_then_it_comes_when_it_is_kept() -> None:
    ask, kept = Ask("q", idempotent=True), list[Turn]()
    turn = await an_engine(Say(), tail=(Keep(kept=kept),)).answer(ask)
    assert [item.answer for item in kept] == [turn.answer]
    with pytest.raises(ModelUnavailable):
        broken = an_engine(Break(error=ModelUnavailable("x")), tail=(Keep(kept=kept),))
        await broken.answer(ask)
    assert len(kept) == 2


@pytest.mark.parametrize("once", [True, False])
async def test_given_a_turn_that_is_cut_off_then_it_is_kept_unless_it_is_repeated(
    once: bool,
) -> None:
    kept: list[Turn] = []
    engine = an_engine(Say(pause=9, log=[]), tail=(Keep(kept=kept),))
    asked = asyncio.create_task(engine.answer(Ask("q", idempotent=once)))
    await asyncio.sleep(0.02)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await engine.aclose()
    assert [turn.ask.keeps for turn in kept] == [not once]


async def test_given_a_failing_tail_then_the_answer_is_unharmed() -> None:
    engine = an_engine(Say(), tail=(Break(error=ValueError("x")),))
    events = await everything(engine.events(Ask("q")))
    await engine.aclose()
    assert isinstance(events[-1], Done)


class Meet(Stage):
    """A part of the tail that waits for the others."""

    name: ClassVar[str] = "meet"
    barrier: Any = None
    seen: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await self.barrier.wait()
        self.seen.append(turn)
        return Step(turn)


async def test_given_a_tail_of_several_stages_then_they_run_at_once_on_the_turn_as_it_ended() -> (
    None
):
    seen: list[Turn] = []
    meet = Meet(barrier=asyncio.Barrier(2), seen=seen)
    engine = an_engine(Say(), tail=(meet, Break(error=ModelUnavailable("x")), meet))
    turn = await engine.answer(Ask("q"))
    await engine.aclose()
    assert seen == [turn, turn]


async def test_given_an_answer_that_has_ended_then_it_goes_out_before_the_tail_begins() -> None:
    log: list[str] = []
    engine = an_engine(Say(), tail=(Say(log=log),))
    await engine.answer(Ask("q"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert log == []
    await engine.aclose()
    assert log == ["a", "b"]


class NeedsHits(Say):
    name: ClassVar[str] = "needs"
    needs: ClassVar[frozenset[str]] = frozenset({"hits"})


def test_given_stages_in_a_wrong_order_then_the_recipe_is_refused_at_start_up() -> None:
    with pytest.raises(ConfigError, match="'needs' needs hits"):
        Recipe((Say(), NeedsHits()))


async def test_given_a_hundred_questions_at_once_then_none_mixes_with_another() -> None:
    engine = an_engine(Say(pause=0.001))
    asked = [Ask(str(i)) for i in range(100)]
    streams = await asyncio.gather(*(everything(engine.events(ask)) for ask in asked))
    assert [cast(Done, events[-1]).turn.ask for events in streams] == asked


class Seek(Stage):
    """Counts how many questions search at once."""

    name: ClassVar[str] = "seek"
    searches: ClassVar[bool] = True
    running: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        self.running.append(self.running[-1] + 1)
        await asyncio.sleep(0.01)
        self.running.append(self.running[-1] - 1)
        return Step(turn)


async def test_given_many_questions_then_only_so_many_search_at_a_time() -> None:
    running = [0]
    recipe = Recipe((Seek(running=running), Seek(running=running), Say()), ())
    engine = Engine(a_kit(searching=asyncio.Semaphore(3)), {"standard": recipe})
    turns = await asyncio.gather(*(engine.answer(Ask("q")) for _ in range(12)))
    assert max(running) == 3
    assert all(turn.answer == GeneratedAnswer("ab") for turn in turns)


class Hang(Stage):
    """Searches until it may go on."""

    name: ClassVar[str] = "hang"
    searches: ClassVar[bool] = True
    until: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await self.until.wait()
        return Step(turn)


async def test_given_searches_that_hang_then_others_go_on_and_the_bound_holds_after() -> None:
    until, running = asyncio.Event(), [0]
    places = SearchPlaces(2, slow=0.05)
    hanging = Engine(a_kit(searching=places), {"standard": Recipe((Hang(until=until),), ())})
    engine = Engine(a_kit(searching=places), {"standard": Recipe((Seek(running=running),), ())})
    hung = [asyncio.create_task(hanging.answer(Ask("q"))) for _ in range(4)]
    async with asyncio.timeout(PATIENCE):
        await engine.answer(Ask("q"))
        assert not any(task.done() for task in hung)
        until.set()
        await asyncio.gather(*hung)
        await asyncio.gather(*(engine.answer(Ask("q")) for _ in range(12)))
    assert max(running) == 2


async def test_given_a_reader_who_leaves_while_searching_then_the_next_may_search() -> None:
    running = [0]
    recipe = Recipe((Seek(running=running),), ())
    engine = Engine(a_kit(searching=asyncio.Semaphore(1)), {"standard": recipe})
    async with aclosing(engine.events(Ask("q"))) as events:
        await anext(events)
    async with asyncio.timeout(PATIENCE):
        await engine.answer(Ask("q"))


class Leave(Stage):
    """Has the whole answer already."""

    name: ClassVar[str] = "leave"

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        return Step(replace(turn, answer=GeneratedAnswer("known")), "answered", leaves=True)


async def test_given_a_stage_that_leaves_then_only_the_tail_still_runs() -> None:
    kept: list[Turn] = []
    engine = an_engine(Leave(), Say(), tail=(Keep(kept=kept),))
    turn = await engine.answer(Ask("q"))
    await engine.aclose()
    assert turn.answer == GeneratedAnswer("known")
    assert [traced.stage for traced in turn.trace] == ["leave"]
    assert [item.answer for item in kept] == [GeneratedAnswer("known")]


class Hold(Stage):
    """Makes an answer that waits to be checked."""

    name: ClassVar[str] = "hold"
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        return Step(replace(turn, answer=GeneratedAnswer("unchecked", held=True)))


async def test_given_a_held_answer_and_a_failure_then_its_text_stays_inside() -> None:
    kept: list[Any] = []
    recipe = Recipe((Hold(), Break(error=ModelUnavailable("It is down."))), (Keep(kept=kept),))
    engine = Engine(NO_KIT, {"standard": recipe})
    events = [event async for event in engine.events(Ask("q"))]
    await engine.aclose()
    assert isinstance(events[-1], Failed)
    assert events[-1].turn.answer is not None
    assert "unchecked" not in repr(events)
    assert events[-1].turn.answer.text == "half"
