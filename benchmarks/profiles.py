"""The numbers of the documents against ours: what each profile finds and answers without a chat
model, on the same questions.

`BENCH_SETS=scifact` measures on another set than squad2_dev.
"""

import asyncio
import os
from collections.abc import Iterator

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.local.configured import merge_settings
from ragstone.plugins.evaluation.answering import evaluate
from ragstone.plugins.evaluation.retrieval import compare
from ragstone.settings import load
from ragstone.settings.profiles import PROFILES

QUESTIONS = 500


def run() -> Iterator[Row]:
    for name in os.environ.get("BENCH_SETS", "squad2_dev").split(","):
        for profile, values in {"ragstone": {}, **PROFILES}.items():
            settings = merge_settings(load(), values)
            [found] = asyncio.run(compare(eval_data() / name, settings, (None,), limit=QUESTIONS))
            yield Row(f"nDCG@10, {name}, profile {profile}", found["ndcg@10"])
            if name.startswith(("squad", "cmrc")):
                said = asyncio.run(evaluate(eval_data() / name, settings, limit=QUESTIONS))
                for measure in ("contains_1", "refused_answerable"):
                    row = f"{measure}, {name}, profile {profile}"
                    yield Row(row, said[measure] or 0.0, detail=True)
