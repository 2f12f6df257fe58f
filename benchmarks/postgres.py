"""The chunk index on PostgreSQL: questions by words beside scoring every chunk with a word.

Texts are synthetic: words as rare as in a language, 25 of them frequent in each document of 20
chunks. `BENCH_CHUNKS=300000` makes more than 100,000. Both ways are asked in turns, each by one
process of PostgreSQL.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.filters import readable
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.evaluation.measures import percentile
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.postgres import table as rows
from ragstone.index.postgres import words
from ragstone.index.postgres.connection import Connection, PostgresConnections
from ragstone.index.postgres.filter import translate
from ragstone.index.postgres.index import PostgresIndex
from ragstone.ports import Search
from tests.conformance.postgres_server import PostgresServer

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "100000"))
BATCH = 2_000
QUESTIONS = 30
CANDIDATES = 100
WORDS = 60_000
COLLECTION = Collection("default", "words", "synthetic", "synthetic/1", 8, "en")
MINE = readable(Principal())
SHARES = (1 / np.arange(10, WORDS + 10)).cumsum() / (1 / np.arange(10, WORDS + 10)).sum()


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ragstone-postgres-") as folder:
        server = PostgresServer(Path(folder) / "data")
        try:
            return asyncio.run(measure(server.url))
        finally:
            server.stop()


async def measure(url: str) -> list[Row]:
    """Both ways for each kind of question; whether they find the same."""
    database = PostgresConnections(url, 600)
    async with aclosing(PostgresIndex(database)) as index:
        random = np.random.default_rng(3)
        started = time.perf_counter()
        texts = await fill(index, random)
        made = [
            Row(f"{CHUNKS:,} chunks on PostgreSQL: written, in", time.perf_counter() - started, "s")
        ]
        for kind, questions in kinds(texts, random).items():
            made += await compare(database, index, kind, questions)
    return made


async def compare(
    database: PostgresConnections, index: PostgresIndex, kind: str, questions: list[str]
) -> list[Row]:
    bounded, every, same = [], [], 0
    for text in questions:
        taken, found = await timed(index.search(COLLECTION, [Search(text)], MINE, CANDIDATES))
        bounded.append(taken)
        taken, expected = await timed(everything(database, text))
        every.append(taken)
        same += [(one.chunk_id, one.score) for one in found[0].found] == expected
    what = f"{CHUNKS:,} chunks on PostgreSQL, {kind}"
    faster = sum(every) / sum(bounded)
    return [
        Row(f"{what}: by words, p50", 1000 * percentile(bounded, 0.5), "ms"),
        Row(f"{what}: by words, p95", 1000 * percentile(bounded, 0.95), "ms"),
        Row(f"{what}: scoring every one, p50", 1000 * percentile(every, 0.5), "ms"),
        Row(f"{what}: times as fast as scoring every one", faster, least=1),
        Row(f"{what}: the same {CANDIDATES} best", same / len(questions), least=1),
    ]


async def timed(work: Awaitable[Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = await work
    return time.perf_counter() - started, found


async def everything(database: PostgresConnections, text: str) -> list[Any]:
    """The best of every chunk with a word."""
    table = rows.table_name(COLLECTION)
    asked = rows.words(Bm25Encoder("en").query(text))

    async def work(connection: Connection) -> list[Any]:
        await connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        weighed = words.weights(asked, await words.held_by(connection, table, asked))
        one = words.Questioning(connection, table, weighed, translate(MINE), CANDIDATES)
        return await one.everything()

    return await database.run(work)


def kinds(texts: list[str], random: np.random.Generator) -> dict[str, list[str]]:
    """Questions of 5 and of 15 words of a chunk, and of 4 of the 30 commonest words."""
    chosen = [texts[i].split() for i in random.integers(0, len(texts), QUESTIONS)]

    def some(count: int) -> list[str]:
        return [" ".join(random.choice(one, min(count, len(one)))) for one in chosen]

    common = [" ".join(f"w{n}" for n in random.integers(0, 30, 4)) for _ in chosen]
    return {"5 words": some(5), "15 words": some(15), "4 common words": common}


async def fill(index: PostgresIndex, random: np.random.Generator) -> list[str]:
    """Write all chunks; returns some of their texts."""
    texts = []
    await index.create(COLLECTION)
    numbers = chunks(random)
    for _ in range(0, CHUNKS, BATCH):
        batch = [chunk for chunk, _ in zip(numbers, range(BATCH), strict=False)]
        await index.upsert(COLLECTION, batch)
        texts.append(batch[0].text)
    await index.optimize(COLLECTION)
    return texts


def chunks(random: np.random.Generator) -> Iterator[Chunk]:
    topic = np.zeros(25, int)
    for number in range(CHUNKS):
        if number % 20 == 0:
            topic = SHARES.searchsorted(random.random(25))
        length = int(np.clip(random.lognormal(4.5, 0.5), 10, 300))
        drawn = SHARES.searchsorted(random.random(length))
        about = random.random(length) < 0.25
        drawn[about] = random.choice(topic, about.sum())
        text = " ".join(f"w{word}" for word in drawn)
        yield Chunk(
            chunk_id=str(UUID(int=number)),
            document_id=f"d{number // 20}",
            version=1,
            chunk_index=number % 20,
            text=text,
            title="",
            path=f"/folder{number % 100}/d{number // 20}.txt",
            tenant=COLLECTION.tenant,
            collection=COLLECTION.id,
            start=0,
            end=len(text),
        )
