"""Collections whose entity graph tests look at: documents written, replaced and deleted by hand."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.core.chunk import EVERYONE, Chunk, chunk_id
from ragstone.core.filters import EVERYTHING, And, AnyOf, Filter, Not, reader_filter
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.progress import Tracker
from ragstone.plugins.graph.entity_graph import LocalEntityGraph
from ragstone.plugins.graph.mentions import SqlMentions
from ragstone.plugins.graph.model_reader import GraphModelReader
from ragstone.plugins.graph.model_readings import SqlModelReadings
from ragstone.plugins.graph.reader import GraphReader
from ragstone.plugins.graph.themes import SqlThemes
from ragstone.ports import ChunkIndex, Completer
from ragstone.ports.graph import RelatedChunk
from ragstone.service import Progress
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from tests.memory_store import MemoryTemplates

COLLECTION = Collection("default", "default", "m", "m/1", 3, "en", id="c1")
EVA = Principal(user="eva")


def a_chunk(text: str, **changes: Any) -> Chunk:
    """A chunk of a document without a name of its own."""
    fields: dict[str, Any] = {
        "chunk_id": "c",
        "document_id": "d",
        "version": 1,
        "chunk_index": 0,
        "text": text,
        "title": "",
        "path": "/d",
        "tenant": COLLECTION.tenant,
        "collection": COLLECTION.id,
        "start": 0,
        "end": len(text),
        "language": "en",
        "allowed": (EVERYONE,),
    }
    return Chunk(**{**fields, **changes})


@dataclass
class Graphs:
    """A collection with its graph. `on` says whether it is to have one."""

    catalog: SqlCatalog
    index: ChunkIndex
    database: Database
    collection: Collection = COLLECTION
    on: bool = True
    reader: GraphReader = field(init=False)
    graph: LocalEntityGraph = field(init=False)
    mentions: SqlMentions = field(init=False)
    model: GraphModelReader = field(init=False)
    readings: SqlModelReadings = field(init=False)
    themes: SqlThemes = field(init=False)

    def __post_init__(self) -> None:
        self.graph = LocalEntityGraph(self.database, self.index)
        self.mentions, self.themes = self.graph.mentions, self.graph.themes
        self.readings = self.graph.readings
        self.reader = self.a_reader()

    def a_reader(self, by_model: bool = False) -> GraphReader:
        kept = (self.mentions, self.readings, self.themes)
        return GraphReader(self.index, self.catalog, *kept, lambda _: self.on, by_model)

    def read_by(self, model: Completer) -> None:
        """Have a chat model read, from now on."""
        self.reader = self.a_reader(by_model=True)
        parts = (self.index, self.readings, self.themes, MemoryTemplates(), self.reader)
        self.model = GraphModelReader(*parts, model)

    async def read_by_model(self) -> tuple[str, ...]:
        """Read what is new, by the model too; what the job says."""
        told: list[Progress] = []
        tracker = Tracker("job", told.append)
        self.reader.wake(self.collection)
        await self.model.make(self.collection, tracker)
        self.reader.wake(self.collection)
        await self.reader.drain()
        return tracker.finish().notes

    async def write(
        self,
        id: str,
        *texts: str,
        title: str = "",
        allowed: tuple[str, ...] = (EVERYONE,),
        **changes: Any,
    ) -> None:
        """Write a document, or its next version; what was its chunks before goes."""
        document = Document(
            id=id,
            tenant=self.collection.tenant,
            collection=self.collection.id,
            path=f"/{id}",
            source=f"/{id}",
            title=title,
            allowed=allowed,
            own_readers=allowed,
        )
        version = await self.catalog.begin(document)
        chunks = [
            a_chunk(
                text,
                chunk_id=chunk_id(id, version, number),
                document_id=id,
                version=version,
                chunk_index=number,
                title=title,
                path=f"/{id}",
                tenant=self.collection.tenant,
                collection=self.collection.id,
                allowed=allowed,
                **changes,
            )
            for number, text in enumerate(texts)
        ]
        await self.index.upsert(self.collection, chunks)
        await self.catalog.publish(document, version)
        await self.purge()

    async def delete(self, *ids: str) -> None:
        await self.catalog.retire(ids)
        await self.purge()

    async def purge(self) -> None:
        for collection, name in await self.catalog.list_retired():
            await self.index.delete(collection, AnyOf("revision", (name,)))
            await self.catalog.forget_revisions([name])

    async def read(self) -> None:
        """Read what is new."""
        self.reader.wake(self.collection)
        await self.reader.drain()

    async def related(
        self,
        question: str,
        principal: Principal = EVA,
        where: Filter = EVERYTHING,
        found: Sequence[str] = (),
        limit: int = 20,
    ) -> list[RelatedChunk]:
        async with self.catalog.snapshot() as hidden:
            seen = Not(AnyOf("revision", tuple(sorted(hidden))))
            inside = And((reader_filter(principal), seen, where))
            return await self.graph.find_related(
                self.collection,
                principal.names,
                inside,
                [question],
                dict.fromkeys(found, 1.0),
                limit,
            )

    async def places(self, found: Sequence[RelatedChunk]) -> list[tuple[str, int]]:
        """Document and number of each chunk."""
        chunks = await self.index.fetch(self.collection, [chunk.chunk_id for chunk in found])
        return [
            (chunks[chunk.chunk_id].document_id, chunks[chunk.chunk_id].chunk_index)
            for chunk in found
        ]

    async def documents(self, question: str, principal: Principal = EVA, **how: Any) -> list[str]:
        """The documents that a question leads to, best first."""
        places = await self.places(await self.related(question, principal, **how))
        return list(dict.fromkeys(document for document, _ in places))


@asynccontextmanager
async def open_graphs(database: Database, folder: Path) -> AsyncIterator[Graphs]:
    """An empty collection on this database, with an index in this folder."""
    catalog = await SqlCatalog.open(database)
    await catalog.put_collection(COLLECTION)
    index = EdgeIndex(folder / "index")
    await index.create(COLLECTION)
    graphs = Graphs(catalog, index, database)
    try:
        yield graphs
    finally:
        await graphs.reader.aclose()
        await index.aclose()
