"""Answers without a language model: is the answer said first, and what is not known refused?"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.plugins.evaluation.answering import evaluate
from ragstone.settings import load

QUESTIONS = 1000
FIGURES = {
    "squad2_dev": (("contains_1", 0.83), ("contains_2", 0.91)),
    "cmrc2018_zh": (("contains_1", 0.80), ("contains_2", 0.88)),
}
STRANGERS = (("squad2_dev", "scifact"), ("scifact", "squad2_dev"))
SENTENCES = {"contains_1": "the first sentence", "contains_2": "the first two sentences"}


def run() -> Iterator[Row]:
    for name, bounds in FIGURES.items():
        found = figures(eval_data() / name)
        for measure, least in bounds:
            what = f"an accepted answer is in {SENTENCES[measure]}, {name}"
            yield Row(what, found[measure] or 0.0, least=least)
    for name, other in STRANGERS:
        found = figures(eval_data() / name, eval_data() / other)
        of = f"{other}'s questions over {name}"
        yield Row(f"refusal AUROC, {of}", found["refusal_auroc"] or 0.0, least=0.98)
        answered = 1 - (found["refused_unanswerable"] or 0.0)
        yield Row(f"answered, {of}", answered, most=0.05, detail=True)
        refused = found["refused_answerable"] or 0.0
        yield Row(f"refused, {name}'s own questions", refused, most=0.05, detail=True)
    found = figures(eval_data() / "mtrag_un", history=True)
    area = found["refusal_auroc"] or 0.0
    yield Row("refusal AUROC, mtrag_un's own unanswerable questions", area, detail=True)


def figures(
    directory: Path, strangers: Path | None = None, history: bool = False
) -> dict[str, float | None]:
    return asyncio.run(
        evaluate(directory, load(), limit=QUESTIONS, off_corpus=strangers, history=history)
    )
