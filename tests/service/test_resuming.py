"""An answer goes on while its reader is away, and is read on from where the connection broke, at
the same server or at another one of the same state."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest
from sqlalchemy import func, select

from ragstone.core.errors import InputError, ModelUnavailable, TooManyRequests, UnknownAnswer
from ragstone.core.events import Done, Event, Token
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.local import resuming
from ragstone.local.resuming import MOST_OF_ONE, KeptAnswers
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.dump import SqlDump
from ragstone.store.sql.running import SqlRunningAnswers
from ragstone.store.sql.tables import running_answers, running_parts
from tests.patience import PATIENCE, until

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


async def allow(ask: Ask, events: Sequence[Event]) -> bool:
    return True


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
    kept = KeptAnswers(model, allow)
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
    kept = KeptAnswers(model, allow, away=0.05)
    let(model, 1)
    await some(kept, 1)
    await asyncio.sleep(0.3)
    assert model.ended == ["cancelled"]
    with pytest.raises(UnknownAnswer):
        await some(kept, 1, after=1)


async def test_one_that_is_read_is_not_cancelled_because_an_earlier_reader_left() -> None:
    model = Model()
    kept = KeptAnswers(model, allow, away=0.05)
    let(model, 1)
    await some(kept, 1)
    second = asyncio.create_task(some(kept, 9, after=1))
    await asyncio.sleep(0.3)
    let(model, 4)
    assert await second == ["1 ", "2 ", "3 ", "4 ", "end"]
    await kept.aclose()


async def test_a_key_is_its_principals_and_of_one_question() -> None:
    model = Model()
    kept = KeptAnswers(model, allow)
    let(model, 1)
    await some(kept, 1)
    with pytest.raises(UnknownAnswer):
        await some(kept, 1, after=1, whose=BOB)
    assert not await kept.stop(BOB, "k")
    with pytest.raises(InputError, match="another|Another"):
        async for _ in kept.events(ask(question="Why?"), "k", 0):
            pass
    assert await kept.stop(EVA, "k")
    await asyncio.sleep(0.05)
    assert model.ended == ["cancelled"]
    await kept.aclose()


async def test_what_it_fails_with_comes_after_what_was_said() -> None:
    model = Model(words=1, fails=True)
    kept = KeptAnswers(model, allow)
    let(model, 1)
    assert await some(kept, 1) == ["0 "]
    with pytest.raises(ModelUnavailable, match="away"):
        await some(kept, 9, after=1)
    await kept.aclose()


async def test_nobody_has_too_many() -> None:
    model = Model(words=1)
    kept = KeptAnswers(model, allow)
    let(model, MOST_OF_ONE + 1)
    for number in range(MOST_OF_ONE):
        async with aclosing(kept.events(ask(), f"k{number}", 0)) as events:
            await anext(events)
    with pytest.raises(TooManyRequests):
        await some(kept, 1)
    assert await some(kept, 1, whose=BOB) == ["0 "]
    await kept.aclose()


@dataclass
class Servers:
    """Two servers of one state; each has a model of its own."""

    here: KeptAnswers
    there: KeptAnswers
    models: tuple[Model, Model]


@pytest.fixture
async def servers(state: Database) -> AsyncIterator[Servers]:
    models = (Model(), Model())
    here, there = (
        KeptAnswers(model, allow, SqlRunningAnswers(state), away=1.0) for model in models
    )
    yield Servers(here, there, models)
    await here.aclose()
    await there.aclose()


async def rows(state: Database) -> int:
    """How much of answers lies in the state."""
    tables = (running_answers, running_parts)
    counts = [select(func.count()).select_from(table) for table in tables]
    return sum([await state.read(lambda c, s=count: c.execute(s).scalar_one()) for count in counts])


async def test_another_server_goes_on_with_it_as_it_comes(servers: Servers) -> None:
    let(servers.models[0], 2)
    assert await some(servers.here, 2) == ["0 ", "1 "]
    second = asyncio.create_task(some(servers.there, 2, after=1))
    let(servers.models[0], 1)
    assert await second == ["1 ", "2 "], "while the answer goes on"
    let(servers.models[0], 2)
    assert await some(servers.there, 9, after=3) == ["3 ", "4 ", "end"]
    assert await some(servers.there, 9, after=5) == ["end"]
    assert await some(servers.there, 9, after=6) == []
    assert await some(servers.here, 9, after=4) == ["4 ", "end"]
    assert [model.begun for model in servers.models] == [1, 0]


async def test_one_that_is_read_at_another_server_goes_on_and_is_forgotten_after_it(
    servers: Servers, state: Database
) -> None:
    let(servers.models[0], 1)
    await some(servers.here, 1)
    second = asyncio.create_task(some(servers.there, 9, after=1))
    await asyncio.sleep(2.5)  # Longer than it would go on unread.
    let(servers.models[0], 4)
    assert await second == ["1 ", "2 ", "3 ", "4 ", "end"]
    assert await rows(state)
    assert servers.models[0].ended == ["done"]
    async with asyncio.timeout(PATIENCE):
        while await rows(state):
            await asyncio.sleep(0.1)
    with pytest.raises(UnknownAnswer):
        await some(servers.there, 1, after=1)


async def test_another_server_stops_it(servers: Servers) -> None:
    let(servers.models[0], 1)
    await some(servers.here, 1)
    second = asyncio.create_task(some(servers.there, 1, after=1))
    let(servers.models[0], 1)
    assert await second == ["1 "]
    assert await servers.there.stop(EVA, "k")
    assert await until(lambda: servers.models[0].ended == ["cancelled"])


async def test_at_another_server_too_nobody_else_stops_it(servers: Servers) -> None:
    let(servers.models[0], 1)
    await some(servers.here, 1)
    second = asyncio.create_task(some(servers.there, 9, after=1))
    assert not await servers.there.stop(BOB, "k")
    let(servers.models[0], 4)
    assert await second == ["1 ", "2 ", "3 ", "4 ", "end"]


async def test_another_server_stops_it_before_it_was_told_of_it(servers: Servers) -> None:
    stopping = asyncio.create_task(servers.there.stop(EVA, "k"))
    await asyncio.sleep(0.1)
    assert not stopping.done()
    let(servers.models[0], 1)
    await some(servers.here, 1)
    assert await stopping
    assert await until(lambda: servers.models[0].ended == ["cancelled"])


async def test_at_another_server_too_a_key_is_its_principals_and_of_one_question(
    servers: Servers,
) -> None:
    let(servers.models[0], 1)
    await some(servers.here, 1)
    with pytest.raises(InputError, match="Another question"):
        await anext(servers.there.events(ask(question="Why?"), "k", 1))
    with pytest.raises(UnknownAnswer):
        await some(servers.there, 1, after=1, whose=BOB)


async def test_at_another_server_too_it_fails_with_what_it_fails_with(servers: Servers) -> None:
    servers.models[0].words, servers.models[0].fails = 1, True
    let(servers.models[0], 1)
    assert await some(servers.here, 1) == ["0 "]
    with pytest.raises(ModelUnavailable, match="away"):
        await some(servers.there, 9, after=1)


async def test_at_another_server_too_it_is_for_nobody_who_may_not_read_it_any_more(
    state: Database,
) -> None:
    async def deny(ask: Ask, events: Sequence[Event]) -> bool:
        return not events

    model, running = Model(), SqlRunningAnswers(state)
    here, there = (KeptAnswers(model, may, running) for may in (allow, deny))
    let(model, 2)
    await some(here, 2)
    with pytest.raises(UnknownAnswer):
        await some(there, 1, after=1)
    await here.aclose()


async def test_a_key_that_two_servers_began_with_stays_the_firsts(servers: Servers) -> None:
    for model in servers.models:
        let(model, 5)
    assert len(await some(servers.here, 9)) == 6
    assert len(await some(servers.there, 9)) == 6
    await asyncio.sleep(2 * resuming.LOOK_SECONDS)
    assert await some(servers.here, 9, after=4) == ["4 ", "end"]
    assert await some(servers.there, 9, after=4) == ["4 ", "end"]


async def test_a_server_that_died_is_not_waited_for(
    state: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resuming, "LOST_SECONDS", 0.5)
    running = SqlRunningAnswers(state)
    name = resuming._name(EVA, "k")
    await running.enter({name: resuming.digest("How?")})
    with pytest.raises(UnknownAnswer):
        await some(KeptAnswers(Model(), allow, running), 1, after=1)


async def test_a_backup_holds_nothing_of_what_goes_on(servers: Servers, state: Database) -> None:
    let(servers.models[0], 2)
    await some(servers.here, 1)
    assert await some(servers.there, 1, after=1) == ["1 "]
    assert await rows(state)
    async with SqlDump(state, await SqlCatalog.open(state)).snapshot() as tables:
        held = {name: some async for name, some in tables if name.startswith("running")}
    assert not any(held.values())
