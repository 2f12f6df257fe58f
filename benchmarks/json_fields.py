"""Fields of answers in JSON, each beside its passage: how many verdicts are right?

`json_fields.json` has objects over passages in six languages, once with right values and once with
wrong ones: other values of the passage, mostly, or other numbers and names. `wrong` objects have
the same keys. What strict mode does to whole objects is measured too. What a field of an array's
object is read with was chosen on the first 16; the last 6 were written after that.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.citations import make_passage
from benchmarks.row import Row
from ragstone.build import checker, open_reader
from ragstone.core.answer import GeneratedAnswer, Verdict
from ragstone.plugins.evaluation.measures import auroc
from ragstone.ports import Claim, EvidenceSource
from ragstone.settings import load
from ragstone.verify.groundedness import likelihood
from ragstone.verify.json_fields import json_sentences
from ragstone.verify.verdicts import build_verdict, is_rejected

OBJECTS = Path(__file__).parent / "json_fields.json"


def run() -> Iterator[Row]:
    groups: list[dict[str, Any]] = json.loads(OBJECTS.read_text(encoding="utf-8"))
    judged = {side: asyncio.run(judge(groups, side)) for side in ("right", "wrong")}
    right, wrong = ([v for found in judged[side] for v in found] for side in judged)
    languages = len({group["language"] for group in groups})
    note = f"{len(right)} right and as many wrong fields, {languages} languages"
    likely = [likelihood(verdict) for verdict in (*right, *wrong)]
    flags = [True] * len(right) + [False] * len(wrong)
    yield Row("Fields of JSON, AUROC", auroc(likely, flags) or 0, note=note)
    for side, verdicts in (("Right", right), ("Wrong", wrong)):
        share = sum(verdict.label == "supported" for verdict in verdicts) / len(verdicts)
        yield Row(f"{side} fields of JSON called supported", share, note=note)
    for side, objects in judged.items():
        refused = sum(any(map(is_rejected, found)) for found in objects) / len(objects)
        yield Row(f"{side} JSON refused by strict mode", refused, note=f"{len(objects)} objects")


async def judge(groups: list[dict[str, Any]], side: str) -> list[list[Verdict]]:
    """Return the verdicts on the fields of each object."""
    judged = []
    async with open_reader(load()) as reader:
        for group in groups:
            passages = [make_passage(1, group["passage"])]
            text = json.dumps(group[side], ensure_ascii=False)
            fields = json_sentences(GeneratedAnswer(text, is_json=True), None)
            asked = [Claim(field.statement, (0,)) for field in fields]
            supports = await checker(reader).support(asked, [EvidenceSource(passages[0].text)])
            pairs = zip(fields, supports, strict=True)
            judged.append([build_verdict(field, support, passages) for field, support in pairs])
    return judged
