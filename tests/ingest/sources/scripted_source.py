"""A source that lists what a test says, and a collection that is kept in sync with it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import pytest

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.filters import And, exclude_hidden, reader_filter
from ragstone.core.records import Document
from ragstone.core.sync import SourceItem, SourceRun, StoredSource
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.plugins.sources import sync
from ragstone.plugins.sources.run import SyncParts, SyncRequest
from ragstone.plugins.sources.store import SqlSources
from ragstone.plugins.sources.sync import run_source
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from tests.hashing import OneEmbedder


@dataclass
class ScriptedSource:
    """Lists `items`, of which `contents` has the content by key. With `changed` it lists those
    alone when it is given a checkpoint."""

    contents: dict[str, str] = field(default_factory=dict)
    items: dict[str, SourceItem] = field(default_factory=dict)
    changed: Sequence[str] | None = None
    breaks_after: int | None = None
    error: Exception = field(default_factory=lambda: SourceUnavailable("It went away."))
    missing: set[str] = field(default_factory=set)
    fetched: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    hangs_at: str = ""
    gap: str = ""

    def put(self, key: str, text: str, *readers: str, path: str = "") -> None:
        version = str(hash(text))
        self.contents[key] = text
        self.items[key] = SourceItem(key, version, path or key, tuple(readers))

    async def check(self) -> None:
        return None

    async def list_items(self, checkpoint: str) -> AsyncIterator[SourceItem]:
        self.checkpoints.append(checkpoint)
        keys = self.items if not checkpoint or self.changed is None else self.changed
        for number, key in enumerate(list(keys)):
            if number == self.breaks_after:
                raise self.error
            yield self.items[key]

    async def list_keys(self) -> AsyncIterator[str]:
        for key in self.items:
            yield key

    def get_checkpoint(self) -> str:
        return "" if self.changed is None else str(len(self.checkpoints))

    def explain_gap(self) -> str:
        return self.gap

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        if item.key == self.hangs_at:
            await asyncio.sleep(3600)
        if item.key in self.missing:
            raise DocumentError("It is not there any more.")
        self.fetched.append(item.key)
        target.write(self.contents[item.key].encode())

    async def aclose(self) -> None:
        return None


@dataclass
class SyncedCollection:
    """A source with the collection that is kept in sync with it."""

    parts: SyncParts
    index: EdgeIndex
    catalog: SqlCatalog
    store: SqlSources
    source: StoredSource

    async def sync(self, *, dry: bool = False, accept_removals: bool = False) -> SourceRun:
        stored = await self.store.get(self.source.id)
        assert stored is not None
        number = len(await self.store.runs(stored.id, 100))
        begun = SourceRun(f"run{number}", stored.id, float(number), dry=dry)
        request = SyncRequest(dry, accept_removals)
        return await run_source(self.parts, stored, request, begun, lambda run: None)

    async def stored(self) -> StoredSource:
        found = await self.store.get(self.source.id)
        assert found is not None
        return found

    async def documents(self) -> Mapping[str, Document]:
        return {item.path: item for item in await self.catalog.documents("default")}

    async def texts(self, *readers: str) -> set[str]:
        """The texts that somebody of these names finds."""
        collection = await self.catalog.collection("default", "default")
        if collection is None:
            return set()
        groups = tuple(name.removeprefix("group:") for name in readers)
        users = [name.removeprefix("user:") for name in readers if name.startswith("user:")]
        who = Principal(user=users[0] if users else "nobody", groups=groups)
        async with self.catalog.snapshot(collection) as hidden:
            where = And((reader_filter(who), exclude_hidden(hidden)))
            scan = self.index.scan(collection, where)
            return {chunk.text for several in [c async for c in scan] for chunk in several}


@asynccontextmanager
async def opened_collection(folder: Path, **source: object) -> AsyncIterator[SyncedCollection]:
    """A collection that is still to come, and a source named `house`."""
    async with open_database(folder / "state.sqlite") as database:
        index = EdgeIndex(folder / "index")
        catalog = await SqlCatalog.open(database)
        settings = IngestSettings()
        pipeline = Pipeline(index, catalog, OneEmbedder(), settings, data=folder)
        store = SqlSources(database)
        parts = SyncParts(pipeline, catalog, store, settings, folder)
        collection = await catalog.identity("default", "default")
        usual = StoredSource(
            "s1", "default", "house", "scripted", collection, {}, (), every=60.0, created_at=0.0
        )
        made = replace(usual, **source)  # type: ignore[arg-type]
        # A test that begins again has it already.
        await store.add(made)
        yield SyncedCollection(parts, index, catalog, store, made)
        await pipeline.aclose()
        await index.aclose()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedSource:
    """The source that every run opens."""
    source = ScriptedSource()
    monkeypatch.setattr(sync, "open_source", lambda parts, stored: source)
    return source


@pytest.fixture
async def synced(tmp_path: Path, scripted: ScriptedSource) -> AsyncIterator[SyncedCollection]:
    async with opened_collection(tmp_path) as collection:
        yield collection
