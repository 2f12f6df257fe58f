"""What `multi_hop`, a part of `rerank`, adds to a search among 10,000 chunks of real passages.

Two engines over one index in one process, one with the stage and one without, take turns, each at
another question, so that a slow moment of the machine slows both. Vectors are random, as what is
found by meaning makes no difference to the time; all words are real. The processor's time is what
the stage takes on a machine that has nothing else to do. BENCH_CHUNKS=2000 measures less.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.common import eval_data
from benchmarks.graph import READ
from benchmarks.latency import APART, WARM
from benchmarks.needed import without_hops
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.core.turn import Ask, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.stage import Stage, Step
from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.dataset import CorpusPassage
from ragstone.plugins.evaluation.indexed import BATCH, NAME, build_collection, chunk_entry
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Adapters, LateEmbedder
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.rerank import Rerank
from ragstone.settings import CacheSettings, IngestSettings, Settings

CHUNKS = 10_000
ASKED = ("hotpotqa", "musique", "squad2_dev")
QUESTIONS = 80
"""Of each of these sets, at most."""

TOKENS = 400
"""Chunks whose token vectors all share."""

WORKED: list[float] = []
"""Seconds of the processor that each run of the stage took."""


@dataclass(slots=True)
class _Times:
    """The seconds of whole searches and of the stage in them."""

    whole: list[float] = field(default_factory=list)
    stage: list[float] = field(default_factory=list)


class _Clocked(Rerank):
    """The stage, whose part writes down what it takes of the processor, the index's included."""

    async def _follow_names(self, turn: Turn, adapters: Adapters) -> Step:
        started = time.process_time()
        step = await super()._follow_names(turn, adapters)
        WORKED.append(time.process_time() - started)
        return step


def run() -> list[Row]:
    most = int(os.environ.get("BENCH_CHUNKS", CHUNKS))
    return asyncio.run(_measure(_passages(most), _questions()))


async def _measure(passages: Sequence[CorpusPassage], questions: Sequence[str]) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ragstone-multi-hop-") as directory:
        settings = Settings(ragstone_data=Path(directory), cache=CacheSettings(enabled=False))
        async with open_adapters(settings) as (adapters, _, _):
            chunks = await _fill_index(adapters, passages, settings)
            async with (
                aclosing(_engine(adapters, settings)) as on,
                aclosing(_engine(adapters, without_hops(settings))) as off,
            ):
                hops, none = await _time_in_turns((on, off), questions)
    where = f"at {chunks:,} chunks"
    note = f"{len(questions)} questions"
    worked = WORKED[-len(questions) :]
    added = percentile(hops.whole, 0.5) - percentile(none.whole, 0.5)
    times = percentile(hops.whole, 0.5) / percentile(none.whole, 0.5)
    return [
        Row(f"multi_hop {where}, p50", 1000 * percentile(hops.stage, 0.5), "ms", note=note),
        Row(f"multi_hop {where}, p95", 1000 * percentile(hops.stage, 0.95), "ms", most=20),
        Row(f"multi_hop {where}, of the processor, p50", 1000 * percentile(worked, 0.5), "ms"),
        Row(
            f"multi_hop {where}, of the processor, p95",
            1000 * percentile(worked, 0.95),
            "ms",
            most=20,
        ),
        Row(f"Added by multi_hop to a search {where}, p50", 1000 * added, "ms", detail=True),
        Row(f"A search with multi_hop {where}, relative to one without", times, "x", detail=True),
    ]


def _engine(adapters: Adapters, settings: Settings) -> Engine:
    stages = Recipes(settings).of("search", "standard").stages
    if settings.stages:
        return Engine(adapters, {"standard": Recipe(stages)})
    return Engine(adapters, {"standard": Recipe(tuple(map(_clock, stages)))})


def _clock(stage: Stage) -> Stage:
    if isinstance(stage, Rerank):
        return _Clocked()
    return stage.but(inner=tuple(map(_clock, stage.inner))) if stage.inner else stage


async def _fill_index(
    adapters: Adapters, passages: Sequence[CorpusPassage], settings: Settings
) -> int:
    """Index the passages; the number of chunks."""
    collection = build_collection(passages, adapters, settings.ingest)
    await adapters.index.create(collection)
    await adapters.catalog.put_collection(collection)
    embedder = adapters.embedders.find_indexing(collection)
    assert isinstance(embedder, LateEmbedder)
    chunks = [c for passage in passages for c in chunk_entry(passage, collection, settings.ingest)]
    _, tokens = await embedder.embed_with_tokens([item.text for item in chunks[:TOKENS]])
    random = np.random.default_rng(0)
    for start in range(0, len(chunks), BATCH):
        some = chunks[start : start + BATCH]
        rows = random.normal(size=(len(some), embedder.dimensions))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        packed = [tokens[i] for i in random.integers(0, len(tokens), len(some))]
        await adapters.index.upsert(collection, some, rows.astype(np.float32), packed)
    await adapters.index.optimize(collection)
    return len(chunks)


async def _time_in_turns(
    engines: tuple[Engine, Engine], questions: Sequence[str]
) -> tuple[_Times, _Times]:
    """Return each engine's times over all questions, after ten unmeasured ones."""
    found = (_Times(), _Times())
    for turn in range(len(questions) + WARM):
        for number, (engine, times) in enumerate(zip(engines, found, strict=True)):
            question = questions[(turn + number * APART) % len(questions)]
            started = time.perf_counter()
            answered = await engine.answer(Ask(question, collection=NAME))
            if turn >= WARM:
                times.whole.append(time.perf_counter() - started)
                times.stage += [
                    item.seconds for item in answered.trace if item.stage == "multi_hop"
                ]
    return found


def _passages(most: int) -> list[CorpusPassage]:
    """The passages of the sets that are asked, and others', until there are enough chunks."""
    entries: list[CorpusPassage] = []
    settings, chunks = IngestSettings(), 0
    for name in dict.fromkeys((*ASKED, *READ)):
        for item in dataset.corpus(eval_data() / name):
            if chunks >= most:
                return entries
            block = Block(item.text, "paragraph")
            pieces = chunk([block], settings.chunk_size, settings.chunk_overlap)
            chunks += sum(1 for _ in pieces)
            entries.append(replace(item, id=f"{name}-{item.id}"))
    return entries


def _questions() -> list[str]:
    sets = [dataset.questions(eval_data() / name, "dev", QUESTIONS) for name in ASKED]
    return [item.text for some in sets for item in some]
