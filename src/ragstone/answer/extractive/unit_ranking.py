"""Orders the units of the passages by how likely each holds the answer, and says how surely."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from ragstone.answer.extractive import unit_closeness, unit_words
from ragstone.answer.extractive.unit_words import UnitText, read
from ragstone.answer.extractive.units import UNANSWERING, AnswerUnit
from ragstone.core.turn import Passage
from ragstone.language.language import detect
from ragstone.language.late_interaction import Floats
from ragstone.language.words import content_word_set, content_words, is_mostly_paired
from ragstone.ports import Vectors
from ragstone.understand.question_kinds import by_rules

ROW, COLUMN, OTHER_COLUMN = 2.0, 3.0, -1.0
"""Added to the score of a row whose label the question has, and of whose columns it names one: by
its years and numbers, or by all its words; or whose columns have other years."""

WHOLE_CELL = 5.0
"""Added besides where label and column are all that is asked about: the keying rate of MSK144."""

OF_PART = 0.5
"""The share of COLUMN where the column is of a part that the question does not name, as in "2017
Other acquisitions"."""

MIN_CELLS = 2
"""Cells of a row."""

_NOTES = re.compile(r"\([^()]{0,40}\)")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
"""Also a year; the digits of FT4 are none."""


def record(row: str, header: str) -> str:
    """Return a row whose cells stand side by side below a header, as one that names its columns."""
    cells, names = (item.strip("| ").split(" | ") for item in (row, header))
    if len(cells) < MIN_CELLS or len(cells) != len(names):
        return row
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))


def cell_score(question: str, row: str) -> float:
    """The addition to the score of a row such as "Net sales > AWS; 2018: 25,655; 2019: 35,026"."""
    first, *cells = row.split("; ")
    names = [cell.partition(": ")[0] for cell in cells if ": " in cell]
    label = _NOTES.sub("", first.partition(": ")[2] or first).rpartition(" > ")[2]
    asked = content_word_set(question)
    words = [word for word in content_words(label) if not word.isdigit()]
    if not names or not words or not asked.issuperset(words):
        return 0.0
    numbers = set(_NUMBER.findall(question))
    if not numbers:
        others = asked.difference(words)
        named = [own for own in map(_column_words, names) if own and own <= others]
        return ROW + COLUMN * bool(named) + WHOLE_CELL * any(own == others for own in named)
    seen = Counter(word for name in names for word in content_word_set(name))
    best = 0.0
    for name in names:
        held = len(numbers.intersection(_NUMBER.findall(name))) / len(numbers)
        own = [word for word in content_word_set(name) - asked if not word.isdigit()]
        best = max(best, held * (OF_PART if any(seen[word] == 1 for word in own) else 1.0))
    return ROW + (COLUMN * best if best else OTHER_COLUMN)


def _column_words(name: str) -> frozenset[str]:
    """Return the words of a column's name, without a unit in brackets."""
    words = content_word_set(_NOTES.sub("", name))
    return frozenset(word for word in words if len(word) > 1) or frozenset(words)


Which = Literal["tokens", "words", "pairs"]
"""With token vectors; without; and without, where words are compared by pairs of characters. The
last two rank units alike: over 146 Chinese and Japanese questions own weights are worse."""

WEIGHTS = "unit-ranker.json"
PASSAGE_NAMES = ("score", "similarity", "bm25", "rerank", "place")
WORD_NAMES = (*unit_words.NAMES, *PASSAGE_NAMES)
TOKEN_NAMES = (*WORD_NAMES, *unit_closeness.NAMES)
SURE_WORD_NAMES = ("words", "words_best", "similarity", "similarity_mean")
SURE_TOKEN_NAMES = (
    *SURE_WORD_NAMES,
    "match",
    "worst_match",
    "passage_match",
    "topic",
    "with_heading",
)


@dataclass(frozen=True, slots=True)
class Ranker:
    """Weights by feature, for the scores (logits) and for the sureness, which has a bias."""

    scores: Floats
    sureness: Floats
    bias: float


@cache
def rankers() -> Mapping[Which, Ranker]:
    """Return the shipped ones."""
    text = (
        files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}").read_text(encoding="utf-8")
    )
    data = json.loads(text)
    return {
        "tokens": _ranker(data["tokens"], TOKEN_NAMES, SURE_TOKEN_NAMES),
        "words": _ranker(data["words"], WORD_NAMES, SURE_WORD_NAMES),
        "pairs": _ranker(data["words"] | data["pairs"], WORD_NAMES, SURE_WORD_NAMES),
    }


def _ranker(data: Mapping[str, Any], names: Sequence[str], sure: Sequence[str]) -> Ranker:
    scores = np.array([data["scores"].get(name, 0.0) for name in names], np.float32)
    sureness = np.array([data["sureness"].get(name, 0.0) for name in sure], np.float32)
    return Ranker(scores, sureness, data["sureness"]["bias"])


CLOSER = 20
"""Units that may be said or read."""

HEADING = -4.0
"""Added to the score of what answers little by itself: a heading, a caption."""

SECTION = 1.0
"""Added to the score of what stands below a heading whose words the question has."""

SHOWN = 3.0
"""Added to the score of what comes with code, where it is asked how something is done."""

LISTED = 1.5
"""Added to the score of a list, where the question asks for several things."""

SAME_QUESTION = 4.0
"""Added to the score of the very question that is asked, which has its answer after it."""

SAME = 0.7
"""The share (Dice) of common words from which a question is the one that was asked."""

ALIKE = 0.7
"""What a word in another form is worth where it is asked whether the passages speak of it."""

MEANT = 15.0
"""Added to the score by the likeness of meaning, across languages. With questions in four
languages over English passages (`xquad`), the answer is in the first two units of .88, of .69
without; 10 and 20 measure the same."""

MEANT_SURENESS = (7.6, 2.2, 0.7, -2.6)
"""Weights of the best unit's likeness, of the best passage's and of the words, and a bias: across
languages. Fitted on the same; it answers .72 of what the passages hold, and refuses .75 of what
only others held. By words alone it would answer .04."""

SUREST = 3
"""The similarities of so many passages tell whether they speak of it at all."""


@dataclass(frozen=True, slots=True)
class UnitReading:
    """What a reader makes of a unit: the log-odds that the text about it answers, and whether the
    likeliest place of the answer there is in the unit."""

    odds: float
    placed: bool


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit that may answer, its passage and its place among the passage's units. The answer is
    exp(`score`) times as likely in it as in one of score 0."""

    unit: AnswerUnit
    passage: Passage
    place: int
    score: float
    asked: bool = False
    """Whether the unit is the very question, with its answer."""

    reading: UnitReading | None = None


def passage_units(
    item: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[RankedUnit]:
    """Return all units of a ranked unit's passage, of those found in each."""
    own = found[[item.passage is passage for passage in passages].index(True)]
    return [RankedUnit(unit, item.passage, place, item.score) for place, unit in enumerate(own)]


def units_following(
    item: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[RankedUnit]:
    """Return the units of the passage that follows that of `one` in its document, without what both
    have; none where it was not found."""
    chunk = item.passage.hit.chunk
    for passage, own in zip(passages, found, strict=True):
        other = passage.hit.chunk
        if other.revision == chunk.revision and other.chunk_index == chunk.chunk_index + 1:
            new = [(n, u) for n, u in enumerate(own) if other.start + u.start >= chunk.end]
            return [RankedUnit(unit, passage, place, item.score) for place, unit in new]
    return []


def rank_units(
    question: str,
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
    near: Sequence[Vectors] | None,
    meant: Sequence[Vectors] | None = None,
) -> tuple[list[RankedUnit], float]:
    """Return the best units of the passages, best first, and the probability (0..1) that they hold
    the answer. `near` is `unit_closeness` per passage, None if there are no token vectors; `meant`
    the likeness of the units' meaning, where the question is in another language."""
    read_ = [[read(p.text, unit) for unit in own] for p, own in zip(passages, found, strict=True)]
    texts = [text for own in read_ for text in own]
    if not texts:
        return [], 0.0
    rows = table(question, passages, read_, near)
    ranker = rankers()[_ranker_name(question, near is not None)]
    asked = frozenset(content_words(question))
    places = [(p, n, u) for p, own in zip(passages, found, strict=True) for n, u in enumerate(own)]
    same = [
        _is_same_question(asked, unit, text)
        for (_, _, unit), text in zip(places, texts, strict=True)
    ]
    scores = rows @ ranker.scores
    scores += [_form_score(unit, item) for (_, _, unit), item in zip(places, same, strict=True)]
    scores += [SECTION * named for own in _below_named(asked, passages, found) for named in own]
    if is_how_to_question(question):
        scores += [SHOWN * shows(unit) for _, _, unit in places]
    if asks_for_several(question):
        scores += [LISTED * (unit.form == "list") for _, _, unit in places]
    scores += [
        cell_score(question, record(text.text, unit.context)) if unit.form == "row" else 0.0
        for (_, _, unit), text in zip(places, texts, strict=True)
    ]
    likeness = np.concatenate(meant) if meant is not None else None
    if likeness is not None:
        scores += MEANT * likeness
    order = np.argsort(-scores, kind="stable")[:CLOSER].tolist()
    told = sureness_features(rows, order[0])
    sure = float(told @ ranker.sureness) + ranker.bias
    if likeness is not None:
        words, _, similarity = told[:3].tolist()
        unit, passage, word, bias = MEANT_SURENESS
        sure = unit * float(likeness.max()) + passage * similarity + word * words + bias
    best = []
    for i in order:
        passage, place, unit = places[i]
        best.append(RankedUnit(unit, passage, place, float(scores[i]), same[i]))
    return best, float(1 / (1 + np.exp(-np.clip(sure, -30, 30))))


def asks_for_several(question: str) -> bool:
    """Tell whether a question asks for a list or for steps."""
    return _intent(question) in ("list", "procedural")


def is_how_to_question(question: str) -> bool:
    """Tell whether a question asks how something is done."""
    return _intent(question) == "procedural"


def shows(unit: AnswerUnit) -> bool:
    """Tell whether a unit shows how something is done: by code."""
    return any(item.kind == "code" for item in unit.said)


def _intent(question: str) -> str:
    intent = by_rules(question, detect(question))
    return intent.name if intent else ""


def _below_named(
    asked: frozenset[str], passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[list[bool]]:
    """Per passage whether the question has all words of the heading that each unit stands below."""
    return [
        _match_sections(asked, passage, own) for passage, own in zip(passages, found, strict=True)
    ]


def _match_sections(
    asked: frozenset[str], passage: Passage, found: Sequence[AnswerUnit]
) -> list[bool]:
    section = passage.hit.chunk.section
    named = bool(section) and asked.issuperset(content_words(section[-1]))
    below = []
    for unit in found:
        if unit.form == "heading":
            words = content_words(passage.text[unit.start : unit.end])
            named = bool(words) and asked.issuperset(words)
        below.append(named and unit.form != "heading")
    return below


def table(
    question: str,
    passages: Sequence[Passage],
    texts: Sequence[Sequence[UnitText]],
    near: Sequence[Vectors] | None,
) -> Floats:
    """The features (units, TOKEN_NAMES or WORD_NAMES) of all units."""
    words = unit_words.features(question, texts, [p.hit.chunk.heading for p in passages])
    shared = _passage_features(passages, [len(own) for own in texts])
    columns = [words, shared, *([list(near)] if near is not None else [])]
    return np.concatenate([np.concatenate(parts, axis=1) for parts in zip(*columns, strict=True)])


def _passage_features(passages: Sequence[Passage], units: Sequence[int]) -> list[Floats]:
    """Return the features (units, PASSAGE_NAMES) that all units of a passage have."""
    hits = [passage.hit for passage in passages]
    score = max((hit.score for hit in hits), default=0.0) or 1.0
    bm25 = max((hit.bm25 or 0.0 for hit in hits), default=0.0) or 1.0
    rows = [
        np.array(
            [
                hit.score / score,
                hit.similarity or 0.0,
                (hit.bm25 or 0.0) / bm25,
                hit.rerank or 0.0,
                1 / (1 + place),
            ],
            np.float32,
        )
        for place, hit in enumerate(hits)
    ]
    return [np.tile(row, (number, 1)) for row, number in zip(rows, units, strict=True)]


def sureness_features(features: Floats, best: int) -> Floats:
    """Return what tells whether the passages hold the answer; `best` is the best unit's row."""
    names = TOKEN_NAMES if features.shape[1] == len(TOKEN_NAMES) else WORD_NAMES
    column = {name: features[:, number] for number, name in enumerate(names)}
    held = column["words"] + ALIKE * column["words_alike"]
    near = sorted(set(column["similarity"].tolist()), reverse=True)[:SUREST]
    found = [
        float((held + column["words_heading"]).max()),
        float(held[best] + column["words_before"][best]),
        near[0],
        float(np.mean(near)),
    ]
    if names is TOKEN_NAMES:
        found += [
            *(float(column[n].max()) for n in ("match", "worst_match", "passage_match", "topic")),
            float(column["with_heading"][best]),
        ]
    return np.array(found, np.float32)


def _ranker_name(question: str, tokens: bool) -> Which:
    """Return the ranker for a question: its words are pairs of characters in some scripts."""
    if tokens:
        return "tokens"
    return "pairs" if is_mostly_paired(question) else "words"


def _is_same_question(asked: frozenset[str], unit: AnswerUnit, text: UnitText) -> bool:
    """Tell whether a question of the documents is the one that was asked."""
    if unit.form != "answer" or not asked:
        return False
    own = frozenset(text.words)
    return 2 * len(asked & own) >= SAME * (len(asked) + len(own))


def _form_score(unit: AnswerUnit, same: bool) -> float:
    """Return the addition to a unit's score for its form."""
    if unit.form in UNANSWERING:
        return HEADING
    return SAME_QUESTION if same else 0.0
