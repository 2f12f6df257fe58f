"""nDCG@10 on the dev side of public sets: the default settings against words and meaning alone. Of
questions that need several passages (`needed.py`) how much of that is among the first five, also
without `multi_hop`.

`BENCH_SETS=scifact,xquad/zh` measures only those: the sets take one to eight minutes each.
`BENCH_QUESTIONS=50` and `BENCH_PASSAGES=2000` ask and index fewer of several passages.
"""

import asyncio
import os
from collections.abc import Iterator

from benchmarks import needed
from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.core.turn import Strategy
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.plugins.evaluation.retrieval import DEPTH, compare
from ragstone.settings import Settings, load

BOUNDS = {
    "squad2_dev": 0.94,
    "scifact": 0.76,
    "cranfield": 0.48,
    "cmrc2018_zh": 0.98,
    "mtrag_un": 0.80,
    "rgb/zh_refine": 0.72,
    "xquad/en": 0.97,
    "xquad/zh": 0.97,
    "xquad/hi": 0.96,
    "xquad/ru": 0.95,
    "xquad/ar": 0.95,
}

NO_WORSE = -0.005
"""How far the default may lie below the better of words alone and meaning alone."""


def run() -> Iterator[Row]:
    chosen = os.environ.get("BENCH_SETS")
    for name in chosen.split(",") if chosen else (*BOUNDS, *needed.SETS):
        if name in needed.SETS:
            yield from asyncio.run(_measure_found(name))
            continue
        strategies = (None, "hybrid", "bm25", "dense")
        found = asyncio.run(compare(eval_data() / name, load(), strategies))
        default, hybrid, bm25, dense = (row["ndcg@10"] for row in found)
        yield Row(f"nDCG@10, {name}, default settings", default, least=BOUNDS[name])
        yield Row(f"nDCG@10, {name}, hybrid without reranking", hybrid, detail=True)
        yield Row(f"nDCG@10, {name}, words alone", bm25, detail=True)
        yield Row(f"nDCG@10, {name}, meaning alone", dense, detail=True)
        better = default - max(bm25, dense)
        above = f"The default above the better of the two, {name}"
        yield Row(above, better, least=NO_WORSE, detail=True)


async def _measure_found(name: str) -> list[Row]:
    """Tell how much of what a question needs is among the first five and ten."""
    settings = load()
    corpus = needed.corpus(eval_data() / name)
    asked = needed.questions(eval_data() / name, corpus)
    ways: tuple[tuple[str, Settings, Strategy | None], ...] = (
        ("default settings", settings, None),
        ("default settings without multi_hop", needed.without_hops(settings), None),
        ("words alone", settings, "bm25"),
        ("meaning alone", settings, "dense"),
    )
    rows: list[Row] = []
    async with index_passages(corpus, settings) as index:
        for label, chosen, strategy in ways:
            how = (chosen, asked, strategy, DEPTH, (5, 10))
            found = await needed.ask_all(index.adapters, NAME, *how)
            note = f"{len(asked)} questions, {index.chunks:,} chunks"
            detail = label != "default settings"
            five, ten = found.recall.values()
            rows.append(Row(f"recall@5, {name}, {label}", five, note=note, detail=detail))
            rows.append(Row(f"recall@10, {name}, {label}", ten, note=note, detail=True))
            if found.ndcg is not None:
                rows.append(Row(f"nDCG@10, {name}, {label}", found.ndcg, note=note, detail=True))
    return rows
