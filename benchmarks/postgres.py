"""The chunk index on PostgreSQL: searches by words and hybrid ones, what they find, writing, start.

`BENCH_CHUNKS=1000000` makes more than 100,000 chunks, which takes an hour or two and 12 GB on two
cores; from 300,000 on the server has 3 GB of `shared_buffers`.

Chunks are real passages with mixed words, and vectors with an index over meaning at half precision;
questions are those of squad2_dev. Then synthetic texts without vectors. What is found by words is
compared with scoring every chunk with a word. For nDCG@10 the documents of four sets each stand
among mixed ones of their own words, and a search reads as large a share of the chunks as it does of
a million. Searches take turns, each by one process of PostgreSQL.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from benchmarks import postgres_chunks as chunks
from benchmarks.common import eval_data
from benchmarks.row import Row
from benchmarks.startup import start_server
from ragstone.build import open_adapters
from ragstone.core.filters import EVERYTHING, Filter, path_filter, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal, RankedList
from ragstone.index.bm25 import Bm25Encoder
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.measures import ndcg, percentile
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres import words
from ragstone.plugins.postgres.building import Hnsw
from ragstone.plugins.postgres.connection import Connection, PostgresConnections
from ragstone.plugins.postgres.filter import translate
from ragstone.plugins.postgres.impacts import Impact
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import Search
from ragstone.settings import Settings
from tests.conformance.postgres_server import PostgresServer

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "100000"))
LARGE = 300_000
QUESTIONS = 200
WARM = 20
COMPARED = 30
"""Questions for which every chunk with a word is scored as well."""

JUDGED = 200
"""Questions of one set with judgements."""

AMONG = max(CHUNKS, LARGE)
"""Chunks of which the documents of a set are a part. The fewer there are, the more of the ten best
chance decides in so small a share of them."""

CANDIDATES = 100
WRITTEN, WRITES = 1_000, 12
URL = "http://127.0.0.1:18016"
SETS = {"squad2_dev": "SQuAD", "scifact": "SciFact", "cranfield": "Cranfield", "xquad/en": "XQuAD"}
MINE = reader_filter(Principal())
FILTERS = {"": MINE, " in a folder of one in a hundred": path_filter("/folder3")}
HALF = Hnsw(half=True)
WHAT = f"{CHUNKS:,} chunks on PostgreSQL"


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="ragstone-postgres-") as folder:
        server = PostgresServer(Path(folder) / "data")
        try:
            if CHUNKS >= LARGE:
                give_memory(server)
            yield from of_real_words(server.url)
            yield from of_synthetic_words(server.url)
            for name, shown in SETS.items():
                yield from judge(server.url, name, shown)
        finally:
            server.stop()


def give_memory(server: PostgresServer) -> None:
    """What docs/stores.md says of memory, for this many chunks."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        for name, value in (("shared_buffers", "3GB"), ("max_wal_size", "8GB")):
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
    server.stop()
    server.start()


def of_real_words(url: str) -> Iterator[Row]:
    collection = a_collection("real")
    started = time.perf_counter()
    chunks.load(url, collection, passages("squad2_dev"), CHUNKS)
    chunks.build_hnsw(url, collection, HALF)
    yield Row(f"{WHAT}: copied and indexed, in", time.perf_counter() - started, "s", detail=True)
    yield from asyncio.run(searched(url, collection))
    yield asyncio.run(start_beside_writer(url, collection))
    yield asyncio.run(measure_writes(url))
    drop(url, collection)


def a_collection(name: str) -> Collection:
    return Collection("default", name, "synthetic", "synthetic/1", 384, "en", id=name)


def passages(name: str) -> chunks.Mixed:
    return chunks.Mixed(tuple(entry.text for entry in dataset.corpus(eval_data() / name)))


def drop(url: str, collection: Collection) -> None:
    table = rows.table_name(collection)
    with psycopg.connect(url) as connection:
        connection.execute(f"DROP TABLE {table}, {table}_words".encode())


async def searched(url: str, collection: Collection) -> list[Row]:
    """Return one index query by words, by meaning, and by both at once; what is found by words."""
    database = PostgresConnections(url, 600)
    asked = [q.text for q in dataset.questions(eval_data() / "squad2_dev", "dev", QUESTIONS + WARM)]
    near = chunks.vectors(np.random.default_rng(5), len(asked), collection.dimensions)
    pairs = [(Search(text, vector), Search(text)) for text, vector in zip(asked, near, strict=True)]
    made: list[Row] = []
    async with aclosing(PostgresIndex(database, HALF)) as index:
        for where, condition in FILTERS.items():
            seconds = await in_turns(index, collection, pairs, condition)
            for kind, taken in seconds.items():
                most = 60 if kind == "hybrid" and not where else None
                what = f"{WHAT}, questions of SQuAD: {kind}{where}"
                made += [
                    Row(f"{what}, p50", 1000 * percentile(taken, 0.5), "ms"),
                    Row(f"{what}, p95", 1000 * percentile(taken, 0.95), "ms", most=most),
                ]
        what = f"{WHAT}, questions of SQuAD"
        texts = asked[:: len(asked) // COMPARED]
        made += await compare_search(database, index, collection, what, texts)
    return made


async def in_turns(
    index: PostgresIndex,
    collection: Collection,
    pairs: Sequence[tuple[Search, Search]],
    where: Filter,
) -> dict[str, list[float]]:
    """Return the seconds of every kind of search, each at another question than the others at that
    time, so that none finds in memory what another has just read."""
    seconds: dict[str, list[float]] = {"by words": [], "by meaning": [], "hybrid": []}
    for number in range(len(pairs)):
        for turn, kind in enumerate(seconds):
            meaning, by_words = pairs[(number + 7 * turn) % len(pairs)]
            asked = {"by words": [by_words], "by meaning": [meaning]}.get(kind, [meaning, by_words])
            taken, _ = await time_query(index.search(collection, asked, where, CANDIDATES))
            if number >= WARM:
                seconds[kind].append(taken)
    return seconds


def of_synthetic_words(url: str) -> Iterator[Row]:
    collection = a_collection("synthetic")
    chunks.load(url, collection, chunks.Synthetic(), CHUNKS, with_vectors=False)
    yield from asyncio.run(synthetic_searched(url, collection))
    drop(url, collection)


async def synthetic_searched(url: str, collection: Collection) -> list[Row]:
    database = PostgresConnections(url, 600)
    async with aclosing(PostgresIndex(database)) as index:
        made: list[Row] = []
        for kind, texts in kinds().items():
            made += await compare_search(database, index, collection, f"{WHAT}, {kind}", texts)
    return made


def kinds() -> dict[str, list[str]]:
    """Return questions of 5 and of 15 words of a chunk, and of 4 of the 30 commonest words."""
    random = np.random.default_rng(1)
    some = islice(chunks.Synthetic().some(random, 0, 40 * COMPARED), 0, None, 40)
    chosen = [text.split() for text in some]

    def drawn(count: int) -> list[str]:
        return [" ".join(random.choice(item, min(count, len(item)))) for item in chosen]

    common = [" ".join(f"w{n}" for n in random.integers(0, 30, 4)) for _ in chosen]
    return {"5 words": drawn(5), "15 words": drawn(15), "4 common words": common}


async def compare_search(
    database: PostgresConnections,
    index: PostgresIndex,
    collection: Collection,
    what: str,
    texts: Sequence[str],
) -> list[Row]:
    """Return a search by words beside scoring every chunk with a word, and how many of the 10 best
    it finds, or others that score as much."""
    taken, every, found = [], [], []
    for text in texts:
        seconds, [said] = await time_query(
            index.search(collection, [Search(text)], MINE, CANDIDATES)
        )
        taken.append(seconds)
        seconds, expected = await time_query(everything(database, collection, text, MINE))
        every.append(seconds)
        found.append(share_found(said, expected))
    return [
        Row(f"{what}: by words beside it, p50", 1000 * percentile(taken, 0.5), "ms"),
        Row(f"{what}: by words beside it, p95", 1000 * percentile(taken, 0.95), "ms"),
        Row(f"{what}: scoring every chunk with a word, p50", 1000 * percentile(every, 0.5), "ms"),
        Row(f"{what}: times as fast as that", sum(every) / sum(taken), least=1),
        Row(f"{what}: of the 10 best found", float(np.mean(found))),
    ]


def share_found(said: RankedList, expected: Sequence[tuple[str, float]]) -> float:
    best = [score for _, score in expected[:10]]
    as_good = [item for item in said.found[: len(best)] if item.score >= best[-1] - 1e-5]
    return len(as_good) / len(best) if best else 1.0


async def time_query(work: Awaitable[Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = await work
    return time.perf_counter() - started, found


async def everything(
    database: PostgresConnections, collection: Collection, text: str, where: Filter
) -> list[Any]:
    """Return the best of every chunk with a word."""

    async def work(connection: Connection) -> list[Any]:
        await connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        one, _, _ = await weigh_question(connection, collection, text, where, CANDIDATES)
        return await one.score_all()

    return await database.run(work)


async def weigh_question(
    connection: Connection, collection: Collection, text: str, where: Filter, limit: int
) -> tuple[words.Questioning, Impact, int]:
    """Return a question with what can be worth how much for it, and how many chunks there are."""
    table = rows.table_name(collection)
    asked = rows.words(Bm25Encoder("en").query(text))
    held = await words.count_word_chunks(connection, rows.ChunkTable(table), asked)
    weighed = words.weights(asked, held)
    one = words.Questioning(connection, rows.ChunkTable(table), weighed, translate(where), limit)
    return one, Impact(weighed, held), held[words.EVERY_CHUNK]


def judge(url: str, name: str, shown: str) -> list[Row]:
    collection = a_collection("judged")
    texts = passages(name)
    mixed = chunks.Mixed(texts.passages, real=len(texts.passages))
    chunks.load(url, collection, mixed, AMONG, with_vectors=False)
    made = asyncio.run(judge_search(url, collection, name, shown))
    drop(url, collection)
    return made


async def judge_search(url: str, collection: Collection, name: str, shown: str) -> list[Row]:
    folder = eval_data() / name
    ids = {entry.id: chunks.chunk_id(i) for i, entry in enumerate(dataset.corpus(folder))}
    every, bounded = [], []
    database = PostgresConnections(url, 600)
    async with aclosing(PostgresIndex(database)):
        for question in dataset.questions(folder, "dev", JUDGED):
            if relevant := {ids[item] for item in question.relevant if item in ids}:
                expected, found = await both_ways(database, collection, question.text)
                every.append(ndcg([item for item, _ in expected], relevant, 10))
                bounded.append(ndcg([item for item, _ in found], relevant, 10))
    what = f"{shown} among {AMONG:,} chunks on PostgreSQL, by words"
    difference = float(np.mean(bounded) - np.mean(every))
    return [
        Row(f"{what}: nDCG@10 of scoring every chunk with a word", float(np.mean(every))),
        Row(f"{what}: nDCG@10 of reading a part, less that", difference, least=-0.005),
    ]


async def both_ways(
    database: PostgresConnections, collection: Collection, text: str
) -> tuple[list[Any], list[Any]]:
    """What scoring every chunk with a word finds, and reading such a share as of a million."""

    async def work(connection: Connection) -> tuple[list[Any], list[Any]]:
        one, impact, every = await weigh_question(connection, collection, text, EVERYTHING, 10)
        await one.inside(every)
        expected = await one.score_all()
        return expected, await one.heaviest(impact, every // words.SHARE) or expected

    return await database.run(work)


async def measure_writes(url: str) -> Row:
    """What it costs to write with one index over words, relative to the two of a former form."""
    seconds: dict[str, list[float]] = {"one": [], "two": []}
    texts = list(passages("squad2_dev").some(np.random.default_rng(9), 0, WRITES * WRITTEN))
    async with aclosing(PostgresIndex(PostgresConnections(url, 600))) as index:
        for name in seconds:
            await index.create(a_collection(name))
        former(url, a_collection("two"))
        for turn in range(WRITES):
            for name, taken in seconds.items():
                numbers = range(turn * WRITTEN, (turn + 1) * WRITTEN)
                some = [chunks.a_chunk(a_collection(name), texts[i], i) for i in numbers]
                taken.append((await time_query(index.upsert(a_collection(name), some)))[0])
        for name in seconds:
            await index.drop(a_collection(name))
    return Row(
        "Writing to PostgreSQL with one index over words and impacts, relative to two",
        sum(seconds["one"]) / sum(seconds["two"]),
        "x",
        most=1.25,
    )


def former(url: str, collection: Collection) -> None:
    """Give a collection the indexes over words that its table had before."""
    table = rows.table_name(collection)
    pending = "WITH (gin_pending_list_limit = 256)"
    with psycopg.connect(url) as connection:
        for statement in (
            f"DROP INDEX {table}{rows.TERMS}",
            f"CREATE INDEX {table}_impacts ON {table} USING gin (ragstone_impacts(bm25)) {pending}",
            f"CREATE INDEX {table}_bm25 ON {table} USING gin (words)",
        ):
            connection.execute(statement.encode())


async def start_beside_writer(url: str, collection: Collection) -> Row:
    """Seconds until a server is ready while somebody writes and does not commit."""
    table = rows.table_name(collection)
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(ragstone_data=Path(data))
        async with open_adapters(settings) as (adapters, _, _):
            embedder = adapters.embedders.choose("en")
            known = Collection(
                "default",
                collection.name,
                embedder.name,
                embedder.fingerprint,
                collection.dimensions,
                "en",
                id=collection.id,
            )
            await adapters.catalog.put_collection(known)
        environment = {
            **os.environ,
            "RAGSTONE_DATA": data,
            "INDEX__URL": url,
            "INDEX__OPTIONS": '{"halfvec": true}',
        }
        with psycopg.connect(url) as writer:
            writer.execute(f"DELETE FROM {table} WHERE document_id = 'd7'".encode())
            writer.execute(f"UPDATE {table}_words SET chunks = chunks + 1".encode())
            started = time.perf_counter()
            with start_server(environment, URL):
                taken = time.perf_counter() - started
            writer.rollback()
    return Row(f"{WHAT}: `ragstone serve` until ready beside a writer", taken, "s", most=5)
