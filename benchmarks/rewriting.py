"""Follow-ups without a chat model: against human rewrites, and what they find."""

import asyncio
from collections.abc import Iterator

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.plugins.evaluation.retrieval import evaluate
from ragstone.plugins.evaluation.rewriting import evaluate as rewriting
from ragstone.settings import load

SETS = ("canard", "mtrag_rewrite")
GAIN = 0.03
"""How much better a question must be found with what was said before it."""


def run() -> Iterator[Row]:
    settings = load()
    for name in SETS:
        found = asyncio.run(rewriting(eval_data() / name / "dev" / "rewrites.jsonl.gz", settings))
        asked = found["f1_unrewritten"]
        yield Row(f"token F1 of rewritten follow-ups, {name}", found["f1"], least=asked)
        yield Row(f"token F1 of the follow-ups as asked, {name}", asked, detail=True)
    conversations = eval_data() / "mtrag_un"
    alone = asyncio.run(evaluate(conversations, settings))["ndcg@10"]
    said = asyncio.run(evaluate(conversations, settings, history=True))["ndcg@10"]
    yield Row("nDCG@10, mtrag_un, with what was said before", said, least=alone + GAIN)
    yield Row("nDCG@10, mtrag_un, the last question alone", alone, detail=True)
