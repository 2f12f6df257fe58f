"""Misspelt words in questions: how many are put right, what that recovers, and what it harms."""

import asyncio
from collections.abc import Iterator

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.plugins.evaluation import spelling, typos
from ragstone.settings import load

SETS = ("squad2_dev", "scifact")
QUESTIONS = 500


def run() -> Iterator[Row]:
    clean = [eval_data() / name / "dev" / "queries.jsonl.gz" for name in SETS]
    pairs = eval_data() / "spelling_en" / "dev" / "pairs.jsonl.gz"
    found = asyncio.run(spelling.evaluate(pairs, clean))
    yield Row("Misspelt words in questions that are put right", found["fixed"] or 0, least=0.65)
    yield Row("Right words of the same list that stay", found["kept"] or 0, least=0.99)
    note = f"{found['clean']:.0f} of {found['questions']:.0f} questions"
    altered = found["altered"] or 0
    yield Row("Clean questions that are altered", altered, most=0.003, note=note)
    anyhow = found["altered_any"] or 0
    yield Row("Questions altered, with the misspelt ones among them", anyhow, detail=True)
    for name in SETS:
        one = asyncio.run(typos.evaluate(eval_data() / name, load(), limit=QUESTIONS))
        yield Row(f"recall@5, {name}", one["clean"], detail=True)
        yield Row(f"recall@5, {name}, one typo a question", one["typos"], detail=True)
        yield Row(f"recall@5, {name}, typos corrected", one["corrected"], detail=True)
        yield Row(f"recall@5, {name}, correction on, no typos", one["clean_corrected"], detail=True)
        yield Row(
            f"Recall lost to typos that correction recovers, {name}", one["recovered"], least=0.6
        )
