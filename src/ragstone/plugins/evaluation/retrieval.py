"""`ragstone eval retrieval`: does the right document come first, and how fast?"""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ragstone.core.errors import InputError
from ragstone.core.turn import Ask, SearchOptions, Strategy, Turn
from ragstone.engine.engine import Engine
from ragstone.plugins.evaluation import dataset, measures
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings

DEPTH = 50
"""Chunks asked for, so that ten different documents are among them."""


async def evaluate(
    directory: Path,
    settings: Settings,
    split: str = "dev",
    strategy: Strategy | None = None,
    limit: int | None = None,
    history: bool = False,
) -> dict[str, float]:
    """Return the measures by name, over the answerable questions of the split.

    `history` asks each after what was said before it, where the set holds that.
    """
    [found] = await compare(directory, settings, [strategy], split, limit, history)
    return found


async def compare(
    directory: Path,
    settings: Settings,
    strategies: Sequence[Strategy | None],
    split: str = "dev",
    limit: int | None = None,
    history: bool = False,
) -> list[dict[str, float]]:
    """Return the measures of each strategy over the same index; None is the default."""
    asked = dataset.questions(directory, split, limit)
    if not history:
        asked = [replace(question, history=()) for question in asked]
    asked = [question for question in asked if question.answerable and question.relevant]
    if not asked:
        raise InputError(f"No question of {directory}/{split} has a relevant document.")
    async with (
        index_passages(dataset.corpus(directory), settings) as index,
        aclosing(Engine(index.adapters, Recipes(settings).search_recipe)) as engine,
    ):
        speed = {"passages_per_second": index.chunks / index.seconds}
        return [
            {**await measure_retrieval(engine, asked, strategy), **speed} for strategy in strategies
        ]


async def measure_retrieval(
    engine: Engine, asked: Sequence[dataset.Question], strategy: Strategy | None = None
) -> dict[str, float]:
    """Ask every question; a strategy that is named is measured alone, without reranking."""
    plain = SearchOptions() if strategy is None else SearchOptions(rerank=False)
    rankings, seconds = [], []
    await _rank_documents(engine, Ask("warm", collection=NAME, strategy=strategy))
    for question in asked:
        ask = Ask(
            question.text,
            collection=NAME,
            strategy=strategy,
            top_k=DEPTH,
            wanted=plain,
            history=question.history,
        )
        started = time.perf_counter()
        rankings.append(await _rank_documents(engine, ask))
        seconds.append(time.perf_counter() - started)
    return {
        **_averages(asked, rankings),
        "p50_ms": 1000 * measures.percentile(seconds, 0.5),
        "p95_ms": 1000 * measures.percentile(seconds, 0.95),
    }


def documents(turn: Turn) -> list[str]:
    """Return the documents of the hits, each once, best first."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in turn.hits))


async def _rank_documents(engine: Engine, ask: Ask) -> list[str]:
    """Return the documents found; none for a question that is refused, such as an empty one."""
    try:
        return documents(await engine.answer(ask))
    except InputError:
        return []


def _averages(
    asked: Sequence[dataset.Question], rankings: Sequence[Sequence[str]]
) -> dict[str, float]:
    pairs = list(zip(rankings, (question.relevant for question in asked), strict=True))
    return {
        "queries": len(pairs),
        "hit@1": fmean(measures.hit(*pair, 1) for pair in pairs),
        "recall@5": fmean(measures.recall(*pair, 5) for pair in pairs),
        "recall@10": fmean(measures.recall(*pair, 10) for pair in pairs),
        "mrr@10": fmean(measures.reciprocal_rank(*pair, 10) for pair in pairs),
        "ndcg@10": fmean(measures.ndcg(*pair, 10) for pair in pairs),
    }
