"""Small collections begin in a place that they share, and leave it when they have outgrown it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ingest import pipeline
from ragstone.ingest.move import move_all
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.plugins.qdrant.options import QdrantOptions
from ragstone.ports import Search
from ragstone.retrieve.searching import exclude_hidden
from tests.backup.house import House, opened
from tests.conformance.postgres_server import PostgresServer, postgres
from tests.conformance.test_chunk_index import local_client, pytestmark
from tests.patience import PATIENCE

__all__ = ["postgres", "pytestmark"]

SMALL = 10
"""Chunks from which on a collection has a table of its own here."""


class StandingIndex(PostgresIndex):
    """An index that may be cut off where it builds."""

    cut_off = False

    async def optimize(self, collection: Collection) -> None:
        if self.cut_off and not collection.shared:
            raise asyncio.CancelledError
        await super().optimize(collection)


@asynccontextmanager
async def a_house(
    postgres: PostgresServer, folder: Path, shared_chunks: int = SMALL
) -> AsyncIterator[House]:
    database = PostgresConnections(postgres.url, PATIENCE)
    folder.mkdir(exist_ok=True)
    index = StandingIndex(database, shared_chunks=shared_chunks)
    async with opened(folder, an_index=index) as house:
        yield house


def write(house: House, documents: range) -> None:
    for number in documents:
        house.write(f"{number}.txt", f"The lighter {number} has much to say. " * 20)


async def with_few(house: House) -> dict[str, Chunk]:
    """Ingest fewer chunks than a table of its own takes; what is there then."""
    write(house, range(3))
    await house.ingest()
    return await house.chunks()


async def found(house: House) -> int:
    """How many chunks a search finds."""
    collection = await house.collection()
    async with house.catalog.snapshot(collection) as hidden:
        [said] = await house.index.search(
            collection, [Search("much to say")], exclude_hidden(hidden), 1_000
        )
    return len(said.found)


async def test_given_few_chunks_then_a_collection_shares_and_is_whole_after_a_start(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        chunks = await with_few(house)
        collection = await house.collection()
        assert collection.shared
        assert 0 < len(chunks) < SMALL
    async with a_house(postgres, tmp_path / "data") as house:
        await move_all(house.index, house.catalog)
        assert await house.collection() == collection
        assert await house.chunks() == chunks
        assert await house.examine() == ()


async def test_given_more_chunks_then_it_has_a_table_of_its_own_after_the_ingest(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        before, shared = await with_few(house), await house.collection()
        vectors = await house.index.vectors(shared, list(before))
        write(house, range(3, 2 * SMALL))
        await house.ingest()
        own = await house.collection()
        assert (own.shared, own.build) == (False, shared.build + 1)
        chunks = await house.chunks()
        assert chunks.items() > before.items()
        assert await found(house) == len(chunks)
        kept = await house.index.vectors(own, list(before))
        assert {id: list(item) for id, item in kept.items()} == {
            id: list(vector) for id, vector in vectors.items()
        }
        assert await house.index.count(shared) == 0
        assert await house.catalog.list_unused() == []
        assert await house.examine() == ()


async def test_given_more_chunks_then_it_has_a_qdrant_collection_of_its_own_after_the_ingest(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    client = local_client()
    index = QdrantIndex("", client=client, options=QdrantOptions(shared_chunks=SMALL))
    async with opened(tmp_path / "data", an_index=index) as house:
        before, shared = await with_few(house), await house.collection()
        assert shared.shared
        write(house, range(3, 2 * SMALL))
        await house.ingest()
        own = await house.collection()
        assert (own.shared, own.build) == (False, shared.build + 1)
        chunks = await house.chunks()
        assert chunks.items() > before.items()
        assert await found(house) == len(chunks)
        assert await house.index.count(shared) == 0
        assert await house.catalog.list_unused() == []
        assert len((await client.get_collections()).collections) == 2


async def test_given_a_move_that_is_cut_off_then_it_answers_from_where_it_is_and_goes_on(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        await with_few(house)
        write(house, range(3, 2 * SMALL))
        assert isinstance(house.index, StandingIndex)
        house.index.cut_off = True
        with pytest.raises(asyncio.CancelledError):
            await house.ingest()
        assert (await house.collection()).shared
        chunks = await house.chunks()
        assert await found(house) == len(chunks) >= 2 * SMALL
    async with a_house(postgres, tmp_path / "data") as house:
        assert await found(house) == len(chunks)
        async with asyncio.timeout(PATIENCE):
            await move_all(house.index, house.catalog)
        assert not (await house.collection()).shared
        assert await house.chunks() == chunks
        assert await found(house) == len(chunks)
        assert await house.examine() == ()


async def test_given_none_that_may_share_then_those_that_did_leave_and_others_begin_apart(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        chunks = await with_few(house)
    async with a_house(postgres, tmp_path / "data", shared_chunks=0) as house:
        await move_all(house.index, house.catalog)
        assert not (await house.collection()).shared
        assert await house.chunks() == chunks
        await house.ingest("another")
        assert not (await house.collection("another")).shared
        await house.rebuild("another")
        assert not (await house.collection("another")).shared


async def test_given_an_index_without_the_chunks_then_it_stays_known_where_they_were(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """An address that was set wrong for one start."""
    async with a_house(postgres, tmp_path / "data") as house:
        await with_few(house)
        before = await house.collection()
        await house.index.drop(before)
    async with a_house(postgres, tmp_path / "data", shared_chunks=0) as house:
        await move_all(house.index, house.catalog)
        assert await house.collection() == before


async def test_given_a_small_collection_of_its_own_then_it_stays_until_it_is_rebuilt(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data", shared_chunks=0) as house:
        chunks = await with_few(house)
    async with a_house(postgres, tmp_path / "data") as house:
        await move_all(house.index, house.catalog)
        await house.ingest()
        own = await house.collection()
        assert not own.shared
        await house.rebuild("default")
        assert await house.collection() == replace(own, shared=True, build=own.build + 1)
        assert await house.chunks() == chunks
        assert await house.index.count(own) == 0
        assert await house.examine() == ()


async def test_given_files_of_many_chunks_then_a_new_collection_begins_apart(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "CHUNK_BYTES", 100)
    async with a_house(postgres, tmp_path / "data") as house:
        write(house, range(SMALL))
        await house.ingest()
        assert (await house.collection()).build == 1
        assert not (await house.collection()).shared


async def test_given_a_backup_then_what_is_restored_is_where_its_size_says(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        chunks = await with_few(house)
        await house.back_up(tmp_path / "backup.zip")
    for shared_chunks in (0, SMALL):
        async with a_house(postgres, tmp_path / "data", shared_chunks) as house:
            await house.restore(tmp_path / "backup.zip")
            assert (await house.collection()).shared == (shared_chunks > 0)
            assert await house.chunks() == chunks
            assert await house.examine() == ()


async def test_given_a_collection_that_is_dropped_then_nothing_of_it_is_left(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with a_house(postgres, tmp_path / "data") as house:
        await with_few(house)
        collection = await house.collection()
        await house.catalog.drop_collection("default", collection.id)
        await house.pipeline.purge()
        assert await house.index.count(collection) == 0
        assert await house.catalog.list_unused() == []
