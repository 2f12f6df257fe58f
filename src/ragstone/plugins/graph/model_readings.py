"""What a chat model said that chunks name, in the state store."""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, select, update

from ragstone.core.records import Collection
from ragstone.plugins.graph.entities import ChunkReading, ReadEntity, ReadRelation
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import batches, insert
from ragstone.store.sql.tables import chunk_readings, mentions_read, model_readings, revisions
from ragstone.store.sql.vocabulary import collection_conditions


class SqlModelReadings:
    """What a chat model said that chunks name. It goes with the revisions that it is of.

    Raises StateUnavailable, writes StorageFull too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_lacking(self, collection: Collection, recipe: str) -> list[str]:
        """Return the revisions that answer and were not read to their end in this way."""
        read = select(model_readings.c.revision).where(model_readings.c.recipe == recipe)
        missing = (
            select(revisions.c.name)
            .where(
                *collection_conditions(revisions, collection),
                revisions.c.state == "live",
                revisions.c.name.not_in(read),
            )
            .order_by(revisions.c.name)
        )
        return await self._database.read(lambda c: list(c.execute(missing).scalars()))

    async def find_readings(
        self, collection: Collection, keys: Several[str]
    ) -> Mapping[str, ChunkReading]:
        """Return what was said of chunks of the collection that looked the same, by key."""

        def read(connection: Connection) -> dict[str, ChunkReading]:
            found: dict[str, ChunkReading] = {}
            for some in batches(sorted(keys)):
                wanted = (
                    select(chunk_readings)
                    .join(revisions, chunk_readings.c.revision == revisions.c.name)
                    .where(
                        *collection_conditions(revisions, collection),
                        chunk_readings.c.key.in_(some),
                    )
                    .order_by(chunk_readings.c.revision, chunk_readings.c.chunk)
                )
                for row in connection.execute(wanted):
                    found.setdefault(row.key, _build_reading(row))
            return found

        return await self._database.read(read)

    async def keep(
        self, collection: Collection, readings: Sequence[ChunkReading], recipe: str, whole: str = ""
    ) -> None:
        """Keep readings; of revisions that are gone, nothing. `whole` names a revision that is
        read to its end now: what is kept of it in the graph is forgotten in the same moment, so
        that it is read again with these."""

        def work(connection: Connection) -> None:
            names = sorted(
                {reading.revision for reading in readings} | ({whole} if whole else set())
            )
            there = select(revisions.c.name).where(
                *collection_conditions(revisions, collection), revisions.c.name.in_(names)
            )
            held = set(connection.execute(there).scalars())
            if not held:
                return
            opened = [{"revision": name, "recipe": ""} for name in sorted(held)]
            connection.execute(insert(connection, model_readings).on_conflict_do_nothing(), opened)
            rows = [_row(reading) for reading in readings if reading.revision in held]
            for row in rows:
                of_chunk = (
                    chunk_readings.c.revision == row["revision"],
                    chunk_readings.c.chunk == row["chunk"],
                )
                connection.execute(delete(chunk_readings).where(*of_chunk))
            if rows:
                connection.execute(insert(connection, chunk_readings), rows)
            if whole:
                mine = model_readings.c.revision == whole
                connection.execute(update(model_readings).where(mine).values(recipe=recipe))
                connection.execute(delete(mentions_read).where(mentions_read.c.revision == whole))

        await self._database.keep(work)

    async def of_revisions(
        self, collection: Collection, revisions: Several[str], recipe: str
    ) -> Mapping[tuple[str, int], ChunkReading]:
        """Return the readings of those of these revisions that were read to their end, by chunk."""

        def read(connection: Connection) -> dict[tuple[str, int], ChunkReading]:
            found: dict[tuple[str, int], ChunkReading] = {}
            for some in batches(sorted(revisions)):
                wanted = (
                    select(chunk_readings)
                    .join(model_readings, chunk_readings.c.revision == model_readings.c.revision)
                    .where(chunk_readings.c.revision.in_(some), model_readings.c.recipe == recipe)
                )
                for row in connection.execute(wanted):
                    found[row.revision, row.chunk] = _build_reading(row)
            return found

        return await self._database.read(read)


def _row(reading: ChunkReading) -> dict[str, Any]:
    said = {
        "entities": [asdict(entity) for entity in reading.entities],
        "relations": [asdict(relation) for relation in reading.relations],
        "broken": reading.broken,
    }
    return {
        "revision": reading.revision,
        "chunk": reading.chunk_index,
        "key": reading.key,
        "said": said,
    }


def _build_reading(row: Any) -> ChunkReading:
    said = row.said
    return ChunkReading(
        row.revision,
        row.chunk,
        row.key,
        tuple(ReadEntity(item["name"], tuple(item["also"])) for item in said["entities"]),
        tuple(ReadRelation(**item) for item in said["relations"]),
        said["broken"],
    )
