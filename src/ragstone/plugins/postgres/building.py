"""Indexes that take long to build: over meaning (HNSW), and over words and their impacts (GIN).

They are built while others read and write (`CONCURRENTLY`), after a bulk load and beside tables of
a former form. Whoever searches meanwhile uses what is whole.
"""

import logging
from dataclasses import dataclass

from psycopg.errors import LockNotAvailable

from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.connection import Connection

log = logging.getLogger(__name__)

FULL = 2_000
"""The longest vector that pgvector indexes at full precision."""

HALF = 4_000
"""The longest that it indexes at half."""

DENSE = "_dense"

LATE = "_late"

LONG_SECONDS = 5
"""Whoever has seen the data for so long, as a backup does, may go on for minutes: to build an index
takes as long then, and what is built before the time is over would be lost."""

BUILDING = 1_918_989_424
"""The first number of the lock of who builds; the second is the collection's."""


@dataclass(frozen=True, slots=True)
class Hnsw:
    """How vectors are indexed: links of one (2 to 100), candidates while building (4 to 1,000),
    and whether at half precision."""

    m: int = 16
    ef_construction: int = 64
    half: bool = False

    def name(self, dimensions: int) -> str:
        """What its index is called behind the table's name; the first form had only the usual."""
        kind = "half" if self.is_half(dimensions) else "full"
        usual = (self.m, self.ef_construction, kind) == (16, 64, "full")
        return DENSE if usual else f"{DENSE}_{kind}_{self.m}_{self.ef_construction}"

    def is_half(self, dimensions: int) -> bool:
        return self.half or dimensions > FULL

    def definition(self, table: str, dimensions: int) -> str:
        """Return what is indexed, and how."""
        half = self.is_half(dimensions)
        field = f"({_at_half(dimensions)})" if half else "dense"
        kind = "halfvec" if half else "vector"
        return (
            f"ON {table} USING hnsw ({field} {kind}_cosine_ops) "
            f"WITH (m = {self.m}, ef_construction = {self.ef_construction})"
        )


def nearest(table: str, dimensions: int, half: bool, where: str) -> str:
    """Return the statement that finds the chunks nearest to a vector; the order of those that an
    index of half precision finds is that of the whole vectors. Its values are the vector, those of
    `where`, the vector and how many."""
    near = "dense <=> %s"
    if half:
        near = f"{_at_half(dimensions)} <=> {_at_half(dimensions, '%s')}"
    return (
        "SELECT chunk_id, 1 - (dense <=> %s) AS score FROM ("
        f"SELECT chunk_id, dense FROM {table} WHERE dense IS NOT NULL AND {where} "
        f"ORDER BY {near} LIMIT %s) AS near ORDER BY score DESC"
    )


def nearest_late(table: str, where: str) -> str:
    """Return the statement that finds candidates of late interaction. Its values are the encoding
    of a question, those of `where`, the encoding and how many."""
    return (
        f"SELECT chunk_id, 1 - ({rows.LATE} <=> %s) FROM {table} "
        f"WHERE {rows.LATE} IS NOT NULL AND {where} "
        f"ORDER BY {rows.LATE} <=> %s LIMIT %s"
    )


def _at_half(dimensions: int, value: str = "dense") -> str:
    return f"{value}::halfvec({dimensions})"


def check_dimensions(collection: Collection) -> None:
    """Raise ConfigError for vectors that PostgreSQL cannot index."""
    if collection.dimensions > HALF:
        raise ConfigError(
            f"PostgreSQL indexes vectors of at most {HALF:,} numbers, and those of "
            f"{collection.model!r} have {collection.dimensions:,}. Set EMBEDDING__DIMENSIONS to "
            f"{HALF} or fewer if the model can, choose another model, or keep chunks in another "
            "index (INDEX__URL)."
        )


async def uses_half(connection: Connection, collection: Collection, table: str, hnsw: Hnsw) -> bool:
    """Tell whether vectors are to be looked for at half precision: by the index that is wanted, or
    by what an earlier setting had built until that is whole."""
    found = await rows.indexes(connection, table)
    whole = [name for name, done in found.items() if done and name.startswith(DENSE)]
    wanted = hnsw.name(collection.dimensions)
    return any(
        name.startswith(f"{DENSE}_half") for name in ([wanted] if wanted in whole else whole)
    )


async def lacks_index(
    connection: Connection, collection: Collection, table: str, hnsw: Hnsw
) -> bool:
    """Tell whether there are chunks, and an index over them is not as it should be."""
    found = await rows.indexes(connection, table)
    if all(found.get(name) for name in _index_definitions(collection, table, hnsw)):
        return False
    row = await (await connection.execute(f"SELECT EXISTS (SELECT FROM {table})")).fetchone()
    return bool(row and row[0])


async def is_held_up(connection: Connection) -> bool:
    """Tell whether what is built now would wait long for somebody to end."""
    found = await connection.execute(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend' "
        "AND backend_xmin IS NOT NULL AND query NOT LIKE 'CREATE INDEX CONCURRENTLY%%' "
        "AND xact_start < clock_timestamp() - make_interval(secs => %s))",
        [LONG_SECONDS],
    )
    row = await found.fetchone()
    return bool(row and row[0])


async def build(connection: Connection, collection: Collection, hnsw: Hnsw) -> None:
    """Build what is missing, and drop what an earlier setting or form had built.

    `connection` has no transaction. Where another process builds, that one goes on alone.
    """
    table = rows.table_name(collection)
    got = await connection.execute(
        "SELECT pg_try_advisory_lock(%s, %s)", [BUILDING, rows.chunk_table(collection).lock]
    )
    row = await got.fetchone()
    if not row or not row[0]:
        return
    wanted = _index_definitions(collection, table, hnsw)
    try:
        for name, definition in wanted.items():
            await _build(connection, table, name, definition)
        for name in await rows.indexes(connection, table):
            former = name.startswith(DENSE) or name in rows.FORMER
            if former and name not in wanted:
                await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {table}{name}")
    except LockNotAvailable:
        log.warning(
            "An index of PostgreSQL is not built yet: somebody holds a transaction on %s. "
            "The next ingest or start tries again; searches take longer until then.",
            table,
        )


def _index_definitions(collection: Collection, table: str, hnsw: Hnsw) -> dict[str, str]:
    """Return the indexes that a table should have, by what their names say behind its own."""
    found = {
        rows.TERMS: rows.terms(table),
        hnsw.name(collection.dimensions): hnsw.definition(table, collection.dimensions),
    }
    if collection.late:
        found[LATE] = (
            f"ON {table} USING hnsw ({rows.LATE} halfvec_cosine_ops) "
            f"WITH (m = {hnsw.m}, ef_construction = {hnsw.ef_construction})"
        )
    return found


async def _build(connection: Connection, table: str, name: str, definition: str) -> None:
    whole = (await rows.indexes(connection, table)).get(name)
    if whole:
        return
    if whole is False:  # What a build that was cut off has left.
        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {table}{name}")
    await connection.execute(f"CREATE INDEX CONCURRENTLY {table}{name} {definition}")
    if name == rows.TERMS:
        await connection.execute(rows.without_figures(table))
