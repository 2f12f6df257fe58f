"""Search by words: BM25, with the rarity of words counted in a table beside the chunks.

The counts are kept in the transactions that write chunks. Each writer adds to rows that no other
one writes at that time, its stripe, and a word's count is their sum: so nobody waits for the words
of somebody else, some of which every text has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgvector import SparseVector

from ragstone.language.words import inverse_document_frequency
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.connection import Connection
from ragstone.plugins.postgres.filter import Sql
from ragstone.plugins.postgres.impacts import FUNCTION, MAX_WORDS, Impact, Impacts
from ragstone.plugins.postgres.table import ChunkTable

EVERY_CHUNK = -1
"""The word that stands for all chunks."""

STRIPES = 256
"""Writers that do not wait for each other."""

LARGE = 20_000
"""Chunks with a word, each counted for every word it has, from which on a search reads a part."""

BUDGET, SHARE = 6_000, 160
"""That part: so many chunks, or of a larger collection one for so many. It is an estimate; about
twice as many are read."""

FEW = 2
"""So many times that part inside a filter are scored all."""

SMALL = "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL work_mem = '64MB'"
"""For a search that reads few chunks: to start other processes for them takes longer. With the
default of memory a bitmap of their places would keep pages, and each chunk of a page would be
compared by computing its impacts."""

NARROW = 0.2
"""The share of the chunks inside a filter up to which its own indexes are worth reading."""

AHEAD = 2
"""Times the best chunks that should be enough for a filter that leaves more."""

FIRST = 1000
"""Chunks that are scored at first, at least."""

FOR_EACH = 10
"""So many for each that is asked for."""

MORE = 16
"""How many times as many follow, while too few of them are inside the filter."""


async def search(
    connection: Connection, table: ChunkTable, asked: Mapping[int, float], where: Sql, limit: int
) -> list[Any]:
    """The ids and scores of the best chunks with a word that is asked for, all inside `where`.

    Where few chunks hold the words, they are those that scoring every one would find: a statement
    that scores only some is asked where a bound says that no other is better, and the filter is
    part of it. Where many do, those with the heaviest words are read, and scored by all words.
    """
    held = await count_word_chunks(connection, table, asked)
    weighed = weights(asked, held)
    if not weighed:
        return []
    every = held.get(EVERY_CHUNK, 0)
    budget = max(BUDGET, every // SHARE)
    questioning = Questioning(connection, table, weighed, where, limit)
    if table.part:  # It is small, and its words have no index.
        return await questioning.score_all()
    whole = await rows.indexes(connection, table.name)
    has_terms = whole.get(rows.TERMS, False)
    if not has_terms and not whole.get(rows.IMPACTS):
        return await questioning.score_all()
    if every > FEW * budget and await questioning.inside(every) <= FEW * budget:
        return await questioning.score_all()
    impact = Impact(weighed, held)
    await connection.execute(SMALL)
    found = None
    if every > FEW * budget and sum(held[word] for word in weighed) > LARGE:
        found = await questioning.heaviest(impact, budget, has_terms)
    elif len(weighed) <= MAX_WORDS:
        found = await questioning.search_by_impact(impact)
    if found is not None:
        return found
    await connection.execute("SET LOCAL max_parallel_workers_per_gather TO DEFAULT")
    return await questioning.score_all()


class Questioning:
    """One question by words, in one transaction."""

    def __init__(
        self,
        connection: Connection,
        table: ChunkTable,
        weighed: Mapping[int, float],
        where: Sql,
        limit: int,
    ) -> None:
        self._connection = connection
        self._rows = table.rows
        self._words = list(weighed)
        self._asked = SparseVector(dict(weighed), rows.WORDS)
        self._where = where
        self._limit = limit
        self._share = 0.0

    async def inside(self, every: int) -> float:
        """Tell how many of `every` chunk the filter leaves, as the planner estimates it."""
        condition, values = self._where
        found = await self._connection.execute(
            f"EXPLAIN (FORMAT JSON) SELECT FROM {self._rows} WHERE {condition}", values
        )
        row = await found.fetchone()
        chunks = float(row[0][0]["Plan"]["Plan Rows"]) if row else 0.0
        self._share = min(1.0, max(1.0, chunks) / every)
        return chunks

    async def search_by_impact(self, impact: Impact) -> list[Any] | None:
        """Return the best chunks, found by their impacts; None where those exclude no others."""
        score = await self._score(impact)
        if score is None or not (conditions := impact.conditions(score)):
            return None
        found = await self._with_impacts(conditions)
        # Fewer are left, or worse ones, if somebody deleted chunks meanwhile.
        return found if self._are_enough(found) and found[-1][1] >= score else None

    async def heaviest(
        self, impact: Impact, budget: int, has_terms: bool = True
    ) -> list[Any] | None:
        """Return the best of about `budget` chunks, those with the heaviest impacts, or of more
        where the filter leaves few; None where too few of them are inside.

        Common words without much weight only add to the scores of what others have found.
        `has_terms`: whether the index leaves out chunks with no other word of the question.
        """
        wanted = max(budget, FOR_EACH * self._limit)
        chunks = int(wanted / max(1 / MORE, self._share))
        while impacts := impact.heaviest(chunks):
            if has_terms and (others := impact.others(impacts)):
                found = await self._with_impacts([impacts], others)
                if self._are_enough(found):
                    return found
            found = await self._with_impacts([impacts])
            if self._are_enough(found):
                return found
            chunks *= MORE
        return None

    async def score_all(self) -> list[Any]:
        """Return the best chunks, found by scoring every one with a word."""
        return await self._best(["words && %s::int4[]"], [self._words])

    async def _score(self, impact: Impact) -> float | None:
        """Return a score that at least `limit` chunks have; None where it takes all to know one."""
        chunks = max(FIRST, FOR_EACH * self._limit)
        while impacts := impact.heaviest(chunks):
            found = await self._with_impacts([impacts])
            if self._are_enough(found):
                return float(found[-1][1])
            chunks *= MORE
        return None

    async def _with_impacts(
        self, conditions: Sequence[Impacts], others: Sequence[list[int]] = ()
    ) -> list[Any]:
        tests = [f"{FUNCTION}(bm25) && %s::int8[]"] * len(conditions)
        tests += ["words && %s::int4[]"] * len(others)
        held = [*(sorted(impacts) for impacts in conditions), *others]
        if self._share <= NARROW:
            return await self._best(tests, held)
        found = await self._best_of_best(tests, held, int(AHEAD * self._limit / self._share))
        return found if self._are_enough(found) else await self._best_of_best(tests, held)

    async def _best(self, tests: Sequence[str], held: Sequence[list[int]]) -> list[Any]:
        condition, values = self._where
        found = await self._connection.execute(
            f"SELECT chunk_id, -(bm25 <#> %s) AS score FROM {self._rows} "
            f"WHERE {' AND '.join(tests)} AND {condition} ORDER BY score DESC, chunk_id LIMIT %s",
            [self._asked, *held, *values, self._limit],
        )
        return await found.fetchall()

    async def _best_of_best(
        self, tests: Sequence[str], held: Sequence[list[int]], most: int | None = None
    ) -> list[Any]:
        """Return those inside a filter, which leaves many, among the best or among all: the
        planner, which knows nothing of impacts, would read an index for the filter, and compare
        each chunk with it before scores say which matter."""
        condition, values = self._where
        found = await self._connection.execute(
            "SELECT chunk_id, score FROM ("
            f"SELECT *, -(bm25 <#> %s) AS score FROM {self._rows} WHERE {' AND '.join(tests)} "
            "ORDER BY score DESC, chunk_id LIMIT %s"
            f") AS chunk WHERE {condition} ORDER BY score DESC, chunk_id LIMIT %s",
            [self._asked, *held, most, *values, self._limit],
        )
        return await found.fetchall()

    def _are_enough(self, found: Sequence[Any]) -> bool:
        return len(found) == self._limit


async def count(
    connection: Connection,
    table: ChunkTable,
    written: Iterable[Sequence[int]],
    gone: Iterable[Sequence[int]],
) -> None:
    """Count the words of chunks that are written and of those that go."""
    if counts := _change(written, gone):
        stripe = await _own_stripe(connection, table)
        ordered = sorted(counts.items())
        key = ", ".join((*table.key, "word", "stripe"))
        marks = "".join("%s::uuid, " for _ in table.key)
        await connection.execute(
            f"INSERT INTO {table.name}_words AS w ({key}, chunks) "
            f"SELECT {marks}word, %s, chunks "
            "FROM unnest(%s::int4[], %s::int8[]) AS new (word, chunks) "
            f"ON CONFLICT ({key}) DO UPDATE SET chunks = w.chunks + excluded.chunks",
            [*table.values, stripe, [word for word, _ in ordered], [n for _, n in ordered]],
        )


def weights(asked: Mapping[int, float], held: Mapping[int, int]) -> dict[int, float]:
    """The inverse document frequencies of the words of a question, as Qdrant computes them."""
    every = held.get(EVERY_CHUNK, 0)
    return {
        word: asked[word] * inverse_document_frequency(every, chunks)
        for word, chunks in held.items()
        if word != EVERY_CHUNK and chunks > 0
    }


async def count_word_chunks(
    connection: Connection, table: ChunkTable, asked: Iterable[int]
) -> dict[int, int]:
    """Tell how many chunks hold each word, and how many there are."""
    found = await connection.execute(
        f"SELECT word, sum(chunks)::int8 FROM {table.words} WHERE word = ANY(%s) GROUP BY word",
        [[*asked, EVERY_CHUNK]],
    )
    return dict(await found.fetchall())


async def _own_stripe(connection: Connection, table: ChunkTable) -> int:
    """Return a stripe that nobody else writes before this transaction ends."""
    lock = table.lock
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
