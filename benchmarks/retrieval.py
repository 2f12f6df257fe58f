"""nDCG@10 of the default settings on the dev side of public sets.

`BENCH_SETS=scifact,xquad/zh` measures only those: the sets take one to eight minutes each.
"""

import json
import os
import subprocess
from collections.abc import Iterator

from benchmarks.common import RAGSTONE, eval_data
from benchmarks.row import Row

BOUNDS = {
    "squad2_dev": 0.91,
    "scifact": 0.74,
    "cranfield": 0.44,
    "cmrc2018_zh": 0.96,
    "xquad/zh": 0.94,
    "xquad/ru": 0.94,
    "xquad/ar": 0.94,
    "xquad/hi": 0.94,
}


def run() -> Iterator[Row]:
    chosen = os.environ.get("BENCH_SETS")
    for name in chosen.split(",") if chosen else BOUNDS:
        bound = BOUNDS[name]
        yield Row(f"nDCG@10, {name}, default settings", measure(name)["ndcg@10"], least=bound)


def measure(name: str, *options: str) -> dict[str, float]:
    """`ragstone eval retrieval` on one set."""
    command = [RAGSTONE, "eval", "retrieval", str(eval_data() / name), "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result
