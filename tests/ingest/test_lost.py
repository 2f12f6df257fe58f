"""Servers of one state that use different indexes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragstone.core.errors import Conflict, StateUnavailable
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.plugins.postgres.leases import Leases
from ragstone.plugins.postgres.shared_view import SharedView
from ragstone.service import IngestRequest
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from tests.conformance.postgres_server import PostgresServer
from tests.hashing import OneEmbedder
from tests.jobs.adapters import fresh_database, shared_database


@dataclass
class Server:
    """What one of several servers ingests with."""

    folder: Path
    catalog: SqlCatalog
    pipeline: Pipeline

    async def ingest(self, collection: str, text: str) -> None:
        file = self.folder / f"{collection}.txt"
        file.write_text(text, encoding="utf-8")
        request = IngestRequest((str(file),), collection)
        await self.pipeline.ingest("job", request, lambda progress: None)

    async def ready(self) -> None:
        await self.pipeline.placement.check_all()

    @property
    def leases(self) -> Leases:
        view = self.catalog._view
        assert isinstance(view, SharedView)
        return view._leases


async def a_server(stack: AsyncExitStack, url: str, folder: Path, index: str) -> Server:
    """A server that uses the index of this name."""
    database = await stack.enter_async_context(shared_database(url))
    catalog = await SqlCatalog.open(database)
    await catalog.at_index(index)
    edge = EdgeIndex(folder.parent / index)
    stack.push_async_callback(edge.aclose)
    pipeline = Pipeline(edge, catalog, OneEmbedder(), IngestSettings())
    stack.push_async_callback(pipeline.aclose)
    folder.mkdir()
    return Server(folder, catalog, pipeline)


@pytest.fixture
async def servers(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[tuple[Server, Server]]:
    """Two that have each an index of its own."""
    url = await fresh_database(postgres.url)
    async with AsyncExitStack() as stack:
        one, two = [await a_server(stack, url, tmp_path / n, f"index-{n}") for n in ("one", "two")]
        yield one, two


async def test_given_another_index_than_the_others_then_a_server_is_not_ready_as_soon_as_that_tells(
    servers: tuple[Server, Server],
) -> None:
    right, wrong = servers
    for server in servers:
        await server.ready()
    await right.ingest("whales", "Whales sing in the deep sea.")
    await right.ready()
    with pytest.raises(Conflict, match="Set INDEX__URL to the same one in every server"):
        await wrong.ready()


async def test_given_another_index_then_nothing_new_is_begun_there(
    servers: tuple[Server, Server],
) -> None:
    right, wrong = servers
    await right.ingest("whales", "Whales sing in the deep sea.")
    with pytest.raises(Conflict, match="holds nothing of the documents in collection 'whales'"):
        await wrong.ingest("whales", "Whales are silent.")
    with pytest.raises(Conflict, match="Another server of this state uses another index"):
        await wrong.ingest("cats", "Cats purr.")
    assert [collection.name for collection in await wrong.catalog.collections()] == ["whales"]
    await right.ready()
    await right.ingest("cats", "Cats purr.")


async def test_given_that_the_others_have_ended_then_a_server_with_an_index_of_its_own_is_ready(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await fresh_database(postgres.url)
    async with AsyncExitStack() as later:
        async with AsyncExitStack() as first:
            one = await a_server(first, url, tmp_path / "one", "index-one")
            await one.ingest("whales", "Whales sing in the deep sea.")
            two = await a_server(later, url, tmp_path / "two", "index-two")
            with pytest.raises(Conflict):
                await two.ready()
        # PostgreSQL sees a moment later that a connection has ended.
        while await two.catalog.other_index():
            await asyncio.sleep(0.05)
        await two.ready()


async def test_given_one_index_by_two_addresses_then_both_servers_are_ready(
    servers: tuple[Server, Server],
) -> None:
    one, two = servers
    await one.ingest("whales", "Whales sing in the deep sea.")
    two.pipeline.placement._index = one.pipeline._index
    assert await two.catalog.other_index()
    await two.ready()


async def test_given_a_session_that_broke_then_it_is_still_known_which_index_its_server_uses(
    servers: tuple[Server, Server],
) -> None:
    one, two = servers
    session = await one.leases._open()
    await two.leases._terminate_sessions({session.info.backend_pid})
    with pytest.raises(StateUnavailable):
        await one.catalog.other_index()
    assert await one.catalog.other_index()
    assert await two.catalog.other_index()
