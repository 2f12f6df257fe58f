"""Runs every side over every set, and over 4,000 and 100,000 chunks for speed.

`BENCH_SETS=scifact,speed` runs only those.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.common import eval_data
from benchmarks.peers import synthetic
from benchmarks.peers.export import export
from benchmarks.row import Row
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.dataset import Question
from ragstone.plugins.evaluation.measures import ndcg

ROOT = Path(__file__).parents[2]
PEERS_PYTHON = ROOT / ".nox/peers" / "bin" / "python"
PEERS = {
    "LlamaIndex": "llamaindex_side",
    "Haystack": "haystack_side",
    "LangChain": "langchain_side",
}
SETS = ("squad2_dev", "scifact", "cranfield", "mtrag_un", "xquad/en", "xquad/zh", "cmrc2018_zh")
QUESTIONS, OF_FEW = 200, 1_000
FEW = 2_000
"""Questions asked of each set, evenly spread, and of one of so few passages: where there are many,
Haystack takes a second for one with all its variants."""

SPEED = "speed"
SMALL, LARGE = 4_000, 100_000
FASTER = 10
"""At the larger size, than the median of the peers."""

BUILT = 3
"""Times as long as the fastest peer may building the index take, without embedding."""

QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}
"""The peers keep to themselves."""

Result = dict[str, Any]


def compared(limit: int | None = None) -> Iterator[Row]:
    """Yield the rows of every set, with at most `limit` questions each, or as many as it takes, and
    of speed."""
    if not PEERS_PYTHON.exists():
        sys.exit(f"There is no {PEERS_PYTHON}. Run `nox -s peers`, which makes it.")
    chosen = os.environ.get("BENCH_SETS")
    for name in chosen.split(",") if chosen else (*SETS, SPEED):
        with tempfile.TemporaryDirectory(prefix="ragstone-peers-") as directory:
            place = Path(directory)
            if name == SPEED:
                yield from speed(SMALL, place)
                yield from speed(LARGE, place)
            else:
                yield from quality(name, limit or questions_of(name), place)


def questions_of(name: str) -> int:
    """Tell how many questions are asked of a set."""
    few = sum(1 for _ in dataset.corpus(eval_data() / name)) <= FEW
    return OF_FEW if few else QUESTIONS


def quality(name: str, limit: int, place: Path) -> Iterator[Row]:
    """nDCG@10 of Ragstone and of the best variant of each peer, and what is between ours and the
    best of those."""
    file, asked = asyncio.run(export(name, limit, place))
    what = f"nDCG@10 over the same vectors, {name}"
    own = scores(one_side("ragstone_side", sys.executable, file), asked)
    for variant, score in own.items():
        yield Row(f"{what}: Ragstone, {variant}", score, detail=True)
    rivals: dict[str, float] = {}
    for peer, module in PEERS.items():
        theirs = scores(one_side(module, str(PEERS_PYTHON), file), asked)
        best = max(theirs, key=lambda variant: theirs[variant])
        rivals[peer] = theirs[best]
        yield Row(f"{what}: {peer}'s best", theirs[best], note=best, detail=True)
    yield Row(
        f"{what}: Ragstone less the best peer",
        own["default"] - max(rivals.values()),
        least=0,
        note=", ".join(
            f"{name} {score:.3f}" for name, score in ({"ours": own["default"]} | rivals).items()
        ),
    )


def speed(size: int, place: Path) -> Iterator[Row]:
    """Yield the usual time of a query that is embedded already, and of building the index."""
    file = asyncio.run(synthetic.export(place, size))
    what = f"A hybrid query at {size:,} chunks without its embedding, p50"
    build = f"An index of {size:,} chunks that are embedded, built in"
    found = one_side("ragstone_side", sys.executable, file)
    own, built = milliseconds(found), found["built"]
    for variant, took in own.items():
        yield Row(f"{what}: Ragstone, {variant}", took, "ms")
    yield Row(f"{build}: Ragstone", built, "s", detail=True)
    took_by, built_by = [], []
    for peer, module in PEERS.items():
        found = one_side(module, str(PEERS_PYTHON), file)
        (variant, took), *_ = milliseconds(found).items()
        yield Row(f"{what}: {peer}", took, "ms", note=variant)
        yield Row(f"{build}: {peer}", found["built"], "s", detail=True)
        took_by.append(took)
        built_by.append(found["built"])
    plain = own["without reranking and feedback"]
    if size == SMALL:
        least = min(took_by) / plain
        yield Row(f"{what}, fastest peer / Ragstone without reranking", least, "x", least=1)
    else:
        half = median(took_by) / plain
        yield Row(f"{what}, median peer / Ragstone without reranking", half, "x", least=FASTER)
    yield Row(f"{build}, Ragstone / fastest peer", built / min(built_by), "x", most=BUILT)


def one_side(module: str, python: str, file: Path) -> Result:
    """Return what a side found, in a process of its own."""
    result = file.with_name(f"{module}.json")
    command = [python, "-W", "ignore", "-m", f"benchmarks.peers.{module}", str(file), str(result)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **QUIET})
    found: Result = json.loads(result.read_text(encoding="utf-8"))
    print(
        f"  {module}: built in {found['built']:.1f} s, {found['resident_mb']:,.0f} MB", flush=True
    )
    return found


def scores(result: Result, asked: Sequence[Question]) -> dict[str, float]:
    """nDCG@10 of each variant; printed too, since a row tells only of the best."""
    found = {}
    for variant, item in result["variants"].items():
        pairs = zip(item["rankings"], asked, strict=True)
        found[variant] = fmean(ndcg(ranking, q.relevant, 10) for ranking, q in pairs)
        print(f"    {found[variant]:.4f} {item['ms']:7.1f} ms  {variant}", flush=True)
    return found


def milliseconds(result: Result) -> dict[str, float]:
    """Return the p50 of each variant; printed too."""
    found = {variant: item["ms"] for variant, item in result["variants"].items()}
    for variant, took in found.items():
        print(f"    {took:7.1f} ms  {variant}", flush=True)
    return found
