"""Chunks that wait for vectors, told and asked for."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest import embedding
from ragstone.ingest.embedding import BATCH, MIN_BATCH, SLOW_SECONDS, Pending, next_size

NOTES = Collection("default", "notes", "hashing", "hashing/1", 4, "en", id="c1")


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EdgeIndex]:
    made = EdgeIndex(tmp_path)
    await made.create(NOTES)
    yield made
    await made.aclose()


def chunks(first: int, last: int) -> list[Chunk]:
    return [
        Chunk(
            chunk_id=str(UUID(int=number + 1)),
            document_id="d1",
            version=1,
            chunk_index=number,
            text=f"Lamp {number}.",
            title="Lamps",
            path="/lamps.txt",
            tenant="default",
            collection="c1",
            start=0,
            end=8,
        )
        for number in range(first, last)
    ]


async def write(index: EdgeIndex, pending: Pending, some: list[Chunk]) -> None:
    with pending.mark_writing(some):
        await index.upsert(NOTES, some)


async def taken(index: EdgeIndex, pending: Pending) -> list[str]:
    """Embed until nothing waits; the ids in the order in which they were taken."""
    found: list[str] = []
    while batch := await pending.take():
        ids = [chunk.chunk_id for chunk in batch]
        assert len(ids) <= BATCH
        await index.set_vectors(NOTES, ids, np.full((len(ids), 4), 0.5, np.float32))
        pending.remove(batch)
        found += ids
    return found


@pytest.mark.parametrize("most", [8, 100, 2_048])
async def test_what_waited_before_and_what_is_written_now_is_taken_once(
    index: EdgeIndex, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(embedding, "MAX_WAITING", most)
    await index.upsert(NOTES, chunks(0, 90))
    pending = Pending(index, NOTES)
    found: list[str] = []

    async def writer() -> None:
        for first in range(90, 390, 20):
            await write(index, pending, chunks(first, first + 20))
            await asyncio.sleep(0)

    writing = asyncio.create_task(writer())
    while not writing.done():
        found += await taken(index, pending)
        await pending.wait_for_more(0.001)
    await writing
    found += await taken(index, pending)
    assert sorted(found) == sorted(chunk.chunk_id for chunk in chunks(0, 390))
    assert await index.count_without_vectors(NOTES) == 0


async def test_what_is_busy_is_not_given_again(index: EdgeIndex) -> None:
    pending = Pending(index, NOTES)
    await write(index, pending, chunks(0, 70))
    first, second = await pending.take(), await pending.take()
    assert len(first) + len(second) == 70
    assert await pending.take() == []


def test_given_a_slow_embedder_then_it_gets_fewer_at_once_and_a_fast_one_more_again() -> None:
    most = BATCH
    for _ in range(10):
        most = next_size(most, most, SLOW_SECONDS + 1)
    assert most == MIN_BATCH
    for _ in range(10):
        most = next_size(most, most, 0.1)
    assert most == BATCH
    # A call of few says nothing about one of many.
    assert next_size(16, 3, 0.1) == 16


async def test_what_could_not_be_written_leaves_the_rest(index: EdgeIndex) -> None:
    pending = Pending(index, NOTES)
    assert await pending.take() == []
    with pytest.raises(ZeroDivisionError), pending.mark_writing(chunks(0, 3)):
        raise ZeroDivisionError
    await write(index, pending, chunks(3, 5))
    assert len(await taken(index, pending)) >= 2
    assert await index.count_without_vectors(NOTES) == 0


async def test_what_others_embed_is_not_given_here_unless_it_comes_back(index: EdgeIndex) -> None:
    pending = Pending(index, NOTES)
    assert await pending.take() == []
    await write(index, pending, chunks(0, 6))
    others = [chunk.chunk_id for chunk in pending.spare(4)]
    [first, second] = [chunk.chunk_id for chunk in await pending.take()]
    assert {first, second}.isdisjoint(others)
    pending.count_written_elsewhere()
    assert await pending.take() == []
    pending.put_back(others[:2])
    assert sorted(chunk.chunk_id for chunk in await pending.take()) == sorted(others[:2])


async def leave() -> bool:
    return True


async def test_what_was_there_before_may_be_left_to_others_but_not_what_is_told(
    index: EdgeIndex,
) -> None:
    await index.upsert(NOTES, chunks(0, 90))
    pending = Pending(index, NOTES)
    await write(index, pending, chunks(90, 100))

    batch = await pending.take(leaves=leave)

    assert [chunk.chunk_index for chunk in batch] == list(range(90, 100))
    assert not await pending.take(leaves=leave)


async def test_what_another_process_wrote_of_a_job_is_not_left(index: EdgeIndex) -> None:
    pending = Pending(index, NOTES)
    await index.upsert(NOTES, chunks(0, 10))
    pending.count_written_elsewhere()

    assert len(await pending.take(leaves=leave)) == 10
