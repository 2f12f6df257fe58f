"""How many chunks hold each word: BM25 weighs the words of a question by their rarity.

The counts are a table beside that of the chunks, kept in the transactions that write those.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ragstone.index.postgres.connection import Connection
from ragstone.language.words import idf

EVERY_CHUNK = -1
"""The word that stands for all chunks."""

HELD = "SELECT word, chunks FROM @table_words WHERE word = ANY(%s)"
"""Asks for the counts of some words of @table."""


async def count(
    connection: Connection,
    table: str,
    written: Iterable[Sequence[int]],
    gone: Iterable[Sequence[int]],
) -> None:
    """Count the words of chunks that are written and of those that go."""
    if counts := _change(written, gone):
        # In order, so that two writers never wait for each other in a circle.
        ordered = sorted(counts.items())
        await connection.execute(
            f"INSERT INTO {table}_words AS w SELECT * FROM unnest(%s::int4[], %s::int8[]) "
            "ON CONFLICT (word) DO UPDATE SET chunks = w.chunks + excluded.chunks",
            [[word for word, _ in ordered], [number for _, number in ordered]],
        )


def weights(asked: Mapping[int, float], held: Mapping[int, int]) -> dict[int, float]:
    """The inverse document frequencies of the words of a question, as Qdrant computes them."""
    every = held.get(EVERY_CHUNK, 0)
    return {
        word: asked[word] * idf(every, chunks)
        for word, chunks in held.items()
        if word != EVERY_CHUNK and chunks > 0
    }


def _change(written: Iterable[Sequence[int]], gone: Iterable[Sequence[int]]) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for sign, chunks in ((1, written), (-1, gone)):
        for found in chunks:
            counts[EVERY_CHUNK] += sign
            for word in found:
                counts[word] += sign
    return {word: number for word, number in counts.items() if number}
