"""The verdict per sentence: is what sources support told from what they do not say, how fast?

WiCE is measured on the documents that the weights were not trained on (`verdict_data.held_out`);
on FaithBench nothing was trained.
"""

import asyncio
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.build import checker, open_reader
from ragstone.language.sentences import sentences
from ragstone.plugins.evaluation.grounding import measure_grounding, rows
from ragstone.ports import Claim, EvidenceSource
from ragstone.settings import load
from ragstone.verify.claims import strip_layout
from training.verdict_data import is_held_out

PASSAGES, SENTENCES, TIMES = 10, 10, 30


def run() -> Iterator[Row]:
    data = eval_data()
    wice = rows(data / "wice" / "dev" / "examples.jsonl.gz")
    apart = [row for row in wice if is_held_out(row.id.split("#")[0])]
    found = asyncio.run(measure_grounding(apart))
    note = f"{len(apart)} claims of documents not trained on"
    yield Row(
        "Supported claims told from others, AUROC", found["auroc"] or 0, least=0.79, note=note
    )
    yield Row("The same, balanced accuracy", found["balanced_accuracy"] or 0, detail=True)
    found = asyncio.run(measure_grounding(rows(data / "faithbench" / "dev" / "examples.jsonl.gz")))
    accuracy = found["balanced_accuracy"] or 0
    note = "published detectors: .50 to .58"
    yield Row("Hard hallucinations, balanced accuracy", accuracy, least=0.58, note=note)
    yield Row("The same, AUROC", found["auroc"] or 0, detail=True)
    seconds = asyncio.run(times(data / "squad2_dev"))
    yield Row("Verdicts on ten sentences over ten passages", 1000 * seconds, "ms", most=250)


async def times(directory: Path) -> float:
    """Seconds (median) that an answer takes whose sentences are changed ones of its passages."""
    with gzip.open(directory / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    taken = []
    async with open_reader(load()) as reader:
        local = checker(reader)
        for turn in range(TIMES + 1):
            passages = texts[turn * PASSAGES : (turn + 1) * PASSAGES]
            every = [
                strip_layout(text[s.start : s.end]) for text in passages for s in sentences(text)
            ]
            claims = [Claim(f"As is known, {item}") for item in every[:SENTENCES]]
            started = time.perf_counter()
            await local.support(claims, [EvidenceSource(text) for text in passages])
            taken.append(time.perf_counter() - started)
    return median(taken[1:])
