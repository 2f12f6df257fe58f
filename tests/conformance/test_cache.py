"""What every `Cache` must do. Add an adapter to `ADAPTERS` and it is held to all of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone.cache.local import LocalCache
from ragstone.core.answer import Citation, GeneratedAnswer, Verdict
from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit, Passage
from ragstone.plugins.redis.cache import RedisCache
from ragstone.ports import Cache, Kept, Vectors
from tests.redis_server import RedisServer, redis_server

MOST = 20

Opener = Callable[[Path], AbstractAsyncContextManager[Cache]]


@dataclass
class Clock:
    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", "file", "redis"])
def opener(request: pytest.FixtureRequest) -> Opener:
    """Opens a cache; again with the same folder, what was kept there is still there."""

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Cache]:
        cache: LocalCache | RedisCache
        if request.param == "redis":
            cache = RedisCache(request.getfixturevalue("redis").url, MOST)
        else:
            file = folder / "cache.sqlite" if request.param == "file" else None
            cache = LocalCache(file, MOST)
        await cache.open()
        try:
            yield cache
        finally:
            await cache.aclose()

    return opened


@pytest.fixture
async def cache(opener: Opener, tmp_path: Path) -> AsyncIterator[Cache]:
    async with opener(tmp_path) as opened:
        await opened.clear()
        yield opened


def vector(*numbers: float) -> Vectors:
    row = np.array([*numbers, *[0.0] * (8 - len(numbers))], np.float32)
    unit: Vectors = row / np.linalg.norm(row)
    return unit


def a_hit(number: int, text: str = "Text") -> Hit:
    chunk = Chunk(
        chunk_id=f"c{number}",
        document_id=f"d{number}",
        version=2,
        chunk_index=number,
        text=text,
        title="Title",
        path="/a/b.txt",
        tenant="acme",
        collection="law",
        start=0,
        end=len(text),
        page=3,
        section=("One", "Two"),
        allowed=("group:red", "*"),
        metadata={"year": 2020, "tags": ["a", "b"], "deep": {"x": None}},
    )
    return Hit(chunk, 0.5, 0.25, 3.5, None, 0.125, "high")


def an_answer(question: str) -> Kept:
    hit = a_hit(1, "Half \ud800 a character, 中文.")
    citation = Citation(1, "d1", "c1", "Title", "/a/b.txt", 3, ("One",), 0, 4, "Half", 0.5)
    return Kept(
        question,
        passages=(Passage(1, hit.chunk.text, hit),),
        answer=GeneratedAnswer("Yes [1].", (citation,), "stop", "model", 0.75),
        verdicts=(Verdict("Yes [1].", "supported", 0.9, citation),),
        seconds=1.5,
    )


async def test_what_was_kept_comes_back_exactly(cache: Cache) -> None:
    kept = an_answer("Is it so?")
    await cache.keep("s", vector(1), kept)
    [near] = await cache.near("s", vector(1), 0.9, 5)
    assert near.question == "Is it so?"
    assert near.cosine == pytest.approx(1)
    assert await cache.take("s", near) == kept


async def test_passages_come_back_exactly_and_in_order(cache: Cache) -> None:
    kept = Kept("Which?", hits=tuple(a_hit(i) for i in (3, 1, 2)))
    await cache.keep("s", vector(1), kept)
    [near] = await cache.near("s", vector(1), 0.9, 5)
    assert await cache.take("s", near) == kept


async def test_the_exact_question_needs_no_vector(cache: Cache) -> None:
    await cache.keep("s", vector(1), an_answer("Q"))
    near = await cache.exact("s", "Q")
    assert near is not None
    assert await cache.take("s", near) == an_answer("Q")
    for scope, question in (("s", "q"), ("t", "Q")):
        other = await cache.exact(scope, question)
        assert other is None or await cache.take(scope, other) is None


async def test_only_the_same_scope_is_seen(cache: Cache) -> None:
    await cache.keep("mine", vector(1), Kept("Mine?"))
    assert await cache.near("yours", vector(1), 0.0, 5) == []


async def test_the_nearest_come_first_and_the_far_not_at_all(cache: Cache) -> None:
    for name, place in (("far", (0, 1)), ("near", (1, 0.5)), ("same", (1, 0)), ("mid", (1, 1))):
        await cache.keep("s", vector(*place), Kept(name))
    found = await cache.near("s", vector(1), 0.6, 5)
    assert [near.question for near in found] == ["same", "near", "mid"]
    assert len(await cache.near("s", vector(1), 0.6, 2)) == 2


async def test_the_same_question_is_replaced(cache: Cache) -> None:
    await cache.keep("s", vector(1), Kept("Q", hits=(a_hit(1),)))
    await cache.keep("s", vector(1), Kept("Q", hits=(a_hit(2),)))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    kept = await cache.take("s", near)
    assert kept is not None
    assert kept.hits[0].chunk.chunk_id == "c2"
    assert (await cache.figures()).entries == 1


async def test_vectors_of_another_length_are_another_question(cache: Cache) -> None:
    await cache.keep("s", vector(1), Kept("Q"))
    assert await cache.near("s", np.ones(3, np.float32), 0.0, 5) == []


async def test_when_full_the_tenth_that_would_end_first_goes(cache: Cache) -> None:
    for number in range(MOST):
        await cache.keep("s", vector(1, number / 1000), Kept(f"Q{number}"))
    first = next(n for n in await cache.near("s", vector(1), 0.0, MOST) if n.question == "Q0")
    assert await cache.take("s", first) is not None
    await cache.keep("s", vector(1, 1), Kept("new"))
    found = await cache.near("s", vector(1), 0.0, MOST + 1)
    alive = {near.question for near in found if await cache.take("s", near) is not None}
    assert {"Q0", "new", "Q3"} <= alive
    assert not alive & {"Q1", "Q2"}
    assert (await cache.figures()).entries == MOST - 1


async def test_given_entries_of_different_lives_then_each_ends_by_its_own(cache: Cache) -> None:
    await cache.keep("s", vector(1), replace(an_answer("long"), ttl=60))
    await cache.keep("s", vector(1, 0.01), replace(an_answer("short"), ttl=0.2))
    await cache.keep("s", vector(1, 0.02), replace(an_answer("longer"), ttl=90))
    await asyncio.sleep(0.3)
    found = await cache.near("s", vector(1), 0.0, MOST)
    alive = {near.question for near in found if await cache.take("s", near) is not None}
    assert alive == {"long", "longer"}
    assert (await cache.figures()).entries == 2


async def test_figures_count_hits_misses_and_seconds(cache: Cache) -> None:
    await cache.keep("s", vector(1), an_answer("Q"))
    await cache.count_miss()
    [near] = await cache.near("s", vector(1), 0.9, 5)
    await cache.take("s", near)
    await cache.take("s", near)
    figures = await cache.figures()
    assert figures.available
    assert (figures.entries, figures.hits, figures.misses) == (1, 2, 1)
    assert figures.saved_seconds == pytest.approx(3.0)


async def test_given_clear_then_nothing_is_left(cache: Cache) -> None:
    await cache.keep("s", vector(1), Kept("Q"))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    assert await cache.clear() == 1
    assert await cache.near("s", vector(1), 0.9, 5) == []
    assert await cache.take("s", near) is None
    assert (await cache.figures()).entries == 0


async def test_given_rebuild_then_what_is_stored_is_still_known(
    cache: Cache, request: pytest.FixtureRequest
) -> None:
    await cache.keep("s", vector(1), Kept("Q"))
    count = await cache.rebuild()
    in_memory = "memory" in request.node.name
    assert count == (0 if in_memory else 1)
    assert len(await cache.near("s", vector(1), 0.9, 5)) == count


async def test_given_a_restart_then_what_is_stored_is_still_known(
    cache: Cache, opener: Opener, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "memory" in request.node.name:
        return
    kept = an_answer("Q \udfff?")
    await cache.keep("s", vector(1), kept)
    async with opener(tmp_path) as other:
        [near] = await other.near("s", vector(1), 0.9, 5)
        assert await other.take("s", near) == kept


async def test_many_at_once_do_not_disturb_each_other(cache: Cache) -> None:
    async def one(number: int) -> None:
        scope = f"s{number % 3}"
        await cache.keep(scope, vector(1, number), Kept(f"Q{number}"))
        for near in await cache.near(scope, vector(1, number), 0.999, 3):
            await cache.take(scope, near)

    await asyncio.gather(*(one(number) for number in range(3 * MOST)))
    assert 0 < (await cache.figures()).entries <= MOST


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=15))
async def test_whatever_is_kept_a_scope_only_ever_shows_its_own(
    cache: Cache, kept: list[tuple[int, int]]
) -> None:
    await cache.clear()
    for scope, number in kept:
        await cache.keep(f"s{scope}", vector(1, number), Kept(f"{scope}/{number}"))
    for scope in range(3):
        found = await cache.near(f"s{scope}", vector(1), -1, 100)
        assert {near.question for near in found} <= {f"{s}/{n}" for s, n in kept if s == scope}
