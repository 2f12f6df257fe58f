"""Writes what the reader is trained on: `python -m training.reader.build FOLDER`.

Reads RAGSTONE_EVAL_DATA and the descriptions of installed packages; makes FOLDER/train.npz and
FOLDER/check.npz of tokens and labels, which `train.py` reads without Ragstone.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import numpy as np

from benchmarks.common import eval_data
from ragstone.models.e5_engine import weights_file
from ragstone.models.e5_weights import read
from training.reader.example import Example, Verdict
from training.reader.invented import Inventor
from training.reader.real import XQUAD, Maker
from training.reader.rows import Encoder, save

OPEN = ("MIT", "BSD", "Apache", "ISC")


def training(data: Path) -> Iterator[Example]:
    maker = Maker(data, held=False, seed=1)
    for _ in range(4):
        yield from maker.fever()
    for _ in range(3):
        yield from maker.jnli()
        yield from maker.klue()
        yield from maker.scifact()
        yield from maker.wice()
    squad = maker.passages("squad2_dev")
    for _ in range(2):
        yield from maker.of_questions(squad, 99999)
    yield from maker.of_answers(squad, 99999)
    yield from maker.of_unanswerable(squad, 900)
    for _ in range(2):
        yield from maker.of_sentences(squad, 1800)
    for language in XQUAD:
        found = maker.passages("xquad", f"xquad/{language}")
        yield from maker.of_questions(found, 220)
        yield from maker.of_answers(found, 260)
        yield from maker.of_sentences(found, 330)
    for name in ("cmrc2018_zh", "drcd_zh_hant", "jsquad_ja"):
        found = maker.passages(name)
        yield from maker.of_questions(found, 1100)
        yield from maker.of_answers(found, 1300)
        yield from maker.of_sentences(found, 1000)
    yield from maker.across(3000)
    yield from maker.of_sentences(packages(), 2500)
    yield from Inventor(random.Random(2)).examples(3600)


def checking(data: Path) -> Iterator[Example]:
    """A little of everything from the other halves, to watch while training runs."""
    maker = Maker(data, held=True, seed=3)
    for real in (maker.fever(), maker.jnli(), maker.klue(), maker.wice()):
        yield from _some(list(real), 240)
    squad = maker.passages("squad2_dev")
    yield from _some(list(maker.of_questions(squad, 600)), 500)
    yield from _some(list(maker.of_answers(squad, 200)), 240)
    yield from _some(list(maker.of_sentences(squad, 200)), 240)
    for language in ("de", "zh", "tr"):
        found = maker.passages("xquad", f"xquad/{language}")
        yield from _some(list(maker.of_sentences(found, 80)), 100)
        yield from _some(list(maker.of_questions(found, 80)), 100)
    found = maker.passages("jsquad_ja")
    yield from _some(list(maker.of_sentences(found, 100)), 140)
    yield from _some(list(maker.across(80)), 150)
    yield from _some(list(Inventor(random.Random(9)).examples(60)), 200)


def _some(examples: list[Example], most: int) -> list[Example]:
    return random.Random(5).sample(examples, min(most, len(examples)))


class PackageTexts:
    """The descriptions of installed packages with an open licence, as `real.Passages`."""

    name = "packages"

    def __init__(self) -> None:
        from collections import defaultdict

        from training.reader.real import cut

        self.rows = [{"id": name, "title": name, "text": text} for name, text in _paragraphs()]
        self.answers: dict[str, list[str]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            row["id"] = f"{row['id']} {number}"
        self.cut = {row["id"]: cut(row["text"]) for row in self.rows}

    def title(self, row: dict[str, str]) -> str:
        return row["title"]


def packages() -> PackageTexts:
    return PackageTexts()


def _paragraphs() -> Iterator[tuple[str, str]]:
    for found in sorted(distributions(), key=lambda d: d.metadata["Name"]):
        meta = found.metadata
        licence = f"{meta.get('License-Expression')} {(meta.get('License') or '')[:60]}"
        text = meta.get_payload() if isinstance(meta.get_payload(), str) else ""  # type: ignore[attr-defined]
        if not any(name in licence for name in OPEN) or not text:
            continue
        for paragraph in text.split("\n\n"):
            words = paragraph.split()
            plain = " ".join(words)
            odd = sum(plain.count(c) for c in "[]{}<>|`=/#*_:")
            if 25 <= len(words) <= 220 and odd < len(plain) / 60:
                yield meta["Name"], plain


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(read(weights_file()).tokenizer)
    for name, made in (("check", checking(eval_data())), ("train", training(eval_data()))):
        rows = list(made)
        counts = Counter((row.kind, row.question, row.answers, row.verdict.name) for row in rows)
        for what, count in sorted(counts.items(), key=str):
            print(name, count, *what)
        save(folder / f"{name}.npz", [encoder.row(row) for row in rows], [r.kind for r in rows])
    print(Verdict.__members__.keys(), np.__version__)


if __name__ == "__main__":
    main()
