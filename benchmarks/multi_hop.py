"""What the stage `multi_hop` adds to a search among 10,000 chunks of real passages.

Two engines over one index in one process, one with the stage and one without, take turns, each at
another question, so that a slow moment of the machine slows both. BENCH_CHUNKS=2000 measures less.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from statistics import fmean

from benchmarks.common import eval_data
from benchmarks.graph import READ
from benchmarks.latency import APART, WARM
from benchmarks.needed import without_hops
from benchmarks.row import Row
from ragstone.core.turn import Ask
from ragstone.engine.engine import Engine
from ragstone.evaluation import dataset
from ragstone.evaluation.dataset import CorpusPassage
from ragstone.evaluation.indexed import NAME, indexed
from ragstone.evaluation.measures import percentile
from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.knowledge.multi_hop import MultiHop
from ragstone.recipes.recipe import Recipes
from ragstone.settings import IngestSettings, Settings

CHUNKS = 10_000
ASKED = ("hotpotqa", "musique", "squad2_dev")
QUESTIONS = 80
"""Of each of these sets, at most."""


@dataclass(slots=True)
class _Times:
    """The seconds of whole searches, of the processor for these, and of the stage."""

    whole: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    stage: list[float] = field(default_factory=list)


def run() -> list[Row]:
    most = int(os.environ.get("BENCH_CHUNKS", CHUNKS))
    return asyncio.run(_measured(_passages(most), _questions()))


async def _measured(passages: Sequence[CorpusPassage], questions: Sequence[str]) -> list[Row]:
    settings = Settings()
    async with (
        indexed(passages, settings) as index,
        aclosing(Engine(index.adapters, Recipes(settings).searching)) as on,
        aclosing(Engine(index.adapters, Recipes(without_hops(settings)).searching)) as off,
    ):
        hops, none = await _taking_turns((on, off), questions)
    where = f"at {index.chunks:,} chunks"
    note = f"{len(questions)} questions"
    added = percentile(hops.whole, 0.5) - percentile(none.whole, 0.5)
    work = fmean(hops.processor) - fmean(none.processor)
    times = percentile(hops.whole, 0.5) / percentile(none.whole, 0.5)
    return [
        Row(f"multi_hop {where}, p50", 1000 * percentile(hops.stage, 0.5), "ms", note=note),
        Row(f"multi_hop {where}, p95", 1000 * percentile(hops.stage, 0.95), "ms", most=20),
        Row(f"Added by multi_hop to a search {where}, p50", 1000 * added, "ms", detail=True),
        Row(f"A search with multi_hop {where}, relative to one without", times, "x", detail=True),
        Row(f"Added by multi_hop {where}, of the processor", 1000 * work, "ms", detail=True),
    ]


async def _taking_turns(
    engines: tuple[Engine, Engine], questions: Sequence[str]
) -> tuple[_Times, _Times]:
    """Each engine's times over all questions, after ten unmeasured ones."""
    found = (_Times(), _Times())
    for turn in range(len(questions) + WARM):
        for number, (engine, times) in enumerate(zip(engines, found, strict=True)):
            question = questions[(turn + number * APART) % len(questions)]
            started, worked = time.perf_counter(), time.process_time()
            answered = await engine.answered(Ask(question, collection=NAME))
            if turn >= WARM:
                times.whole.append(time.perf_counter() - started)
                times.processor.append(time.process_time() - worked)
                times.stage += [one.seconds for one in answered.trace if one.stage == MultiHop.name]
    return found


def _passages(most: int) -> list[CorpusPassage]:
    """The passages of the sets that are asked, and others', until there are enough chunks."""
    entries: list[CorpusPassage] = []
    settings, chunks = IngestSettings(), 0
    for name in dict.fromkeys((*ASKED, *READ)):
        for one in dataset.corpus(eval_data() / name):
            if chunks >= most:
                return entries
            block = Block(one.text, "paragraph")
            pieces = chunk([block], settings.chunk_size, settings.chunk_overlap)
            chunks += sum(1 for _ in pieces)
            entries.append(replace(one, id=f"{name}-{one.id}"))
    return entries


def _questions() -> list[str]:
    sets = [dataset.questions(eval_data() / name, "dev", QUESTIONS) for name in ASKED]
    return [one.text for some in sets for one in some]
