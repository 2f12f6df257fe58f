"""The tables of collections in PostgreSQL, and how a chunk becomes a row.

A collection has tables of its own, or is a part of tables that many small ones share. The rows of a
part are found by the primary key, which begins with the part, and compared one by one.

Words are the sparse vectors of `bm25`, whose inner product with the rarity of the question's
words (`words.py`) is the BM25 score. An index over the words of each row, and over words with
levels of their weights (`impacts.py`), finds the candidates, and those that can be among the best.

A table's comment says which form it is of, so that a start asks for it and changes nothing.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import qdrant_edge as edge
from pgvector import SparseVector, Vector

from ragstone.core.chunk import Chunk
from ragstone.core.filters import tokens
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.late import DIMENSIONS
from ragstone.plugins.postgres.connection import Connection
from ragstone.plugins.postgres.filter import keyword
from ragstone.plugins.postgres.impacts import DEFINITION, FUNCTION

WORDS = 999_999_937
"""Different words; sparse vectors have at most 10^9 dimensions, and the words' hashes have 2^32."""

FORM = "ragstone 2"
"""The form of the tables; without a comment they are of the first, before words had stripes."""

SHARED_FORM = "ragstone shared 1"
"""The form of the tables that collections share."""

TERMS = "_terms"
"""What the index over words with levels, and over words, is called behind the table's name. As one
index it excludes by the one what it finds by the other, and a write goes into one."""

IMPACTS = "_impacts"
"""The index over words with levels alone, of tables that have no other yet."""

FORMER = (IMPACTS, "_bm25")
"""What stood for it before, until it is built."""

KEYWORDS = (
    "tenant",
    "collection",
    "document_id",
    "revision",
    "path",
    "media_type",
    "kind",
    "language",
)
LISTS = ("allowed", "folders", "pairs")
NUMBERS = ("page", "chunk_index", "version", "modified")
LATE = "late"
"""The column by which late interaction finds candidates (`index.late`), where the collection is
searched by it."""

ID = 'text COLLATE "C"'

COLUMNS = ("chunk_id", *KEYWORDS, *LISTS, *NUMBERS, "payload", "words", "bm25", "dense", "tokens")


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Where the chunks of a collection are: the table of this name, or one `part` of it."""

    name: str
    part: str = ""

    @property
    def rows(self) -> str:
        """What a statement reads instead of a table: of a shared one, never another's part."""
        return self._of_part(self.name)

    @property
    def words(self) -> str:
        """The same of the frequencies of words."""
        return self._of_part(f"{self.name}_words")

    @property
    def mine(self) -> str:
        """The condition of a statement that changes or deletes rows."""
        return f"part = '{self.part}'" if self.part else "TRUE"

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that say whose a row is, before those that say which one."""
        return ("part",) if self.part else ()

    @property
    def values(self) -> tuple[str, ...]:
        """The values of `key`."""
        return (self.part,) if self.part else ()

    @property
    def collection(self) -> str:
        """Different for every collection."""
        return f"{self.name} {self.part}"

    @property
    def lock(self) -> int:
        """The number of the collection in PostgreSQL's advisory locks of two numbers."""
        identity = self.part or self.name.removeprefix("ragstone_")
        return int.from_bytes(bytes.fromhex(identity[:8]), signed=True)

    def _of_part(self, table: str) -> str:
        return f"(SELECT * FROM {table} WHERE {self.mine}) AS of_part" if self.part else table


def chunk_table(collection: Collection) -> ChunkTable:
    """Return where a collection is."""
    if not collection.shared:
        return ChunkTable(table_name(collection))
    return ChunkTable(shared_name(collection), _identity(collection))


def table_name(collection: Collection) -> str:
    """The name of a table of its own, which no other collection has and which needs no quoting."""
    return f"ragstone_{_identity(collection)}"


def shared_name(collection: Collection) -> str:
    """Return the name of the table that it shares with others whose rows have the same columns."""
    return f"ragstone_shared_{collection.dimensions}{'_late' if collection.late else ''}"


def _identity(collection: Collection) -> str:
    identity = json.dumps([collection.tenant, collection.id, collection.build])
    return sha256(identity.encode()).hexdigest()[:32]


def columns(collection: Collection) -> tuple[str, ...]:
    """Return the columns of the collection's table."""
    return (*COLUMNS, LATE) if collection.late else COLUMNS


def schema(table: str, collection: Collection) -> list[str]:
    """Return the statements that make new tables and indexes. The index over meaning is built when
    there is something in it (`building.py`)."""
    made = [
        f"CREATE TABLE {table} (chunk_id {ID} PRIMARY KEY, {_definitions(collection)})",
        # Beside what is filtered by, not apart: it is read for every chunk that is scored.
        f"ALTER TABLE {table} ALTER bm25 SET STORAGE MAIN",
        f"CREATE TABLE {table}_words (word int4, chunks int8 NOT NULL, "
        "stripe int2 NOT NULL DEFAULT 0, PRIMARY KEY (word, stripe))",
        DEFINITION,
        f"CREATE INDEX {table}{TERMS} {terms(table)}",
        without_figures(table),
        f"CREATE INDEX {table}_wait ON {table} (chunk_id) WHERE dense IS NULL",
    ]
    for name in LISTS:
        made.append(f"CREATE INDEX {table}_{name} ON {table} USING gin ({name})")
    for name in ("document_id", "revision", "path"):
        made.append(f"CREATE INDEX {table}_{name} ON {table} USING hash ({name})")
    return [*made, _says_form(table, FORM)]


def shared_schema(table: str, collection: Collection) -> list[str]:
    """Return the statements that make tables for many collections, each a part.

    Without figures about its columns the planner takes a part for one of 200 and reads it by the
    primary key, whatever was there when figures would have been made.
    """
    columns_of = {table: ("part", *columns(collection)), f"{table}_words": ("part", "word")}
    without = [
        f"ALTER TABLE {name} {', '.join(f'ALTER {item} SET STATISTICS 0' for item in found)}"
        for name, found in columns_of.items()
    ]
    return [
        f"CREATE TABLE {table} (part uuid, chunk_id {ID}, {_definitions(collection)}, "
        "PRIMARY KEY (part, chunk_id))",
        # Vectors beside what is filtered by: those of a whole part are read for every search.
        f"ALTER TABLE {table} SET (toast_tuple_target = 8160)",
        f"ALTER TABLE {table} ALTER bm25 SET STORAGE MAIN",
        f"CREATE TABLE {table}_words (part uuid, word int4, chunks int8 NOT NULL, "
        "stripe int2 NOT NULL, PRIMARY KEY (part, word, stripe))",
        *without,
        _says_form(table, SHARED_FORM),
    ]


def _definitions(collection: Collection) -> str:
    definitions = [
        *(f"{name} text NOT NULL" for name in KEYWORDS),
        *(f"{name} text[] NOT NULL" for name in LISTS),
        *(f"{name} float8" for name in NUMBERS),
        "payload bytea NOT NULL",
        "words int4[] NOT NULL",
        f"bm25 sparsevec({WORDS}) NOT NULL",
        f"dense vector({collection.dimensions})",
        "tokens bytea",
        *([f"{LATE} halfvec({DIMENSIONS})"] if collection.late else []),
    ]
    return ", ".join(definitions)


def upgrade(table: str) -> list[str]:
    """Return the statements that bring tables of the first form to this one, which take a moment:
    what takes long is built afterwards (`building.py`)."""
    return [
        f"ALTER TABLE {table}_words ADD COLUMN stripe int2 NOT NULL DEFAULT 0",
        f"ALTER TABLE {table}_words DROP CONSTRAINT {table}_words_pkey, "
        "ADD PRIMARY KEY (word, stripe)",
        DEFINITION,
        _says_form(table, FORM),
    ]


def terms(table: str) -> str:
    """Return what the index over words is over. What it has yet to sort in, in kilobytes, is read
    by every search; with a quarter of that, writing takes a fifth longer."""
    return f"ON {table} USING gin ({FUNCTION}(bm25), words) WITH (gin_pending_list_limit = 1024)"


def sort_statement(table: str) -> str:
    """Sorts what was written into the indexes over words, which a search would read whole."""
    names = ", ".join(f"'{table}{name}'" for name in (TERMS, *FORMER))
    return (
        "SELECT gin_clean_pending_list(index) FROM unnest("
        f"ARRAY[{names}]) AS name, to_regclass(name) AS index WHERE index IS NOT NULL"
    )


def without_figures(table: str) -> str:
    """Without figures about levels the planner takes a condition for rare, as it nearly always is;
    they would take seconds to make."""
    return f"ALTER INDEX {table}{TERMS} ALTER COLUMN 1 SET STATISTICS 0"


def _says_form(table: str, form: str) -> str:
    return f"COMMENT ON TABLE {table} IS '{form}'"


async def form(connection: Connection, table: str) -> str | None:
    """The form that a table is of, empty for the first one; None if there is no such table."""
    found = await connection.execute(
        "SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class "
        "WHERE oid = to_regclass(%s)",
        [table],
    )
    row = await found.fetchone()
    return row[0] if row else None


async def indexes(connection: Connection, table: str) -> dict[str, bool]:
    """The indexes of a table by what their names say behind its own; whether each is whole."""
    found = await connection.execute(
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE indrelid = to_regclass(%s)",
        [table],
    )
    return {name.removeprefix(table): whole for name, whole in await found.fetchall()}


def row(
    chunk: Chunk, vector: Any, packed: bytes | None, late: tuple[Any, ...], bm25: Bm25Encoder
) -> tuple[tuple[Any, ...], list[int]]:
    """Return a chunk as the values of COLUMNS, with those of `late` behind them, and its words."""
    payload = chunk.payload()
    pairs = [keyword(pair) for pair in tokens(chunk.metadata)]
    lists = [[keyword(v) for v in payload[name]] for name in ("allowed", "folders")]
    weights = words(bm25.document(chunk.searchable))
    found = sorted(weights)
    values = (
        chunk.chunk_id,
        *(keyword(payload[name]) for name in KEYWORDS),
        *lists,
        pairs,
        *(payload[name] for name in NUMBERS),
        json.dumps(payload).encode(),
        found,
        SparseVector(weights, WORDS),
        None if vector is None else Vector(vector),
        packed,
        *late,
    )
    return values, found


def words(sparse: edge.SparseVector) -> dict[int, float]:
    """Return a sparse vector by word; of two words of one number the heavier counts."""
    found: dict[int, float] = {}
    for index, value in zip(sparse.indices, sparse.values, strict=True):
        word = index % WORDS
        found[word] = max(value, found.get(word, 0.0))
    return found


def read_chunk(payload: bytes) -> Chunk:
    """Return the inverse of `row`."""
    return Chunk.from_payload(json.loads(payload))
