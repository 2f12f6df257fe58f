"""Statements over real passages in five languages, half of them with one thing exchanged.

All are of documents that the reader did not learn from. The swaps are made by the rules that also
made what it learned from, so the suite shows what it does on other texts, not on other mistakes.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.reader.real import Maker, Passages, shorter
from training.reader.statements import statement
from training.reader.swaps import Swapper, is_cjk

SETS = {
    "en": ("squad2_dev", None),
    "de": ("xquad", "xquad/de"),
    "es": ("xquad", "xquad/es"),
    "zh": ("cmrc2018_zh", None),
    "ja": ("jsquad_ja", None),
}
OF_SENTENCES, OF_ANSWERS = 70, 40
"""Swaps in each language; there are as many true statements."""

KINDS = ("name", "roles", "number", "unit", "pair", "negation")
"""What is exchanged: a name for another or two for each other, a number, a unit or month, a word
of condition, quantity or order for its opposite, a negation."""


@dataclass(frozen=True, slots=True)
class Statement:
    """`kind` is "true" for one that the passage says. In an `asked` one the answer stands behind
    its question, as no statement could be made of the two: that is judged apart."""

    language: str
    kind: str
    passage: str
    text: str
    asked: bool = False

    @property
    def true(self) -> bool:
        return self.kind == "true"


def suite(data: Path) -> list[Statement]:
    """Return the statements, the same at every call."""
    maker = Maker(data, held=True, seed=11)
    found: list[Statement] = []
    for language, (name, folder) in SETS.items():
        passages = maker.passages(name, folder)
        chance = random.Random(f"swaps {language}")
        found += _of_sentences(language, passages, chance)
        found += _of_answers(language, maker, passages)
    return found


def _of_sentences(language: str, found: Passages, chance: random.Random) -> Iterator[Statement]:
    swapper = Swapper(chance)
    made = dict.fromkeys(KINDS, 0)
    for row, sentence in _sentences(found, chance):
        kind = min(made, key=lambda k: made[k])
        claim = chance.choice((sentence, *shorter(sentence)))
        changed = swapper.changed(claim, row["text"], found.answers[row["id"]], kind)
        if changed is None or changed.text in row["text"]:
            for kind in KINDS:
                changed = swapper.changed(claim, row["text"], found.answers[row["id"]], kind)
                if changed and made[kind] < OF_SENTENCES / 4:
                    break
            else:
                continue
        if changed is None or changed.text in row["text"]:
            continue
        made[kind] += 1
        yield Statement(language, changed.kind, row["text"], changed.text)
        yield Statement(language, "true", row["text"], claim)
        if sum(made.values()) == OF_SENTENCES:
            return


def _sentences(found: Passages, chance: random.Random) -> Iterator[tuple[dict[str, Any], str]]:
    rows: Sequence[dict[str, Any]] = chance.sample(found.rows, len(found.rows))
    for _ in range(6):
        for row in rows:
            start, end = chance.choice(found.cut[row["id"]])
            text = row["text"][start:end].strip()
            if 15 <= len(text) <= (110 if is_cjk(text) else 280):
                yield row, text


def _of_answers(language: str, maker: Maker, found: Passages) -> Iterator[Statement]:
    """Yield questions with their answer, and with another from the same passage, as statements."""
    made = 0
    for question in found.questions:
        if not question["answers"]:
            continue
        row = found.by_id[question["relevant"][0]]
        right = min(question["answers"], key=len)
        wrong = maker.wrong_answer(right, row["text"], row, found)
        if wrong is None or wrong in question["query"] or right not in row["text"]:
            continue
        if len(right) > 60 or hash_of(question["id"]) % 5:
            continue
        true, false = (statement(question["query"], item) for item in (right, wrong))
        asked = any(sign in true for sign in "?？")
        yield Statement(language, "answer", row["text"], false, asked)
        yield Statement(language, "true", row["text"], true, asked)
        made += 1
        if made == OF_ANSWERS:
            return


def hash_of(text: str) -> int:
    return sum(text.encode())
