"""One turn of a room at a time, in this process and in others; nobody keeps a room for ever."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import pytest

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import Busy, InvalidRoom, StateUnavailable
from ragstone.core.events import Done, Failed
from ragstone.core.turn import Ask, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.room_queue import RoomQueue
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters, ConversationStore, Lease

HERE = ConversationKey("t", "u", "r")
THERE = replace(HERE, room="other")


@dataclass
class Leases:
    """The leases of a store that several processes share."""

    held: dict[ConversationKey, Lease] = field(default_factory=dict)
    gone: bool = False
    shared: bool = True

    async def take(self, place: ConversationKey, holder: str, over: Lease | None) -> Lease:
        if self.gone:
            raise StateUnavailable("It is gone.")
        if over is not None and self.held.get(place) == over:
            self.held[place] = Lease(holder, over.beat + 1)
        return self.held.setdefault(place, Lease(holder, 0))

    async def beat(self, place: ConversationKey, holder: str) -> None:
        held = self.held.get(place)
        if held and held.holder == holder:
            self.held[place] = Lease(holder, held.beat + 1)

    async def release(self, place: ConversationKey, holder: str) -> None:
        if self.gone:
            raise StateUnavailable("It is gone.")
        held = self.held.get(place)
        if held and held.holder == holder:
            del self.held[place]


def a_queue(leases: Leases | None = None, **options: Any) -> RoomQueue:
    return RoomQueue(cast(ConversationStore, leases), **options)


async def hold(queue: RoomQueue, log: list[str], name: str, place: ConversationKey = HERE) -> None:
    async with queue.turn(place):
        log.append(f"{name} in")
        await asyncio.sleep(0.02)
        log.append(f"{name} out")


async def test_given_one_room_then_turns_follow_each_other_in_order() -> None:
    queue, log = a_queue(), list[str]()
    await asyncio.gather(*(hold(queue, log, str(n)) for n in range(4)))
    assert log == [f"{n} {what}" for n in range(4) for what in ("in", "out")]
    assert len(queue) == 0


async def test_given_different_rooms_then_nobody_waits() -> None:
    queue, log = a_queue(), list[str]()
    await asyncio.gather(hold(queue, log, "a"), hold(queue, log, "b", THERE))
    assert log == ["a in", "b in", "a out", "b out"]


async def test_given_a_long_turn_then_the_wait_has_an_end() -> None:
    queue = a_queue(wait=0.02)
    async with queue.turn(HERE):
        with pytest.raises(Busy, match="busy.*Wait for the answer"):
            async with queue.turn(HERE):
                pass
    async with queue.turn(HERE):
        pass
    assert len(queue) == 0


async def test_given_too_many_then_the_last_is_refused_at_once() -> None:
    queue, log = a_queue(most=1), list[str]()
    first = [asyncio.create_task(hold(queue, log, str(n))) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="too many"):
        async with queue.turn(HERE):
            pass
    await asyncio.gather(*first)
    assert len(queue) == 0


async def test_given_who_waits_leaves_then_the_next_gets_the_room() -> None:
    queue, log = a_queue(), list[str]()
    tasks = [asyncio.create_task(hold(queue, log, str(n))) for n in range(3)]
    await asyncio.sleep(0.005)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert log == ["0 in", "0 out", "2 in", "2 out"]
    assert len(queue) == 0


async def test_given_two_processes_then_turns_follow_each_other() -> None:
    leases, log = Leases(), list[str]()
    one, two = a_queue(leases), a_queue(leases)
    await asyncio.gather(hold(one, log, "one"), hold(two, log, "two"))
    assert log == ["one in", "one out", "two in", "two out"]
    assert leases.held == {}


async def test_given_a_process_that_died_then_its_room_is_taken_over() -> None:
    leases, log = Leases({HERE: Lease("dead", 5)}), list[str]()
    await hold(a_queue(leases, lease=0.1), log, "next")
    assert log == ["next in", "next out"]
    assert leases.held == {}


async def test_given_a_process_that_lives_then_its_room_is_not_taken_over() -> None:
    leases = Leases()
    one, two = a_queue(leases, beat=0.02), a_queue(leases, lease=1.0, wait=1.5)
    async with one.turn(HERE):
        with pytest.raises(Busy, match="another server"):
            async with two.turn(HERE):
                pass
    async with two.turn(HERE):
        pass


async def test_given_who_waits_for_another_process_leaves_then_nothing_stays_held() -> None:
    leases, log = Leases({HERE: Lease("other", 0)}), list[str]()
    queue = a_queue(leases)
    waiting = asyncio.create_task(hold(queue, log, "me"))
    await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert leases.held == {HERE: Lease("other", 0)}
    assert (len(queue), log) == (0, [])


async def test_given_a_store_that_is_gone_then_the_question_goes_on() -> None:
    log = list[str]()
    await hold(a_queue(Leases(gone=True)), log, "me")
    assert log == ["me in", "me out"]


class Say(Stage):
    """Answers slowly, or hangs when it is told to."""

    name: ClassVar[str] = "say"
    log: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        self.log.append(f"{turn.ask.question} asked")
        await asyncio.sleep(3600 if turn.ask.question == "hang" else 0.01)
        return Step(replace(turn, answer=GeneratedAnswer("yes")))


class Keep(Stage):
    """The tail."""

    name: ClassVar[str] = "keep"
    log: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await asyncio.sleep(0.01)
        self.log.append(f"{turn.ask.question} kept")
        return Step(turn)


def an_engine(log: list[str], **options: Any) -> Engine:
    recipe = Recipe((Say(log=log),), tail=(Keep(log=log),))
    return Engine(cast(Adapters, None), {"standard": recipe}, rooms=a_queue(**options))


async def test_given_two_questions_then_the_first_is_kept_before_the_second_is_asked() -> None:
    log: list[str] = []
    engine = an_engine(log)
    turns = await asyncio.gather(*(engine.answer(Ask(q, room="r")) for q in "ab"))
    await engine.aclose()
    assert log == ["a asked", "a kept", "b asked", "b kept"]
    assert [traced.stage for traced in turns[1].trace] == ["room", "say"]


async def test_given_no_room_then_questions_run_side_by_side() -> None:
    log: list[str] = []
    engine = an_engine(log)
    await asyncio.gather(*(engine.answer(Ask(q)) for q in "ab"))
    await engine.aclose()
    assert log == ["a asked", "b asked", "a kept", "b kept"]


async def test_given_a_client_that_leaves_then_the_room_is_free() -> None:
    log: list[str] = []
    engine = an_engine(log)
    async with aclosing(engine.events(Ask("hang", room="r"))) as events:
        async for _ in events:
            break
    await engine.answer(Ask("next", room="r"))
    await engine.aclose()
    assert log == ["hang asked", "hang kept", "next asked", "next kept"]


async def test_given_a_busy_room_then_the_question_fails_and_is_not_kept() -> None:
    log: list[str] = []
    engine = an_engine(log, wait=0.02)
    async with aclosing(engine.events(Ask("hang", room="r"))) as events:
        async for _ in events:
            break
        with pytest.raises(Busy):
            await engine.answer(Ask("next", room="r"))
    await engine.aclose()
    assert log == ["hang asked", "hang kept"]


async def test_given_a_room_id_of_ten_kilobytes_then_the_question_fails_clearly() -> None:
    log: list[str] = []
    engine = an_engine(log)
    events = [event async for event in engine.events(Ask("a", room="x" * 10_000))]
    await engine.aclose()
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, InvalidRoom)
    assert not any(isinstance(event, Done) for event in events)
    assert log == []
