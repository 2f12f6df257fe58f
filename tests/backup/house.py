"""A whole Ragstone's stores in a folder, without models: what backups and examinations work on."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Table, select

from ragstone.backup.back_up import write_backup
from ragstone.backup.doctor import Doctor
from ragstone.backup.restore import restore
from ragstone.cache.local import LocalCache
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.index.connect import OpenIndex
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import ChunkIndex, Edition
from ragstone.service import IngestRequest
from ragstone.service.maintenance import Upkeep
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.dump import SqlDump
from ragstone.store.sql.tables import editions, metadata
from tests.databases import DatabaseOpener
from tests.hashing import WIDTH, HashingEmbedder, OneEmbedder


@dataclass
class House:
    """Index, catalog and state of one data directory."""

    database: Database
    index: ChunkIndex
    catalog: SqlCatalog
    pipeline: Pipeline
    dump: SqlDump
    documents: Path
    data: Path

    def write(self, name: str, text: str) -> None:
        self.documents.mkdir(exist_ok=True)
        (self.documents / name).write_text(text, encoding="utf-8")

    async def ingest(self, collection: str = "default") -> None:
        request = IngestRequest((str(self.documents),), collection)
        await self.pipeline.ingest("job", request, lambda _: None)

    async def rebuild(self, collection: str) -> None:
        await self.pipeline.rebuild("job", await self.collection(collection), lambda _: None)

    async def collection(self, name: str = "default") -> Collection:
        found = await self.catalog.collection("default", name)
        assert found
        return found

    async def edition(self) -> Edition | None:
        return await self.catalog.edition("default", (await self.collection()).id)

    async def chunks(self, name: str = "default") -> dict[str, Chunk]:
        scan = self.index.scan(await self.collection(name))
        return {chunk.chunk_id: chunk async for batch in scan for chunk in batch}

    async def rows(self, table: Table) -> list[dict[str, object]]:
        async with self.database.read_view() as connection:
            return [dict(row) for row in (await connection.execute(select(table))).mappings()]

    async def back_up(self, file: Path, since: Path | None = None) -> Upkeep:
        return [s async for s in self.steps(write_backup, file, since=since)][-1]

    async def restore(self, file: Path, *earlier: Path) -> Upkeep:
        return [s async for s in self.steps(restore, file, earlier=earlier)][-1]

    def steps(
        self, work: Callable[..., AsyncGenerator[Upkeep, None]], file: Path, **more: object
    ) -> AsyncGenerator[Upkeep, None]:
        """A backup or a restore, step by step."""
        return work(file, self.index, self.catalog, self.dump, self.pipeline.originals, **more)

    async def contents(self) -> dict[str, object]:
        """Everything that a backup has to bring back: rows, chunks with their vectors, uploads. Of
        when each collection was changed last, PostgreSQL says when it was restored."""
        found: dict[str, object] = {
            table.name: sorted(map(repr, await self.rows(table)))
            for table in metadata.sorted_tables
            if table is not editions
        }
        for collection in await self.catalog.collections():
            async for some in self.index.scan(collection):
                ids = [chunk.chunk_id for chunk in some]
                vectors = await self.index.vectors(collection, ids)
                tokens = await self.index.tokens(collection, ids)
                for chunk in some:
                    vector = vectors.get(chunk.chunk_id)
                    found[f"{collection.id} {chunk.chunk_id}"] = (
                        chunk,
                        None if vector is None else vector.tobytes(),
                        tokens.get(chunk.chunk_id),
                    )
        for id, file in self.pipeline.originals.all():
            found[f"upload {id}"] = (file.name, file.read_bytes())
        return found

    async def examine(self, mend: bool = True, forget: bool = False) -> tuple[str, ...]:
        pipeline = self.pipeline
        doctor = Doctor(
            self.index,
            self.catalog,
            self.dump,
            LocalCache(None, 10),
            pipeline.purge,
            pipeline.embed,
            pipeline.reread,
        )
        steps = [step async for step in doctor.examine(mend, forget)]
        assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
        return steps[-1].notes


@asynccontextmanager
async def opened(
    folder: Path,
    open_state: DatabaseOpener | None = None,
    dimensions: int = WIDTH,
    index_url: str = "",
    an_index: OpenIndex | None = None,
    embedder: HashingEmbedder | None = None,
) -> AsyncIterator[House]:
    """On a file and an embedded index, or on the databases that `open_state` opens and the index at
    `index_url` or `an_index`."""
    kept = open_state(folder) if open_state else open_database(folder / "state.sqlite")
    async with kept as database, aclosing(an_index or _index(folder, index_url)) as index:
        catalog = await SqlCatalog.open(database)
        pipeline = Pipeline(
            index,
            catalog,
            OneEmbedder(embedder or HashingEmbedder(dimensions=dimensions)),
            IngestSettings(),
            data=folder,
        )
        dump = SqlDump(database, catalog)
        for collection in await catalog.collections():
            await index.create(collection)
        yield House(database, index, catalog, pipeline, dump, folder.parent / "documents", folder)
        await pipeline.aclose()


def _index(folder: Path, url: str) -> OpenIndex:
    return PostgresIndex(PostgresConnections(url, 30)) if url else EdgeIndex(folder / "index")
