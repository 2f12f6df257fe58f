"""Many small collections in PostgreSQL: in a table that they share beside in tables of their own,
in one server and one run. `BENCH_COLLECTIONS=500` makes more than 61, and `BENCH_CHUNKS` are the
chunks of each (200). Texts are those of `benchmarks.sizes`, vectors have 384 numbers.

A question is asked in turn in one collection in its own table, in one of those that share a table,
and in one that is alone in such a table, in a database of its own.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg

from benchmarks.row import Row
from benchmarks.sizes import NAMES, SHARES, WIDTH, a_chunk
from ragstone.core.chunk import Chunk
from ragstone.core.filters import reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.plugins.evaluation.measures import percentile
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import Search, Vectors
from tests.conformance.postgres_server import postgres_server

COLLECTIONS = int(os.environ.get("BENCH_COLLECTIONS", "61"))
CHUNKS = int(os.environ.get("BENCH_CHUNKS", "200"))
QUESTIONS, TIMES = 60, 5
LIMIT = 30

MOST_OF_OWN = 1.1
"""The bound of a search in a shared table, in times of one in a table of its own."""

MOST_OF_ALONE = 1.25
"""The bound of a search beside all neighbours, in times of one without."""

RELATIONS = (
    "SELECT count(*) FILTER (WHERE relkind = 'i'), sum(pg_relation_size(oid))::int8 FROM pg_class "
    "WHERE relkind IN ('r', 't', 'i') AND (relname LIKE 'ragstone_%' OR oid IN ("
    "SELECT reltoastrelid FROM pg_class WHERE relname LIKE 'ragstone_%' UNION ALL "
    "SELECT indexrelid FROM pg_index WHERE indrelid IN ("
    "SELECT reltoastrelid FROM pg_class WHERE relname LIKE 'ragstone_%')))"
)
"""The indexes of a database, and the bytes of everything."""


def run() -> Iterator[Row]:
    with postgres_server() as server:
        yield from asyncio.run(compare(server.url))


async def compare(url: str) -> list[Row]:
    places = {name: a_database(url, name) for name in ("own", "shared", "alone")}
    connections = {name: PostgresConnections(place, 60) for name, place in places.items()}
    own, shared, alone = (PostgresIndex(connection) for connection in connections.values())
    async with aclosing(own), aclosing(shared), aclosing(alone):
        many = [a_collection(number) for number in range(COLLECTIONS)]
        created: dict[str, list[float]] = {"own": [], "shared": []}
        for number, collection in enumerate(many):
            made = some_chunks(number)
            for name, index in (("own", own), ("shared", shared), ("alone", alone)):
                if name == "alone" and number:
                    continue
                there = replace(collection, shared=name != "own")
                started = time.perf_counter()
                await index.create(there)
                if number and name in created:  # The first one makes the table.
                    created[name].append(time.perf_counter() - started)
                await index.upsert(there, *made)
                await index.optimize(there)
        for place in places.values():
            vacuum(place)
        taken: dict[str, list[float]] = {"own": [], "shared": [], "alone": []}
        first = many[0], replace(many[0], shared=True), replace(many[0], shared=True)
        for _ in range(TIMES):
            for searches in questions():
                indexes = zip(("own", "shared", "alone"), (own, shared, alone), first, strict=True)
                for name, index, collection in indexes:
                    started = time.perf_counter()
                    await index.search(collection, searches, WHERE, LIMIT)
                    taken[name].append(time.perf_counter() - started)
    return rows(places, created, taken)


def rows(
    places: dict[str, str], created: dict[str, list[float]], taken: dict[str, list[float]]
) -> list[Row]:
    what = f"{COLLECTIONS} collections of {CHUNKS} chunks on PostgreSQL"
    held = {name: relations(place) for name, place in places.items()}
    # The first round warms what is read.
    p50 = {name: percentile(times[QUESTIONS:], 0.5) for name, times in taken.items()}
    found = [
        Row(f"{what}: indexes, each in its own tables", held["own"][0]),
        Row(f"{what}: indexes, in shared tables", held["shared"][0], most=10),
        Row(f"{what}: each in its own tables", held["own"][1] / 2**20, "MiB"),
        Row(f"{what}: in shared tables", held["shared"][1] / 2**20, "MiB"),
    ]
    for name, times in created.items():
        how = "in tables of its own" if name == "own" else "in shared tables"
        found.append(Row(f"{what}: to create one {how}, p50", 1000 * percentile(times, 0.5), "ms"))
    ways = {"own": "in its own tables", "shared": "in shared tables", "alone": "alone there"}
    for name, how in ways.items():
        found.append(Row(f"{what}: a hybrid search in one {how}, p50", 1000 * p50[name], "ms"))
    of_own, of_alone = p50["shared"] / p50["own"], p50["shared"] / p50["alone"]
    return [
        *found,
        Row(f"{what}: shared over own, hybrid search, p50", of_own, most=MOST_OF_OWN),
        Row(f"{what}: with neighbours over without, p50", of_alone, most=MOST_OF_ALONE),
    ]


WHERE = reader_filter(Principal("default", "anna"))


def a_collection(number: int) -> Collection:
    return Collection("default", f"c{number}", "synthetic", "synthetic/1", WIDTH, "en")


def some_chunks(number: int) -> tuple[list[Chunk], Vectors]:
    random = np.random.default_rng(number)
    chunks = [a_chunk(random, item) for item in range(CHUNKS)]
    return chunks, unit(random.normal(size=(CHUNKS, WIDTH)))


def questions() -> Iterator[list[Search]]:
    random = np.random.default_rng(1)
    for _ in range(QUESTIONS):
        text = " ".join(NAMES[SHARES.searchsorted(random.random(8))])
        yield [Search(text, unit(random.normal(size=(1, WIDTH)))[0]), Search(text)]


def unit(vectors: np.ndarray) -> Vectors:
    made = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(made, np.float32)


def a_database(url: str, name: str) -> str:
    """Return the address of a new database of the server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def vacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM")


def relations(url: str) -> tuple[int, int]:
    """Return the number of indexes, and the bytes of tables and indexes."""
    with psycopg.connect(url) as connection:
        found = connection.execute(RELATIONS.encode()).fetchone()
    assert found
    return found[0], found[1]
