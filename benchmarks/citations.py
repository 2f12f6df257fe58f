"""Wrong numbers in answers: how many are found, and how many right ones are called wrong?

`citation_claims.json` has sentences in five languages, written over passages of xquad. Each is
cited once by the passage that says it, and once by every other one: of other articles, and the
next one of the same.
"""

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import eval_data
from benchmarks.peers.synthetic import a_chunk
from benchmarks.row import Row
from ragstone.build import checker, open_reader
from ragstone.core.answer import Marker
from ragstone.core.turn import Hit, Passage
from ragstone.ports import Claim, EvidenceSource
from ragstone.settings import load
from ragstone.verify.cite import build_citation
from ragstone.verify.markers import judge_marker

CLAIMS = Path(__file__).parent / "citation_claims.json"


def run() -> Iterator[Row]:
    claims: dict[str, list[tuple[str, str]]] = json.loads(CLAIMS.read_text(encoding="utf-8"))
    right, wrong = list[str](), list[str]()
    for language, rows in claims.items():
        states = asyncio.run(judge(language, rows))
        right += [state for state, is_right in states if is_right]
        wrong += [state for state, is_right in states if not is_right]
    found, false = wrong.count("elsewhere"), right.count("elsewhere")
    note = f"{len(wrong)} of them, over passages in {len(claims)} languages"
    yield Row("Wrong citation numbers found", found / len(wrong), least=0.9, note=note)
    note = f"{len(right)} of them"
    yield Row("Right citation numbers called wrong", false / len(right), most=0.03, note=note)


async def judge(language: str, rows: list[tuple[str, str]]) -> list[tuple[str, bool]]:
    """Return the state of each marker, and whether its number is right."""
    with gzip.open(
        eval_data() / "xquad" / language / "corpus.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        texts = {row["id"].partition(":")[2]: row["text"] for row in map(json.loads, lines)}
    articles = list(dict.fromkeys(id for id, _ in rows))
    ids = [*articles, *(f"{id.partition('-')[0]}-1" for id in articles)]
    passages = [make_passage(number, texts[id]) for number, id in enumerate(ids, 1)]
    sources = [EvidenceSource(item.text) for item in passages]
    asked = [
        (Claim(text, (place,)), passage, ids[place] == id)
        for id, text in rows
        for place, passage in enumerate(passages)
    ]
    async with open_reader(load()) as reader:
        supports = await checker(reader).support([claim for claim, *_ in asked], sources)
    return [
        (judge_marker(make_marker(passage), [(claim, support)], passages).state, is_right)
        for (claim, passage, is_right), support in zip(asked, supports, strict=True)
    ]


def make_marker(passage: Passage) -> Marker:
    return Marker(0, 3, passage.number, build_citation(passage, 0, 1))


def make_passage(number: int, text: str) -> Passage:
    return Passage(number, text, Hit(a_chunk(number, text), 1.0))
