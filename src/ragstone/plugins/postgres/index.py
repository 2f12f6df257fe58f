"""The chunk index on PostgreSQL with pgvector: one table per collection, or for many small ones.

Every batch is written in one transaction. A table that is missing reads as empty, and a write
makes it, as with the embedded index.

Makes the index of the settings.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pgvector import HalfVector, Vector
from psycopg.errors import LockNotAvailable, UndefinedTable

from ragstone.core.chunk import Chunk
from ragstone.core.disk import until_unseen
from ragstone.core.errors import IndexUnavailable, InvalidFilter, RagstoneError
from ragstone.core.filters import EVERYTHING, KEYWORDS, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.late import (
    candidate_count,
    check_searches,
    check_vectors,
    chunk_encodings,
    question_encoding,
    rerank_late,
)
from ragstone.index.options import read_options
from ragstone.language.late_interaction import LateQuery
from ragstone.plugins.postgres import building, words
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.building import (
    Hnsw,
    build,
    check_dimensions,
    lacks_index,
    nearest,
    nearest_late,
    uses_half,
)
from ragstone.plugins.postgres.connection import Connection, PostgresConnections
from ragstone.plugins.postgres.filter import LISTS, Sql, translate
from ragstone.plugins.postgres.options import PostgresOptions
from ragstone.plugins.postgres.table import ChunkTable
from ragstone.ports import PoolUse, Search, Vectors
from ragstone.settings import IndexSettings

log = logging.getLogger(__name__)

T = TypeVar("T")

USUAL = Hnsw()

LOOK_SECONDS = 2.0
"""How often it is looked whether an index can be built by now."""

SCHEMA_LOCK = 1_918_989_423


class PostgresIndex:
    """`ports.ChunkIndex` in a database; `hnsw` is how it indexes vectors. Collections of fewer than
    `shared_chunks` share a table."""

    searches_late = True

    def __init__(
        self, database: PostgresConnections, hnsw: Hnsw = USUAL, shared_chunks: int = 0
    ) -> None:
        self._database = database
        self._hnsw = hnsw
        self.shared_chunks = shared_chunks
        self._bm25: dict[str, Bm25Encoder] = {}
        self._builds: dict[str, asyncio.Task[None]] = {}
        """By the table."""

    async def create(self, collection: Collection) -> None:
        check_dimensions(collection)
        table = rows.chunk_table(collection)

        async def look(connection: Connection) -> tuple[str | None, bool]:
            form = await rows.form(connection, table.name)
            lacks = bool(form is not None and not table.part) and await lacks_index(
                connection, collection, table.name, self._hnsw
            )
            return form, lacks

        form, lacks = await self._database.run(look)
        if form not in (rows.FORM, rows.SHARED_FORM):
            await self._database.run(lambda connection: _make(connection, collection))
        if lacks:
            self._build_later(collection)

    async def drop(self, collection: Collection) -> None:
        own = rows.table_name(collection)
        shared = rows.chunk_table(replace(collection, shared=True))

        async def work(connection: Connection) -> None:
            await connection.execute(f"DROP TABLE IF EXISTS {own}, {own}_words")
            # Also what a rebuild or a move that was cut off has begun in the other place.
            if await rows.form(connection, shared.name) is not None:
                for name in (shared.name, f"{shared.name}_words"):
                    await connection.execute(f"DELETE FROM {name} WHERE {shared.mine}")

        await self._database.run(work)

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        if vectors is not None:
            check_vectors(collection, vectors)
        if not chunks:
            return
        bm25, table = self._words(collection), rows.chunk_table(collection)
        made = await asyncio.to_thread(_rows, collection, chunks, vectors, tokens, bm25)
        columns = (*table.key, *rows.columns(collection))

        async def work(connection: Connection) -> None:
            gone = await _delete_chunks(connection, table, [chunk.chunk_id for chunk in chunks])
            marks = ", ".join(["%s"] * len(columns))
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})",
                    [(*table.values, *values) for values, _ in made],
                )
            await words.count(connection, table, (found for _, found in made), gone)

        await self._write(collection, work)

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        check_vectors(collection, vectors)
        table = rows.chunk_table(collection)
        held: Sequence[bytes | None] = tokens if tokens is not None else [None] * len(ids)
        encodings = await asyncio.to_thread(_encodings, collection, len(ids), tokens)
        values = [
            (Vector(v), t, *late, i)
            for v, t, late, i in zip(vectors, held, encodings, ids, strict=True)
        ]
        late_too = f", {rows.LATE} = coalesce(%s, {rows.LATE})" if collection.late else ""

        async def work(connection: Connection) -> None:
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    f"UPDATE {table.name} SET dense = %s, tokens = coalesce(%s, tokens){late_too} "
                    f"WHERE {table.mine} AND chunk_id = %s",
                    values,
                )

        await self._run_or_default(table, work, None)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        condition, values = translate(where)
        query = (
            f"SELECT payload FROM @rows WHERE dense IS NULL AND {condition} "
            "ORDER BY chunk_id LIMIT %s"
        )
        found = await self._fetch_rows(collection, query, [*values, limit])
        return [rows.read_chunk(payload) for (payload,) in found]

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        condition, values = translate(where)
        query = f"SELECT count(*) FROM @rows WHERE dense IS NULL AND {condition}"
        found = await self._fetch_rows(collection, query, values)
        return int(found[0][0]) if found else 0

    async def search(
        self,
        collection: Collection,
        searches: Sequence[Search],
        where: Filter,
        limit: int,
        exact: bool = False,
    ) -> list[RankedList]:
        condition = translate(where)
        check_searches(collection, searches)
        lists = [self._search_one(collection, item, condition, limit, exact) for item in searches]
        found = await asyncio.gather(*lists)
        return await rerank_late(self, collection, searches, found, limit)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        query = "SELECT chunk_id, payload FROM @rows WHERE chunk_id = ANY(%s)"
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {item: rows.read_chunk(payload) for item, payload in found}

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        query = "SELECT chunk_id, dense FROM @rows WHERE chunk_id = ANY(%s) AND dense IS NOT NULL"
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {item: np.asarray(vector.to_numpy(), np.float32) for item, vector in found}

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        query = "SELECT chunk_id, tokens FROM @rows WHERE chunk_id = ANY(%s) AND tokens IS NOT NULL"
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {item: bytes(packed) for item, packed in found}

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        condition, values = translate(where)
        query = (
            f"SELECT payload FROM @rows WHERE chunk_id > %s AND {condition} "
            "ORDER BY chunk_id LIMIT %s"
        )
        last = ""
        while True:
            found = await self._fetch_rows(collection, query, [last, *values, batch])
            chunks = [rows.read_chunk(payload) for (payload,) in found]
            if chunks:
                yield chunks
            if len(chunks) < batch:
                return
            last = chunks[-1].chunk_id

    async def delete(self, collection: Collection, where: Filter) -> None:
        condition, values = translate(where)
        table = rows.chunk_table(collection)

        async def work(connection: Connection) -> None:
            gone = await connection.execute(
                f"DELETE FROM {table.name} WHERE {table.mine} AND {condition} RETURNING words",
                values,
            )
            found = [row for (row,) in await gone.fetchall()]
            await words.count(connection, table, (), found)

        await self._run_or_default(table, work, None)

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        condition, values = translate(where)
        query = f"SELECT count(*) FROM @rows WHERE {condition}"
        found = await self._fetch_rows(collection, query, values)
        return int(found[0][0]) if found else 0

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        if field not in KEYWORDS:
            raise InvalidFilter(f"The values of {field!r} cannot be counted.")
        condition, values = translate(where)
        value = f"unnest({field})" if field in LISTS else field
        query = (
            f"SELECT {value} AS value, count(*) FROM @rows WHERE {condition} "
            "GROUP BY value ORDER BY count(*) DESC, value LIMIT %s"
        )
        return dict(await self._fetch_rows(collection, query, [*values, limit]))

    async def optimize(self, collection: Collection) -> None:
        if collection.shared:
            return
        table = rows.table_name(collection)

        async def work(connection: Connection) -> None:
            with suppress(LockNotAvailable):  # An index is being built.
                await connection.execute(f"ANALYZE {table}")
            if await building.is_held_up(connection):
                self._build_later(collection)
            else:
                await build(connection, collection, self._hnsw)
            await connection.execute(rows.sort_statement(table))

        try:
            await self._database.run_alone(work)
        except UndefinedTable:
            return

    async def erase(self, collection: Collection, deleted: bool) -> None:
        """`ports.Erases`: nobody reads the table while it is written anew."""
        table = rows.chunk_table(collection).name

        async def work(connection: Connection) -> None:
            if not await until_unseen(connection):
                raise IndexUnavailable(
                    "A long transaction keeps the chunks that were deleted. Try again when the "
                    "ingest, the backup or the other program that has it has ended."
                )
            await connection.execute(f"VACUUM (FULL) {table}")

        if deleted:
            with suppress(UndefinedTable):
                await self._database.run_alone(work)

    def pool_use(self) -> PoolUse:
        """`ports.Pooled`."""
        return self._database.pool_use()

    async def ready(self) -> None:
        await self._database.run(lambda connection: connection.execute("SELECT 1"))

    async def aclose(self) -> None:
        """Close every connection; an index that is being built is left for the next start."""
        tasks = list(self._builds.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._database.aclose()

    async def _search_one(
        self, collection: Collection, search: Search, condition: Sql, limit: int, exact: bool
    ) -> RankedList:
        table = rows.chunk_table(collection)
        vector, late = search.vector, search.late
        if late is not None:
            near: list[Any] = await self._run_or_default(
                table,
                lambda connection: self._candidates(
                    connection, table, late, condition, candidate_count(search, limit), exact
                ),
                [],
            )
            return RankedList("late", search.text, _build_scored(near))
        if vector is not None:
            dense: list[Any] = await self._run_or_default(
                table,
                lambda connection: self._nearest(
                    connection, collection, Vector(vector), condition, limit, exact
                ),
                [],
            )
            return RankedList("dense", search.text, _build_scored(dense))
        asked = rows.words(self._words(collection).query(search.text))
        if not asked:
            return RankedList("bm25", search.text, ())
        found: list[Any] = await self._run_or_default(
            table, lambda connection: words.search(connection, table, asked, condition, limit), []
        )
        return RankedList("bm25", search.text, _build_scored(found))

    async def _candidates(
        self,
        connection: Connection,
        table: ChunkTable,
        late: LateQuery,
        condition: Sql,
        most: int,
        exact: bool,
    ) -> list[Any]:
        where, values = condition
        if exact and not table.part:
            await connection.execute("SET LOCAL enable_indexscan = off")
        asked = HalfVector(question_encoding(late))
        query = nearest_late(table.rows, where)
        found = await connection.execute(query, [asked, *values, asked, most])
        return await found.fetchall()

    async def _nearest(
        self,
        connection: Connection,
        collection: Collection,
        vector: Vector,
        condition: Sql,
        limit: int,
        exact: bool,
    ) -> list[Any]:
        table, (where, values) = rows.chunk_table(collection), condition
        half = False
        if table.part:
            pass  # There is no index over meaning that could be used, or not.
        elif exact:
            await connection.execute("SET LOCAL enable_indexscan = off")
        else:
            half = await uses_half(connection, collection, table.name, self._hnsw)
        found = await connection.execute(
            nearest(table.rows, collection.dimensions, half, where),
            [vector, *values, vector, limit],
        )
        return await found.fetchall()

    def _build_later(self, collection: Collection) -> None:
        """Build indexes while all else goes on."""
        table = rows.table_name(collection)
        if table not in self._builds:
            task = self._builds[table] = asyncio.create_task(self._build(collection))
            task.add_done_callback(lambda _: self._builds.pop(table))

    async def _build(self, collection: Collection) -> None:
        try:
            while await self._database.run(building.is_held_up):  # noqa: ASYNC110  it tells nothing
                await asyncio.sleep(LOOK_SECONDS)
            await self._database.run_alone(
                lambda connection: build(connection, collection, self._hnsw)
            )
        except (RagstoneError, UndefinedTable) as error:
            log.warning("An index of %r is not built yet: %s", collection.name, error)

    async def _fetch_rows(
        self, collection: Collection, query: str, values: Sequence[Any]
    ) -> list[Any]:
        """The rows of `query`, in which @rows are the collection's; none if there is no table."""
        table = rows.chunk_table(collection)
        statement = query.replace("@rows", table.rows)

        async def work(connection: Connection) -> list[Any]:
            return await (await connection.execute(statement, values)).fetchall()

        return await self._run_or_default(table, work, [])

    async def _run_or_default(
        self, table: ChunkTable, work: Callable[[Connection], Awaitable[T]], missing: T
    ) -> T:
        try:
            return await self._database.run(work, table.collection)
        except UndefinedTable:
            return missing

    async def _write(
        self, collection: Collection, work: Callable[[Connection], Awaitable[None]]
    ) -> None:
        try:
            await self._database.run(work)
        except UndefinedTable:
            await self.create(collection)
            await self._database.run(work)

    def _words(self, collection: Collection) -> Bm25Encoder:
        language = collection.language
        return self._bm25.setdefault(language, Bm25Encoder(language))


async def _make(connection: Connection, collection: Collection) -> None:
    """Make the tables, or bring them to the present form, unless somebody else just has."""
    table = rows.chunk_table(collection)
    # Two processes that make the same table at once would meet in the system's catalog.
    await connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
    form = await rows.form(connection, table.name)
    if form in (rows.FORM, rows.SHARED_FORM):
        return
    if table.part:
        statements = rows.shared_schema(table.name, collection)
    elif form is None:
        statements = rows.schema(table.name, collection)
    else:
        statements = rows.upgrade(table.name)
    for statement in statements:
        await connection.execute(statement)


def _rows(
    collection: Collection,
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[bytes] | None,
    bm25: Bm25Encoder,
) -> list[tuple[tuple[Any, ...], list[int]]]:
    dense = [None] * len(chunks) if vectors is None else list(vectors)
    held: Sequence[bytes | None] = [None] * len(chunks) if tokens is None else tokens
    late = _encodings(collection, len(chunks), tokens)
    return [rows.row(*item, bm25) for item in zip(chunks, dense, held, late, strict=True)]


def _encodings(
    collection: Collection, count: int, tokens: Sequence[bytes] | None
) -> list[tuple[Any, ...]]:
    """The value of the column LATE for each of `count` chunks, none where there is no such one."""
    encodings = chunk_encodings(collection, tokens)
    if encodings is not None:
        return [(HalfVector(encoding),) for encoding in encodings]
    return [(None,) if collection.late else ()] * count


async def _delete_chunks(
    connection: Connection, table: ChunkTable, ids: Sequence[str]
) -> list[list[int]]:
    gone = await connection.execute(
        f"DELETE FROM {table.name} WHERE {table.mine} AND chunk_id = ANY(%s) RETURNING words",
        [list(ids)],
    )
    return [row for (row,) in await gone.fetchall()]


def _build_scored(found: Sequence[Any]) -> tuple[Scored, ...]:
    return tuple(Scored(item, float(score)) for item, score in found)


def connect(settings: IndexSettings, data: Path) -> PostgresIndex:
    """Make the index at `postgresql://host/name`. Raises ConfigError for wrong options."""
    options = read_options(PostgresOptions, settings.options)
    database = PostgresConnections(
        settings.url,
        settings.timeout,
        settings.api_key.get_secret_value(),
        options.connections,
        options.hnsw_ef_search,
    )
    return PostgresIndex(database, options.hnsw, options.shared_chunks)
