"""Examples as tokens and labels, in arrays that are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragstone.models.e5_weights import Unigram
from ragstone.reader.pairs import PASSAGE, TEXT, PairTokens, Placed
from training.reader.example import Example, Place, Verdict

MAX_TEXT = 80
MOST = 320
"""Tokens of a claim or question, and of a pair; an example's longer passage is cut."""

IGNORED = -1


@dataclass(frozen=True, slots=True)
class Row:
    """`right` holds per token of a claim 1 where it is wrong, 0 where it is right."""

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    right: tuple[int, ...]
    answers: int
    start: int
    end: int
    verdict: int


class Encoder:
    def __init__(self, tokenizer: Unigram) -> None:
        self._tokens = PairTokens(tokenizer)
        self._known: dict[str, Placed] = {}

    def _cut(self, text: str) -> Placed:
        if text not in self._known:
            self._known[text] = self._tokens.cut(text)
        return self._known[text]

    def row(self, example: Example) -> Row:
        text = self._cut(example.text)[:MAX_TEXT]
        title = self._cut(example.title) if example.title else []
        room = MOST - len(text) - min(len(title), 24) - 8
        found = self._tokens.row(text, example.question, title, self._cut(example.passage)[:room])
        right = [IGNORED] * len(found.ids)
        if not example.question and example.wrong is not None:
            for i, (part, place) in enumerate(zip(found.parts, found.places, strict=True)):
                if part == TEXT:
                    right[i] = int(any(_meet(place, wrong) for wrong in example.wrong))
        start = end = IGNORED
        if example.span:
            held = [
                i
                for i, (part, place) in enumerate(zip(found.parts, found.places, strict=True))
                if part == PASSAGE and _meet(place, example.span)
            ]
            if held:
                start, end = held[0], held[-1]
        answers = IGNORED if example.answers is None else int(example.answers)
        if example.verdict is Verdict.UNKNOWN and answers == IGNORED:
            raise ValueError(f"Nothing is known of {example}")
        return Row(found.ids, found.parts, tuple(right), answers, start, end, int(example.verdict))


def _meet(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def save(file: Path, rows: Sequence[Row], kinds: Sequence[str]) -> None:
    starts = np.cumsum([0, *(len(row.ids) for row in rows)])
    names = sorted(set(kinds))
    np.savez(
        file,
        ids=np.concatenate([np.array(row.ids, np.int32) for row in rows]),
        parts=np.concatenate([np.array(row.parts, np.int8) for row in rows]),
        right=np.concatenate([np.array(row.right, np.int8) for row in rows]),
        starts=starts,
        labels=np.array([(r.answers, r.start, r.end, r.verdict) for r in rows], np.int32),
        kinds=np.array([names.index(kind) for kind in kinds], np.int32),
        names=np.array(names),
    )
