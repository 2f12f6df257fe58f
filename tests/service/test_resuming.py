"""An answer goes on while its reader is away, and is read on from where the connection broke."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from ragstone.core.errors import InputError, ModelUnavailable, TooManyRequests, UnknownAnswer
from ragstone.core.events import Done, Event, Token
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.service.local.resuming import MOST_OF_ONE, KeptAnswers

EVA, BOB = Principal(user="eva"), Principal(user="bob")


@dataclass
class Model:
    """Says a word whenever it may."""

    words: int = 5
    begun: int = 0
    ended: list[str] = field(default_factory=list)
    may: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    fails: bool = False

    async def __call__(self, ask: Ask) -> AsyncGenerator[Event, None]:
        self.begun += 1
        try:
            for number in range(self.words):
                await self.may.acquire()
                yield Token(f"{number} ")
            if self.fails:
                raise ModelUnavailable("It is away.")
            yield Done(Turn(ask))
            self.ended.append("done")
        except (asyncio.CancelledError, GeneratorExit):
            self.ended.append("cancelled")
            raise


def ask(whose: Principal = EVA, question: str = "How?") -> Ask:
    return Ask(question, principal=whose)


def let(model: Model, words: int) -> None:
    for _ in range(words):
        model.may.release()


async def some(kept: KeptAnswers, count: int, after: int = 0, whose: Principal = EVA) -> list[str]:
    """The texts of the next events; then the reader leaves."""
    found: list[str] = []
    async with aclosing(kept.events(ask(whose), "k", after)) as events:
        async for event in events:
            found.append(event.text if isinstance(event, Token) else "end")
            if len(found) == count:
                break
    return found


async def test_what_follows_a_broken_connection_is_neither_lost_nor_repeated() -> None:
    model = Model()
    kept = KeptAnswers(model)
    let(model, 2)
    assert await some(kept, 2) == ["0 ", "1 "]
    let(model, 3)
    await asyncio.sleep(0.05)
    assert model.ended == ["done"], "it went on meanwhile"
    assert await some(kept, 9, after=2) == ["2 ", "3 ", "4 ", "end"]
    assert await some(kept, 9, after=6) == []
    assert model.begun == 1
    await kept.aclose()


async def test_an_answer_that_nobody_comes_back_to_is_cancelled_and_forgotten() -> None:
    model = Model()
    kept = KeptAnswers(model, away=0.05)
    let(model, 1)
    await some(kept, 1)
    await asyncio.sleep(0.3)
    assert model.ended == ["cancelled"]
    with pytest.raises(UnknownAnswer):
        await some(kept, 1, after=1)


async def test_one_that_is_read_is_not_cancelled_because_an_earlier_reader_left() -> None:
    model = Model()
    kept = KeptAnswers(model, away=0.05)
    let(model, 1)
    await some(kept, 1)
    second = asyncio.create_task(some(kept, 9, after=1))
    await asyncio.sleep(0.3)
    let(model, 4)
    assert await second == ["1 ", "2 ", "3 ", "4 ", "end"]
    await kept.aclose()


async def test_a_key_is_its_principals_and_of_one_question() -> None:
    model = Model()
    kept = KeptAnswers(model)
    let(model, 1)
    await some(kept, 1)
    with pytest.raises(UnknownAnswer):
        await some(kept, 1, after=1, whose=BOB)
    assert not kept.stop(BOB, "k")
    with pytest.raises(InputError, match="another|Another"):
        async for _ in kept.events(ask(question="Why?"), "k", 0):
            pass
    assert kept.stop(EVA, "k")
    await asyncio.sleep(0.05)
    assert model.ended == ["cancelled"]
    await kept.aclose()


async def test_what_it_fails_with_comes_after_what_was_said() -> None:
    model = Model(words=1, fails=True)
    kept = KeptAnswers(model)
    let(model, 1)
    assert await some(kept, 1) == ["0 "]
    with pytest.raises(ModelUnavailable, match="away"):
        await some(kept, 9, after=1)
    await kept.aclose()


async def test_nobody_has_too_many() -> None:
    model = Model(words=1)
    kept = KeptAnswers(model)
    let(model, MOST_OF_ONE + 1)
    for number in range(MOST_OF_ONE):
        async with aclosing(kept.events(ask(), f"k{number}", 0)) as events:
            await anext(events)
    with pytest.raises(TooManyRequests):
        await some(kept, 1)
    assert await some(kept, 1, whose=BOB) == ["0 "]
    await kept.aclose()
