"""The entity graph: how fast 10,000 chunks are read for it without a model, what it takes on the
disk, how long its themes take, how long a search over it takes, and how much of what questions of
several steps need it finds (`needed.py`), beside `multi_hop` and without it.

`BENCH_SETS=hotpotqa`, `BENCH_QUESTIONS=50`, `BENCH_PASSAGES=2000` and `BENCH_CHUNKS=1000` measure
less; `BENCH_CHUNKS=0` leaves the reading out.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import needed
from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.core.chunk import chunk_id
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Strategy
from ragstone.ingest.embedding import embed
from ragstone.plugins.evaluation import dataset, measures
from ragstone.plugins.evaluation.dataset import CorpusPassage
from ragstone.plugins.evaluation.indexed import build_collection, chunk_entry
from ragstone.plugins.graph.entity_graph import own_graph
from ragstone.plugins.graph.reader import GraphReader
from ragstone.ports import Adapters
from ragstone.settings import Settings, load

CHUNKS = 10_000
READ = ("scifact", "musique", "squad2_dev", "cranfield", "hotpotqa", "mtrag_un")
"""Sets whose passages are read, one after the other, until there are enough."""

NAME = "graph"
BATCH = 512
TOP_K, ADDED = 10, 3
"""Passages of a question, and those that the graph adds to them."""


@dataclass(frozen=True, slots=True)
class _Opened:
    adapters: Adapters
    collection: Collection
    chunks: int
    state: Path


def run() -> Iterator[Row]:
    if most := int(os.environ.get("BENCH_CHUNKS", CHUNKS)):
        yield from asyncio.run(_reading(most))
    for name in os.environ.get("BENCH_SETS", ",".join(needed.SETS)).split(","):
        yield from asyncio.run(_measure_found(name))


async def _reading(most: int) -> list[Row]:
    """Tell how fast chunks without vectors are read, and what that keeps."""
    entries: list[CorpusPassage] = []
    for name in READ:
        own = dataset.corpus(eval_data() / name)
        entries += [replace(item, id=f"{name}-{item.id}") for item in own]
        if len(entries) >= most:
            break
    async with _open_collection(entries[:most], vectors=False) as opened:
        before = _size(opened.state)
        seconds, grouping = await _read(opened)
        graph = own_graph(opened.adapters)
        themes = await graph.themes.readable(opened.collection, ["*"], 10**6)
        mentions = await graph.mentions.most_named(opened.collection, ["*"], 10**6)
        kept = (_size(opened.state) - before) / opened.chunks
    named = sum(mention.chunks for mention in mentions)
    speed = opened.chunks / seconds
    return [
        Row(f"Chunks read for the entity graph, of {opened.chunks:,}", speed, "/s", least=100),
        Row("Entities that a chunk names", named / opened.chunks, detail=True),
        Row("Entities of all chunks", len(mentions), detail=True),
        Row("Kept of a chunk for the graph", kept, "bytes", detail=True),
        Row("Themes of all chunks", len(themes), detail=True),
        Row("Seconds for the themes of all chunks", grouping, "s", detail=True),
    ]


async def _measure_found(name: str) -> list[Row]:
    """Tell how much of what a question needs is among the first five and thirteen, and the time."""
    corpus = needed.corpus(eval_data() / name)
    asked = needed.questions(eval_data() / name, corpus)
    rows: list[Row] = []
    async with _open_collection(corpus, vectors=True) as opened:
        await _read(opened)
        settings = load()
        alone = needed.without_hops(settings)
        ways: tuple[tuple[str, Settings, Strategy | None, int], ...] = (
            ("thirteen without multi_hop", alone, None, TOP_K + ADDED),
            ("ten without multi_hop and three of the graph", _with_graph(alone), None, TOP_K),
            ("thirteen by the default settings", settings, None, TOP_K + ADDED),
            (
                "ten by the default settings and three of the graph",
                _with_graph(settings),
                None,
                TOP_K,
            ),
            ("thirteen by hybrid without reranking", settings, "hybrid", TOP_K + ADDED),
            ("thirteen by graph without reranking", settings, "graph", TOP_K + ADDED),
            ("thirteen by names without reranking", settings, "graph_low", TOP_K + ADDED),
            ("thirteen by themes without reranking", settings, "graph_high", TOP_K + ADDED),
        )
        for label, chosen, strategy, top_k in ways:
            found = await needed.ask_all(
                opened.adapters, NAME, chosen, asked, strategy, top_k, (5, TOP_K + ADDED)
            )
            note = f"{len(asked)} questions, {opened.chunks:,} chunks"
            rows += [
                Row(f"recall@{at}, {name}, {label}", recall, note=note, detail=True)
                for at, recall in found.recall.items()
            ]
            if found.ndcg is not None:
                rows.append(Row(f"nDCG@10, {name}, {label}", found.ndcg, detail=True))
            took = 1000 * measures.percentile(found.seconds, 0.5)
            rows.append(Row(f"A search of {name}, {label}, p50", took, "ms", detail=True))
    return rows


def _with_graph(settings: Settings) -> Settings:
    rag = settings.rag.model_copy(update={"knowledge_graph_enabled": True})
    return settings.model_copy(update={"rag": rag})


async def _read(opened: _Opened) -> tuple[float, float]:
    """Read everything for the graph; the seconds that it took, and those for the themes."""
    adapters = opened.adapters
    graph = own_graph(adapters)
    kept = (graph.mentions, graph.readings, graph.themes)
    seconds: list[float] = []
    for groups in (False, True):
        reader = GraphReader(adapters.index, adapters.catalog, *kept, lambda _: True, groups=groups)
        started = time.perf_counter()
        reader.wake(opened.collection)
        await reader.drain()
        seconds.append(time.perf_counter() - started)
    return seconds[0], seconds[1]


@asynccontextmanager
async def _open_collection(
    entries: Sequence[CorpusPassage], vectors: bool
) -> AsyncIterator[_Opened]:
    """A collection of documents of one passage each, in a temporary directory."""
    settings = load()
    uncached = settings.cache.model_copy(update={"enabled": False})
    with tempfile.TemporaryDirectory(prefix="ragstone-graph-") as directory:
        changes = {"ragstone_data": Path(directory), "cache": uncached}
        async with open_adapters(settings.model_copy(update=changes)) as (adapters, _, _):
            of_these = build_collection(entries, adapters, settings.ingest)
            collection = replace(of_these, name=NAME, id=NAME)
            await adapters.index.create(collection)
            await adapters.catalog.put_collection(collection)
            count = 0
            for start in range(0, len(entries), BATCH):
                some = entries[start : start + BATCH]
                count += await _write(adapters, collection, some, settings, vectors)
            await adapters.index.optimize(collection)
            yield _Opened(adapters, collection, count, Path(directory) / "state.sqlite")


async def _write(
    adapters: Adapters,
    collection: Collection,
    entries: Sequence[CorpusPassage],
    settings: Settings,
    vectors: bool,
) -> int:
    documents = [
        Document(
            id=passage.id,
            tenant=collection.tenant,
            collection=collection.id,
            path=f"/{passage.id}",
            source=f"/{passage.id}",
            title=passage.title,
            allowed=("*",),
        )
        for passage in entries
    ]
    await adapters.catalog.begin_all(documents)
    language = collection.language
    chunks = [
        replace(item, chunk_id=chunk_id(item.document_id, 1, item.chunk_index), language=language)
        for entry in entries
        for item in chunk_entry(entry, collection, settings.ingest)
    ]
    if vectors:
        embedder = adapters.embedders.find_indexing(collection)
        made = await embed(embedder, chunks, settings.ingest.keeps_token_vectors)
        await adapters.index.upsert(collection, chunks, *made)
    else:
        await adapters.index.upsert(collection, chunks)
    await adapters.catalog.publish_all([replace(document, version=1) for document in documents])
    return len(chunks)


def _size(state: Path) -> int:
    """Return the bytes of a state with what is not merged into its file yet."""
    return sum(file.stat().st_size for file in state.parent.glob(f"{state.name}*"))
