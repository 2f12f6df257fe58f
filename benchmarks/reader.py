"""What the reader tells apart, and the verdicts made with it: claims, refusals, the right
sentence.

Everything is of documents that the reader did not learn from (`training.reader.example.held_out`);
of QAGS and FaithBench it learned nothing.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.answer.extractive.unit_ranking import rank_units
from ragstone.answer.extractive.units import units
from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit, Passage
from ragstone.language.sentences import sentences
from ragstone.plugins.evaluation import measures
from ragstone.plugins.evaluation.answers import normalise_answer
from ragstone.plugins.evaluation.dataset import read_rows, spread
from ragstone.plugins.evaluation.grounding import GroundingRow, rows, score
from ragstone.ports import Pair, PairReading
from ragstone.reader.local import LocalReader
from ragstone.reader.network import FILE, find_bundled
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.groundedness import MIN_SUPPORT
from training.reader.example import is_held_out
from training.reader.real import Maker, read_labelled
from training.reader.suite import suite

ASKED = 600
"""Questions of a set that are asked."""

LABELLED = ("fever_symmetric", "jnli_ja", "klue_nli_ko")
TIMES = 20
"""How often ten pairs are read."""

MAX_RESPONSES = 150
"""Responses of a set that are read: of FaithBench each has several sentences."""

REJECTED = 0.05
"""The share of true statements that may be rejected where swaps are counted."""


@dataclass(frozen=True)
class Told:
    """Scores of the reader beside the whole source, and of verdicts, and what is true."""

    reader: list[float]
    verdicts: list[float]
    right: list[bool]

    def each(self) -> dict[str, list[float]]:
        return {"verdicts": self.verdicts, "reader": self.reader}


def run() -> Iterator[Row]:
    yield from asyncio.run(_run(eval_data()))


async def _run(data: Path) -> list[Row]:
    reader = LocalReader()
    found = await _swaps(data, reader)
    found += await _verdicts(data, reader)
    for name, own in (("squad2_dev", 0.7), ("cmrc2018_zh", None)):
        found += await _questions(data, reader, name, own)
    found += await _times(data, reader)
    size = (find_bundled() / FILE).stat().st_size / 1e6
    return [*found, Row("Size of the reader's model", size, "MB", most=40)]


async def _swaps(data: Path, reader: LocalReader) -> list[Row]:
    every, asked = ([item for item in suite(data) if item.asked == so] for so in (False, True))
    told = await _tell(
        [GroundingRow("", item.passage, item.text, item.true) for item in asked], reader
    )
    caught, _ = _caught(told.reader, told.right, _threshold(told.reader, told.right))
    what = "Other answers behind a question caught where .05 of true ones are rejected, reader"
    found = [Row(what, caught, note=f"{len(asked) // 2} pairs", detail=True)]
    given = [GroundingRow("", item.passage, item.text, item.true) for item in every]
    told = await _tell(given, reader)
    for language in ("", *dict.fromkeys(item.language for item in every)):
        chosen = [i for i, item in enumerate(every) if language in ("", item.language)]
        here = f" ({language})" if language else ""
        swaps = sum(not every[i].true for i in chosen)
        for who, scores in told.each().items():
            part = [scores[i] for i in chosen]
            true = [every[i].true for i in chosen]
            caught, rejected = _caught(part, true, MIN_SUPPORT)
            at_most, _ = _caught(part, true, _threshold(part, true))
            note = f"{swaps} swaps, {rejected:.2f} of true statements rejected"
            found.append(Row(f"Swaps caught, {who}{here}", caught, note=note, detail=True))
            bound = 0.9 if who == "verdicts" and not language else None
            what = f"Swaps caught where .05 of true statements are rejected, {who}{here}"
            found.append(Row(what, at_most, least=bound, detail=bound is None))
    return found


def _caught(scores: Sequence[float], true: Sequence[bool], least: float) -> tuple[float, float]:
    """Return the shares of false and of true statements under `least`."""
    false = [item < least for item, right in zip(scores, true, strict=True) if not right]
    rejected = [item < least for item, right in zip(scores, true, strict=True) if right]
    return sum(false) / len(false), sum(rejected) / len(rejected)


def _threshold(scores: Sequence[float], true: Sequence[bool]) -> float:
    ordered = sorted(item for item, right in zip(scores, true, strict=True) if right)
    return ordered[int(REJECTED * len(ordered))]


async def _tell(given: Sequence[GroundingRow], reader: LocalReader) -> Told:
    checker = ReadingChecker(reader)
    read = await reader.read([Pair(row.response, row.source) for row in given])
    return Told(
        [item.supported for item in read],
        [await score(checker, row) for row in given],
        [row.supported for row in given],
    )


async def _verdicts(data: Path, reader: LocalReader) -> list[Row]:
    found = []
    for name, accuracy, area in (
        ("fever_symmetric", 0.75, None),
        ("jnli_ja", None, 0.78),
        ("klue_nli_ko", None, 0.8),
        ("wice", None, None),
        ("qags_cnndm", 0.65, None),
        ("qags_xsum", None, None),
        ("faithbench", None, None),
    ):
        kept = _apart(data, name)
        told = await _tell(kept, reader)
        for who, scores in told.each().items():
            bounds = (accuracy, area) if who == "verdicts" else (None, None)
            said = [item >= MIN_SUPPORT for item in scores]
            found.append(
                Row(
                    f"{name}, balanced accuracy, {who}",
                    measures.balanced_accuracy(said, told.right) or 0,
                    least=bounds[0],
                    note=f"{len(kept)} claims",
                    detail=bounds[0] is None,
                )
            )
            found.append(
                Row(
                    f"{name}, AUROC, {who}",
                    measures.auroc(scores, told.right) or 0,
                    least=bounds[1],
                    detail=bounds[1] is None,
                )
            )
    return found


def _apart(data: Path, name: str) -> list[GroundingRow]:
    """Return the rows of a set that the reader did not learn from."""
    every = rows(data / name / "dev" / "examples.jsonl.gz")
    if name in LABELLED:
        known = {row["id"] for row in read_labelled(data, name, held=True)}
        return [row for row in every if row.id in known]
    if name == "wice":
        return [row for row in every if is_held_out("wice " + row.id.split("#")[0])]
    return spread(every, MAX_RESPONSES)


async def _questions(data: Path, reader: LocalReader, name: str, own: float | None) -> list[Row]:
    """Return questions beside their own passage: the sentence of the answer, and whether there is
    one. The rules are those of the extractive answers without the vectors of tokens."""
    passages = Maker(data, held=True, seed=0).passages(name)
    chosen = random.Random(4).sample(passages.questions, min(ASKED, len(passages.questions)))
    texts = [passages.by_id[item["relevant"][0]]["text"] for item in chosen]
    pairs = [
        Pair(item["query"], text, question=True) for item, text in zip(chosen, texts, strict=True)
    ]
    read = await reader.read(pairs)
    sure: dict[str, list[float]] = {"reader": [], "rules": []}
    held: dict[str, list[bool]] = {"reader": [], "rules": []}
    answerable = [bool(item["answers"]) for item in chosen]
    for item, text, reading in zip(chosen, texts, read, strict=True):
        best, likely = rank_units(item["query"], [_passage(text)], [units(text)], None)
        sure["rules"].append(likely)
        sure["reader"].append(reading.answers)
        if item["answers"]:
            unit = best[0].unit if best else None
            by_rules = text[unit.start : unit.end] if unit else ""
            held["rules"].append(_holds(by_rules, item["answers"]))
            held["reader"].append(_holds(_sentence(text, reading), item["answers"]))
    found = []
    for who in ("reader", "rules"):
        mine = who == "reader"
        found.append(
            Row(
                f"{name}, an accepted answer in the chosen sentence of its passage, {who}",
                sum(held[who]) / len(held[who]),
                note=f"{len(held[who])} questions",
                detail=True,
            )
        )
        if own is not None:
            found.append(
                Row(
                    f"{name}, its own unanswerable questions told, AUROC, {who}",
                    measures.auroc(sure[who], answerable) or 0,
                    least=own if mine else None,
                    detail=not mine,
                )
            )
    return found


def _sentence(text: str, reading: PairReading) -> str:
    if reading.span is None:
        return ""
    start, end = reading.span
    return " ".join(
        text[s.start : s.end] for s in sentences(text) if s.start < end and start < s.end
    )


def _holds(said: str, answers: Sequence[str]) -> bool:
    padded = f" {normalise_answer(said)} "
    return any(
        f" {normalise_answer(answer)} " in padded for answer in answers if normalise_answer(answer)
    )


def _passage(text: str) -> Passage:
    chunk = Chunk("c", "d", 1, 0, text, "", "", "", "", 0, len(text))
    return Passage(1, text, Hit(chunk, 1.0))


async def _times(data: Path, reader: LocalReader) -> list[Row]:
    """Ten claims beside a sentence each, and a question beside ten passages."""
    corpus = [row["text"] for row in read_rows(data / "squad2_dev" / "corpus.jsonl.gz")]
    texts = corpus[: 10 * TIMES]
    claims = [text[s.start : s.end] for text in texts for s in sentences(text)[:1]]
    asked = "Who led the army in that year?"
    verdicts = await _time_pairs(reader, [Pair(f"As is known, {claim}", claim) for claim in claims])
    answers = await _time_pairs(reader, [Pair(asked, item, question=True) for item in texts])
    return [
        Row("Verdicts on ten sentences beside one each", 1000 * verdicts, "ms", most=250),
        Row("Reading ten passages for a question", 1000 * answers, "ms", most=400),
    ]


async def _time_pairs(reader: LocalReader, pairs: Sequence[Pair]) -> float:
    """Return seconds (median) for ten pairs."""
    taken = []
    for start in range(0, len(pairs), 10):
        started = time.perf_counter()
        await reader.read(pairs[start : start + 10])
        taken.append(time.perf_counter() - started)
    return median(taken)
