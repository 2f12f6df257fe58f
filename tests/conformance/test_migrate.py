"""Moving collections between indexes: nothing is lost, and what was cut off goes on."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import EVERYTHING
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.migrate import Moved, migrate
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.plugins.qdrant.options import QdrantOptions
from ragstone.ports import ChunkIndex, Search, Vectors
from tests.conformance.postgres_server import PostgresServer
from tests.conformance.test_chunk_index import (
    INDEXES,
    a_chunk,
    a_collection,
    a_late_collection,
    an_index,
    late_ids,
    local_client,
    packed_tokens,
    pytestmark,
    vectors,
)

__all__ = ["pytestmark"]


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[EdgeIndex]:
    async with aclosing(EdgeIndex(tmp_path / "source")) as index:
        yield index


async def filled(index: ChunkIndex, count: int = 600) -> Collection:
    """A collection whose chunks have vectors, or token vectors too, or neither."""
    collection = a_collection()
    chunks = [
        a_chunk(collection, f"word{i} text", document_id=f"d{i // 10}", metadata={"n": i})
        for i in range(count)
    ]
    rows = vectors(*range(count))
    third = count // 3
    await index.upsert(collection, chunks[:third], rows[:third])
    packed = [bytes([i % 256, 7]) for i in range(third)]
    await index.upsert(collection, chunks[third : 2 * third], rows[third : 2 * third], packed)
    await index.upsert(collection, chunks[2 * third :])
    return collection


async def contents(index: ChunkIndex, collection: Collection) -> tuple[Any, list[float]]:
    """Chunks and token vectors by id, and all vectors in the order of ids."""
    found: dict[str, tuple[Chunk, bytes | None]] = {}
    rows: dict[str, Vectors] = {}
    async for chunks in index.scan(collection):
        ids = [chunk.chunk_id for chunk in chunks]
        rows |= await index.vectors(collection, ids)
        packed = await index.tokens(collection, ids)
        found |= {chunk.chunk_id: (chunk, packed.get(chunk.chunk_id)) for chunk in chunks}
    return found, [float(number) for key in sorted(rows) for number in rows[key]]


async def assert_same(here: ChunkIndex, there: ChunkIndex, collection: Collection) -> None:
    mine, theirs = await contents(here, collection), await contents(there, collection)
    assert mine[0] == theirs[0]
    assert mine[1] == pytest.approx(theirs[1], abs=1e-6)


async def moved_by(source: ChunkIndex, target: ChunkIndex, collection: Collection) -> list[Moved]:
    return [step async for step in migrate(source, target, collection)]


@pytest.mark.parametrize("kind", INDEXES)
async def test_given_a_collection_when_moved_there_and_back_then_it_is_the_same(
    kind: str, source: EdgeIndex, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    collection = await filled(source)
    async with (
        aclosing(an_index(kind, request, tmp_path / "there")) as there,
        aclosing(EdgeIndex(tmp_path / "back")) as back,
    ):
        steps = await moved_by(source, there, collection)
        assert steps[-1] == Moved(collection, 600, copied=600, finished=True)
        done = [step.copied for step in steps]
        assert done == sorted(done)
        assert len(done) > 3
        await moved_by(there, back, collection)
        await assert_same(back, source, collection)
        searches = [Search("word7 text"), Search("", vectors(7)[0])]
        expected = await source.search(collection, searches, EVERYTHING, 3, exact=True)
        found = await there.search(collection, searches, EVERYTHING, 3, exact=True)
        assert [item.found[0].chunk_id for item in found] == [
            item.found[0].chunk_id for item in expected
        ]


@pytest.mark.parametrize("kind", INDEXES)
async def test_given_late_interaction_when_moved_then_it_is_searched_there_too(
    kind: str, source: EdgeIndex, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection) for _ in range(3)]
    tokens = [packed_tokens(i, i + 1) for i in (1, 4, 7)]
    await source.upsert(collection, chunks, vectors(1, 2, 3), tokens)
    async with aclosing(an_index(kind, request, tmp_path / "there")) as there:
        await moved_by(source, there, collection)
        for index in (source, there):
            found = await late_ids(index, collection, EVERYTHING, 4, 5)
            assert found[0] == chunks[1].chunk_id


async def test_given_a_move_that_was_cut_off_then_only_the_rest_is_copied(
    source: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(source)
    async with aclosing(EdgeIndex(tmp_path / "there")) as there:
        async with aclosing(migrate(source, there, collection)) as steps:
            async for step in steps:
                if step.copied:
                    break
        last = (await moved_by(source, there, collection))[-1]
        # What was being written when it was cut off may have arrived.
        assert last.there >= step.copied > 0
        assert last.there + last.copied == 600
        assert (await moved_by(source, there, collection))[-1].copied == 0


async def test_given_chunks_that_the_source_lost_meanwhile_then_they_go_from_the_target(
    source: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(source, 30)
    async with aclosing(EdgeIndex(tmp_path / "there")) as there:
        old = [a_chunk(collection, "old", document_id="d1", version=9) for _ in range(3)]
        await there.upsert(collection, old, vectors(1, 2, 3))
        last = (await moved_by(source, there, collection))[-1]
        assert (last.copied, last.removed) == (30, 3)
        await assert_same(there, source, collection)


async def test_given_a_target_that_loses_writes_then_it_is_said(
    source: EdgeIndex, tmp_path: Path
) -> None:
    class Losing(EdgeIndex):
        async def upsert(
            self,
            collection: Collection,
            chunks: Sequence[Chunk],
            vectors: Vectors | None = None,
            tokens: Sequence[bytes] | None = None,
        ) -> None:
            if len(chunks) > 1:
                await super().upsert(collection, chunks[1:])

    collection = await filled(source, 30)
    async with aclosing(Losing(tmp_path / "there")) as there:
        with pytest.raises(IndexUnavailable, match="arrived"):
            await moved_by(source, there, collection)


@pytest.mark.parametrize("shared_chunks", [0, 10])
async def test_given_a_collection_that_shares_then_it_moves_to_where_that_is_wanted_and_again(
    postgres: PostgresServer, source: EdgeIndex, shared_chunks: int
) -> None:
    options = QdrantOptions(shared_chunks=shared_chunks)
    target = QdrantIndex("", client=local_client(), options=options)
    async with (
        aclosing(PostgresIndex(PostgresConnections(postgres.url, 30))) as here,
        aclosing(target),
    ):
        known = replace(await filled(source, 30), shared=True)
        async for chunks in source.scan(known):
            await here.upsert(known, chunks)
        for _ in range(2):  # The second time the state says where it is by now.
            last = [step async for step in migrate(here, target, known)][-1]
            assert (last.finished, last.total, last.removed) == (True, 30, 0)
            known = last.collection
            assert known.shared == (shared_chunks > 0)
            assert await target.count(known) == 30
            assert await target.count(replace(known, shared=not known.shared)) == 0
