"""Several collections move at a time, and the next batch is read while one is written."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import EVERYTHING, Filter
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.migrate import AT_ONCE, BATCH, migrate_all
from ragstone.ports import Vectors
from tests.conformance.test_chunk_index import a_chunk, a_collection
from tests.patience import PATIENCE, until


class Source(EdgeIndex):
    """Counts the batches that were read."""

    read = 0

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        async for chunks in super().scan(collection, where, batch):
            self.read += 1
            yield chunks


class Target(EdgeIndex):
    """Writes when it may, and refuses what is of `broken`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.may_write = asyncio.Event()
        self.writing: set[str] = set()
        self.most = 0
        self.broken = ""

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        if collection.id == self.broken:
            raise IndexUnavailable("It is broken.")
        self.writing.add(collection.id)
        self.most = max(self.most, len(self.writing))
        await self.may_write.wait()
        await super().upsert(collection, chunks, vectors, tokens)
        self.writing.discard(collection.id)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Source]:
    async with aclosing(Source(tmp_path / "source")) as index:
        yield index


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    async with aclosing(Target(tmp_path / "target")) as index:
        yield index


async def filled(index: EdgeIndex, chunks: int) -> Collection:
    collection = a_collection()
    await index.create(collection)
    await index.upsert(collection, [a_chunk(collection, f"word{n}") for n in range(chunks)])
    return collection


async def finished(source: Source, target: Target, collections: Sequence[Collection]) -> list[str]:
    """Move them; the ids of those that have ended."""
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(migrate_all(source, target, collections)) as all_,
    ):
        return [step.collection.id async for step in all_ if step.finished]


async def test_some_collections_move_at_a_time(source: Source, target: Target) -> None:
    collections = [await filled(source, 3) for _ in range(AT_ONCE + 2)]
    moving = asyncio.create_task(finished(source, target, collections))
    assert await until(lambda: len(target.writing) == AT_ONCE)
    target.may_write.set()
    assert sorted(await moving) == sorted(collection.id for collection in collections)
    assert target.most == AT_ONCE
    assert [await target.count(collection) for collection in collections] == [3] * len(collections)


async def test_the_next_batch_is_read_while_one_is_written_and_no_more(
    source: Source, target: Target
) -> None:
    collection = await filled(source, 4 * BATCH)
    moving = asyncio.create_task(finished(source, target, [collection]))
    assert await until(lambda: source.read == 2)
    assert target.writing
    await asyncio.sleep(0.1)
    assert source.read == 2
    target.may_write.set()
    assert await moving == [collection.id]
    assert await target.count(collection) == 4 * BATCH


async def test_one_that_cannot_be_moved_ends_it_and_the_next_run_goes_on(
    source: Source, target: Target
) -> None:
    collections = [await filled(source, 3) for _ in range(AT_ONCE)]
    target.broken = collections[1].id
    with pytest.raises(IndexUnavailable, match="It is broken"):
        await finished(source, target, collections)
    target.broken = ""
    target.may_write.set()
    assert len(await finished(source, target, collections)) == AT_ONCE
    assert [await target.count(collection) for collection in collections] == [3] * AT_ONCE
