"""One question at 100,000 chunks: what Ragstone adds to the query's embedding and one search."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from benchmarks.common import eval_data, resident_mb
from benchmarks.row import Row
from ragstone.answer.generate import Generate
from ragstone.build import open_adapters
from ragstone.core.chunk import Chunk
from ragstone.core.filters import And, Filter, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Principal
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Adapters, LateEmbedder, Search
from ragstone.recipes.recipe import Recipes
from ragstone.settings import CacheSettings, Settings
from ragstone.understand.route import Route

CHUNKS = 100_000
QUESTIONS = 200
NAME = "latency"
WARM = 10
APART = 40
TOKENS = 400
"""Real passages whose token vectors all chunks share."""

READER = Principal(groups=tuple(f"group {number}" for number in range(20)))
MEANT = np.eye(1, 384, dtype=np.float32)[0]
CHANGED = "00000000-0000-4000-8000-000000000001"

HYBRID = {"rerank": False, "feedback": False}
LATE = {"rerank": True, "feedback": True, "reranked": 30}


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        # Another process fills the index, so that its memory is not counted here.
        subprocess.run([sys.executable, "-m", "benchmarks.latency", directory], check=True)
        return asyncio.run(measure(Path(directory)))


async def measure(data: Path) -> list[Row]:
    settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False))
    async with open_adapters(settings) as (adapters, _, _):
        questions = [q.text for q in dataset.questions(eval_data() / "squad2_dev", "dev")]
        [collection] = await adapters.catalog.collections()
        stages = Recipes(Settings()).of("plain", "standard").stages
        before = stages[: [stage.name for stage in stages].index(Generate.name)]
        works = {
            "embed": partial(embed, adapters, collection),
            "floor": partial(embed_and_search, adapters, collection),
            "read": partial(search, adapters, collection, reader_filter(READER)),
            "open": partial(search, adapters, collection, And(())),
            "changed": partial(change, adapters, collection),
            "hybrid": partial(finish, a_search(adapters, HYBRID)),
            "late": partial(finish, a_search(adapters, LATE)),
            "whole": partial(finish, Engine(adapters, {"standard": Recipe(before)})),
        }
        seconds = await times(questions[:QUESTIONS], works)
        memory = resident_mb()
    p50 = {name: percentile(some, 0.5) for name, some in seconds.items()}
    return [
        Row("One query embedding, p50", 1000 * p50["embed"], "ms"),
        Row(
            "Embedding and one index query (meaning + words + ACL) at 100,000 chunks, p50",
            1000 * p50["floor"],
            "ms",
        ),
        Row(
            f"An index query as somebody of {len(READER.groups)} groups, relative to one of "
            "everything",
            p50["read"] / p50["open"],
            "x",
        ),
        Row("One chunk written anew, p50, at 100,000 chunks", 1000 * p50["changed"], "ms"),
        Row("A hybrid search without reranking, p50", 1000 * p50["hybrid"], "ms"),
        Row(
            "A hybrid search without reranking, relative to embedding + index query",
            p50["hybrid"] / p50["floor"],
            "x",
            most=2,
        ),
        Row(
            "A search with late interaction over 30 candidates, p95",
            1000 * percentile(seconds["late"], 0.95),
            "ms",
            most=60,
        ),
        Row(
            "Added before the answerer's first token at 100,000 chunks, p50",
            1000 * p50["whole"],
            "ms",
            most=20,
        ),
        Row(
            "A whole question without the answerer, relative to embedding + index query",
            p50["whole"] / p50["floor"],
            "x",
            most=3,
        ),
        Row("Resident memory at 100,000 chunks", memory, "MB", most=900),
    ]


def a_search(
    adapters: Adapters, plan: Mapping[str, Any], settings: Settings | None = None
) -> Engine:
    """Return a search by the standard recipe with another plan."""
    recipe = Recipes(settings or Settings()).of("search", "standard")
    stages = tuple(
        Route(plan=replace(stage.plan, **plan)) if isinstance(stage, Route) else stage
        for stage in recipe.stages
    )
    return Engine(adapters, {"standard": replace(recipe, stages=stages)})


async def fill(data: Path) -> None:
    """Repeat real passages with shuffled words, and clustered vectors of the real width."""
    async with open_adapters(Settings(ragstone_data=data)) as (adapters, _, _):
        await fill_index(adapters)


async def fill_index(adapters: Adapters) -> None:
    embedder = adapters.embedders.choose("en")
    collection = Collection(
        "default", NAME, embedder.name, embedder.fingerprint, embedder.dimensions, "en"
    )
    await adapters.catalog.put_collection(collection)
    texts = [entry.text for entry in dataset.corpus(eval_data() / "squad2_dev")]
    assert isinstance(embedder, LateEmbedder)
    _, tokens = await embedder.embed_with_tokens(texts[:TOKENS])
    random = np.random.default_rng(0)
    centres = random.normal(size=(2000, embedder.dimensions))
    for start in range(0, CHUNKS, 500):
        rows = centres[random.integers(0, 2000, 500)] + 0.7 * random.normal(
            size=(500, embedder.dimensions)
        )
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        chunks = [a_chunk(collection, texts, random, start + i) for i in range(500)]
        packed = [tokens[i] for i in random.integers(0, len(tokens), 500)]
        await adapters.index.upsert(collection, chunks, rows.astype(np.float32), packed)
    await adapters.index.optimize(collection)


def a_chunk(
    collection: Collection, texts: list[str], random: np.random.Generator, number: int
) -> Chunk:
    words = texts[number % len(texts)].split()
    text = " ".join(words[i] for i in random.permutation(len(words)))[:1000]
    return Chunk(
        chunk_id=str(uuid4()),
        document_id=f"d{number // 10}",
        version=1,
        chunk_index=number % 10,
        text=text,
        title=f"Document {number // 10}",
        path=f"/folder{number % 100}/d{number // 10}.txt",
        tenant=collection.tenant,
        collection=collection.id,
        start=0,
        end=len(text),
    )


async def embed(adapters: Adapters, collection: Collection, question: str) -> None:
    await adapters.embedders.find_indexing(collection).embed_queries([question])


async def embed_and_search(adapters: Adapters, collection: Collection, question: str) -> None:
    """What any program of this kind has to do."""
    vectors = await adapters.embedders.find_indexing(collection).embed_queries([question])
    searches = [Search(question, vectors[0]), Search(question)]
    await adapters.index.search(collection, searches, reader_filter(Principal()), 100)


async def search(adapters: Adapters, collection: Collection, where: Filter, question: str) -> None:
    searches = [Search(question, MEANT), Search(question)]
    await adapters.index.search(collection, searches, where, 100)


async def change(adapters: Adapters, collection: Collection, question: str) -> None:
    """Write one chunk with its vector; from the end of this on it is found and survives a kill."""
    chunk = a_chunk(collection, [question], np.random.default_rng(0), CHUNKS)
    changed = replace(chunk, chunk_id=CHANGED)
    await adapters.index.upsert(collection, [changed], MEANT[None, :])


async def finish(engine: Engine, question: str) -> None:
    await engine.answer(Ask(question, collection=NAME))


async def times(
    questions: list[str], works: Mapping[str, Callable[[str], Awaitable[None]]]
) -> dict[str, list[float]]:
    """The seconds of every work for each question, after ten unmeasured ones.

    The works take turns: the processor's caches hold as little of each as in a server, and a slow
    moment of the machine slows all. Each is at another question, so that none finds it embedded.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(len(questions) + WARM):
        for number, (name, work) in enumerate(works.items()):
            question = questions[(turn + number * APART) % len(questions)]
            started = time.perf_counter()
            await work(question)
            if turn >= WARM:
                seconds[name].append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))
