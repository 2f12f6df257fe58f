"""Search by words: BM25, with the rarity of words counted in a table beside the chunks.

The counts are kept in the transactions that write chunks. Each writer adds to rows that no other
one writes at that time, its stripe, and a word's count is their sum: so nobody waits for the words
of somebody else, some of which every text has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgvector import SparseVector

from ragstone.index.postgres import table as rows
from ragstone.index.postgres.connection import Connection
from ragstone.index.postgres.filter import Sql
from ragstone.index.postgres.impacts import FUNCTION, LONGEST, Impact, Impacts
from ragstone.language.words import idf

EVERY_CHUNK = -1
"""The word that stands for all chunks."""

STRIPES = 256
"""Writers that do not wait for each other."""

FIRST = 1000
"""Chunks that are scored at first, at least."""

FOR_EACH = 10
"""So many for each that is asked for."""

MORE = 16
"""How many times as many follow, while too few of them are inside the filter."""


async def search(
    connection: Connection, table: str, asked: Mapping[int, float], where: Sql, limit: int
) -> list[Any]:
    """The ids and scores of the best chunks with a word that is asked for, all inside `where`.

    They are those that scoring every chunk with a word would find. A statement that scores only
    some is asked where a bound says that no other is better, and the filter is part of it.
    """
    held = await held_by(connection, table, asked)
    weighed = weights(asked, held)
    if not weighed:
        return []
    questioning = Questioning(connection, table, weighed, where, limit)
    whole = await rows.indexes(connection, table)
    if len(weighed) <= LONGEST and whole.get(rows.IMPACTS):
        # Few chunks are read: to start other processes for them takes longer.
        await connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        found = await questioning.bounded(Impact(weighed, held))
        if found is not None:
            return found
        await connection.execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
    return await questioning.everything()


class Questioning:
    """One question by words, in one transaction."""

    def __init__(
        self,
        connection: Connection,
        table: str,
        weighed: Mapping[int, float],
        where: Sql,
        limit: int,
    ) -> None:
        self._connection = connection
        self._table = table
        self._words = list(weighed)
        self._asked = SparseVector(dict(weighed), rows.WORDS)
        self._where = where
        self._limit = limit

    async def bounded(self, impact: Impact) -> list[Any] | None:
        """The best chunks, found by their impacts; None where those exclude no others."""
        score = await self._score(impact)
        if score is None or not (conditions := impact.conditions(score)):
            return None
        found = await self._with_impacts(conditions)
        # Fewer are left, or worse ones, if somebody deleted chunks meanwhile.
        return found if self._are_enough(found) and found[-1][1] >= score else None

    async def everything(self) -> list[Any]:
        """The best chunks, found by scoring every one with a word."""
        return await self._best(["words && %s::int4[]"], [self._words])

    async def _score(self, impact: Impact) -> float | None:
        """A score that at least `limit` chunks have; None where it takes all to know one."""
        chunks = max(FIRST, FOR_EACH * self._limit)
        while impacts := impact.heaviest(chunks):
            found = await self._with_impacts([impacts])
            if self._are_enough(found):
                return float(found[-1][1])
            chunks *= MORE
        return None

    async def _with_impacts(self, conditions: Sequence[Impacts]) -> list[Any]:
        tests = [f"{FUNCTION}(bm25) && %s::int8[]"] * len(conditions)
        return await self._best(tests, [sorted(impacts) for impacts in conditions])

    async def _best(self, tests: Sequence[str], held: Sequence[list[int]]) -> list[Any]:
        condition, values = self._where
        found = await self._connection.execute(
            f"SELECT chunk_id, -(bm25 <#> %s) AS score FROM {self._table} "
            f"WHERE {' AND '.join(tests)} AND {condition} ORDER BY score DESC, chunk_id LIMIT %s",
            [self._asked, *held, *values, self._limit],
        )
        return await found.fetchall()

    def _are_enough(self, found: Sequence[Any]) -> bool:
        return len(found) == self._limit


async def count(
    connection: Connection,
    table: str,
    written: Iterable[Sequence[int]],
    gone: Iterable[Sequence[int]],
) -> None:
    """Count the words of chunks that are written and of those that go."""
    if counts := _change(written, gone):
        stripe = await _own_stripe(connection, table)
        ordered = sorted(counts.items())
        await connection.execute(
            f"INSERT INTO {table}_words AS w (word, stripe, chunks) "
            "SELECT word, %s, chunks FROM unnest(%s::int4[], %s::int8[]) AS new (word, chunks) "
            "ON CONFLICT (word, stripe) DO UPDATE SET chunks = w.chunks + excluded.chunks",
            [stripe, [word for word, _ in ordered], [number for _, number in ordered]],
        )


def weights(asked: Mapping[int, float], held: Mapping[int, int]) -> dict[int, float]:
    """The inverse document frequencies of the words of a question, as Qdrant computes them."""
    every = held.get(EVERY_CHUNK, 0)
    return {
        word: asked[word] * idf(every, chunks)
        for word, chunks in held.items()
        if word != EVERY_CHUNK and chunks > 0
    }


async def held_by(connection: Connection, table: str, asked: Iterable[int]) -> dict[int, int]:
    """How many chunks hold each word, and how many there are."""
    found = await connection.execute(
        f"SELECT word, sum(chunks)::int8 FROM {table}_words WHERE word = ANY(%s) GROUP BY word",
        [[*asked, EVERY_CHUNK]],
    )
    return dict(await found.fetchall())


async def _own_stripe(connection: Connection, table: str) -> int:
    """A stripe that nobody else writes before this transaction ends."""
    lock = rows.lock(table)
    found = await connection.execute(
        "SELECT stripe FROM generate_series(0, %s) AS stripe "
        "WHERE pg_try_advisory_xact_lock(%s, stripe) LIMIT 1",
        [STRIPES - 1, lock],
    )
    if row := await found.fetchone():
        return int(row[0])
    await connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [lock])
    return 0


def _change(written: Iterable[Sequence[int]], gone: Iterable[Sequence[int]]) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for sign, chunks in ((1, written), (-1, gone)):
        for found in chunks:
            counts[EVERY_CHUNK] += sign
            for word in found:
                counts[word] += sign
    return {word: number for word, number in counts.items() if number}
