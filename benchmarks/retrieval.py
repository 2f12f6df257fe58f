"""nDCG@10 on the dev side of public sets: the default settings against words and meaning alone.

`BENCH_SETS=scifact,xquad/zh` measures only those: the sets take one to eight minutes each.
"""

import asyncio
import os
from collections.abc import Iterator

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.evaluation.retrieval import compare
from ragstone.settings import load

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

SEVERAL = ("hotpotqa", "musique")
"""Sets whose questions need several passages; what counts is how many of them are found."""

NO_WORSE = -0.005
"""How far the default may lie below the better of words alone and meaning alone."""


def run() -> Iterator[Row]:
    chosen = os.environ.get("BENCH_SETS")
    for name in chosen.split(",") if chosen else (*BOUNDS, *SEVERAL):
        if name in SEVERAL:
            yield from _found(name)
            continue
        strategies = (None, "hybrid", "bm25", "dense")
        found = asyncio.run(compare(eval_data() / name, load(), strategies))
        default, hybrid, bm25, dense = (one["ndcg@10"] for one in found)
        yield Row(f"nDCG@10, {name}, default settings", default, least=BOUNDS[name])
        yield Row(f"nDCG@10, {name}, hybrid without reranking", hybrid, detail=True)
        yield Row(f"nDCG@10, {name}, words alone", bm25, detail=True)
        yield Row(f"nDCG@10, {name}, meaning alone", dense, detail=True)
        better = default - max(bm25, dense)
        above = f"The default above the better of the two, {name}"
        yield Row(above, better, least=NO_WORSE, detail=True)


def _found(name: str) -> Iterator[Row]:
    """How many of the passages that a question needs are among the first five."""
    found = asyncio.run(compare(eval_data() / name, load(), (None, "bm25", "dense")))
    for label, one in zip(("default settings", "words", "meaning"), found, strict=True):
        alone = "" if label == "default settings" else " alone"
        yield Row(f"recall@5, {name}, {label}{alone}", one["recall@5"], detail=bool(alone))
