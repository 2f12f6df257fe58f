"""The chunk index on PostgreSQL with pgvector: one table per collection.

Every batch is written in one transaction. A table that is missing reads as empty, and a write
makes it, as with the embedded index.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from pgvector import SparseVector, Vector
from psycopg.errors import UndefinedTable

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InvalidFilter
from ragstone.core.filters import EVERYTHING, KEYWORDS, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.postgres import table as rows
from ragstone.index.postgres import words
from ragstone.index.postgres.connection import Connection, PostgresConnections
from ragstone.index.postgres.filter import LISTS, Sql, translate
from ragstone.index.vectors import check_searches, check_vectors
from ragstone.ports import Search, Vectors

T = TypeVar("T")

SCHEMA_LOCK = 1_918_989_423


class PostgresIndex:
    """`ports.ChunkIndex` on the database at `url`; `timeout` is seconds for one statement."""

    def __init__(self, url: str, timeout: float) -> None:
        self._database = PostgresConnections(url, timeout)
        self._bm25: dict[str, Bm25Encoder] = {}

    async def create(self, collection: Collection) -> None:
        statements = rows.schema(rows.table_name(collection), collection.dimensions)

        async def work(connection: Connection) -> None:
            # Two processes that make the same table at once would meet in the system's catalog.
            await connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
            for statement in statements:
                await connection.execute(statement)

        await self._database.run(work)

    async def drop(self, collection: Collection) -> None:
        table = rows.table_name(collection)
        await self._database.run(
            lambda c: c.execute(f"DROP TABLE IF EXISTS {table}, {table}_words")
        )

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
        bm25, table = self._words(collection), rows.table_name(collection)
        made = await asyncio.to_thread(_rows, chunks, vectors, tokens, bm25)

        async def work(connection: Connection) -> None:
            gone = await _delete_chunks(connection, table, [chunk.chunk_id for chunk in chunks])
            marks = ", ".join(["%s"] * len(rows.COLUMNS))
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    f"INSERT INTO {table} ({', '.join(rows.COLUMNS)}) VALUES ({marks})",
                    [values for values, _ in made],
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
        table = rows.table_name(collection)
        late: Sequence[bytes | None] = tokens if tokens is not None else [None] * len(ids)
        values = [(Vector(v), t, i) for v, t, i in zip(vectors, late, ids, strict=True)]

        async def work(connection: Connection) -> None:
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    f"UPDATE {table} SET dense = %s, tokens = coalesce(%s, tokens) "
                    "WHERE chunk_id = %s",
                    values,
                )

        await self._run_or_default(work, None)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        condition, values = translate(where)
        query = (
            f"SELECT payload FROM @table WHERE dense IS NULL AND {condition} "
            "ORDER BY chunk_id LIMIT %s"
        )
        found = await self._fetch_rows(collection, query, [*values, limit])
        return [rows.chunk_of(payload) for (payload,) in found]

    async def count_without_vectors(self, collection: Collection) -> int:
        query = "SELECT count(*) FROM @table WHERE dense IS NULL"
        found = await self._fetch_rows(collection, query, [])
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
        lists = [self._search_one(collection, one, condition, limit, exact) for one in searches]
        return list(await asyncio.gather(*lists))

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        query = "SELECT chunk_id, payload FROM @table WHERE chunk_id = ANY(%s)"
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {one: rows.chunk_of(payload) for one, payload in found}

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        query = "SELECT chunk_id, dense FROM @table WHERE chunk_id = ANY(%s) AND dense IS NOT NULL"
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {one: np.asarray(vector.to_numpy(), np.float32) for one, vector in found}

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        query = (
            "SELECT chunk_id, tokens FROM @table WHERE chunk_id = ANY(%s) AND tokens IS NOT NULL"
        )
        found = await self._fetch_rows(collection, query, [list(ids)]) if ids else []
        return {one: bytes(packed) for one, packed in found}

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        condition, values = translate(where)
        query = (
            f"SELECT payload FROM @table WHERE chunk_id > %s AND {condition} "
            "ORDER BY chunk_id LIMIT %s"
        )
        last = ""
        while True:
            found = await self._fetch_rows(collection, query, [last, *values, batch])
            chunks = [rows.chunk_of(payload) for (payload,) in found]
            if chunks:
                yield chunks
            if len(chunks) < batch:
                return
            last = chunks[-1].chunk_id

    async def delete(self, collection: Collection, where: Filter) -> None:
        condition, values = translate(where)
        table = rows.table_name(collection)

        async def work(connection: Connection) -> None:
            gone = await connection.execute(
                f"DELETE FROM {table} WHERE {condition} RETURNING words", values
            )
            found = [row for (row,) in await gone.fetchall()]
            await words.count(connection, table, (), found)

        await self._run_or_default(work, None)

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        condition, values = translate(where)
        query = f"SELECT count(*) FROM @table WHERE {condition}"
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
            f"SELECT {value} AS value, count(*) FROM @table WHERE {condition} "
            "GROUP BY value ORDER BY count(*) DESC, value LIMIT %s"
        )
        return dict(await self._fetch_rows(collection, query, [*values, limit]))

    async def optimize(self, collection: Collection) -> None:
        table = rows.table_name(collection)
        await self._run_or_default(lambda connection: connection.execute(f"ANALYZE {table}"), None)

    async def ready(self) -> None:
        await self._database.run(lambda connection: connection.execute("SELECT 1"))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._database.aclose()

    async def _search_one(
        self, collection: Collection, search: Search, condition: Sql, limit: int, exact: bool
    ) -> RankedList:
        where, values = condition
        if search.vector is not None:
            query = (
                "SELECT chunk_id, 1 - (dense <=> %s) FROM @table "
                f"WHERE dense IS NOT NULL AND {where} ORDER BY dense <=> %s LIMIT %s"
            )
            vector = Vector(search.vector)
            found = await self._fetch_rows(
                collection, query, [vector, *values, vector, limit], exact
            )
            return RankedList("dense", search.text, _scored_chunks(found))
        weights = await self._weights(collection, search.text)
        if not weights:
            return RankedList("bm25", search.text, ())
        query = (
            "SELECT chunk_id, -(bm25 <#> %s) AS score FROM @table "
            f"WHERE words && %s AND {where} ORDER BY score DESC, chunk_id LIMIT %s"
        )
        asked = SparseVector(weights, rows.WORDS)
        given = [asked, list(weights), *values, limit]
        return RankedList(
            "bm25", search.text, _scored_chunks(await self._fetch_rows(collection, query, given))
        )

    async def _weights(self, collection: Collection, text: str) -> dict[int, float]:
        asked = rows.words(self._words(collection).query(text))
        if not asked:
            return {}
        held = await self._fetch_rows(collection, words.HELD, [[*asked, words.EVERY_CHUNK]])
        return words.weights(asked, dict(held))

    async def _fetch_rows(
        self, collection: Collection, query: str, values: Sequence[Any], exact: bool = False
    ) -> list[Any]:
        """The rows of `query`, in which @table is the table; none if there is no table."""
        statement = query.replace("@table", rows.table_name(collection))

        async def work(connection: Connection) -> list[Any]:
            if exact:
                await connection.execute("SET LOCAL enable_indexscan = off")
            return await (await connection.execute(statement, values)).fetchall()

        return await self._run_or_default(work, [])

    async def _run_or_default(self, work: Callable[[Connection], Awaitable[T]], missing: T) -> T:
        try:
            return await self._database.run(work)
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


def _rows(
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[bytes] | None,
    bm25: Bm25Encoder,
) -> list[tuple[tuple[Any, ...], list[int]]]:
    dense = [None] * len(chunks) if vectors is None else list(vectors)
    late: Sequence[bytes | None] = [None] * len(chunks) if tokens is None else tokens
    return [rows.row(c, v, t, bm25) for c, v, t in zip(chunks, dense, late, strict=True)]


async def _delete_chunks(connection: Connection, table: str, ids: Sequence[str]) -> list[list[int]]:
    gone = await connection.execute(
        f"DELETE FROM {table} WHERE chunk_id = ANY(%s) RETURNING words", [list(ids)]
    )
    return [row for (row,) in await gone.fetchall()]


def _scored_chunks(found: Sequence[Any]) -> tuple[Scored, ...]:
    return tuple(Scored(one, float(score)) for one, score in found)
