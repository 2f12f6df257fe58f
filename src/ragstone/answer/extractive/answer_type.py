"""What kind of thing a question asks for, and where a sentence holds one.

Both are told by shape: question words and units in `data/answer_kinds.json`, for several languages
at once, and capital letters or titles for people. There is no list of names.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ragstone.language.sentences import Span

Kind = Literal["", "time", "money", "share", "number", "person", "place", "reason"]

ANY = 0.5
"""What a sentence is worth where any kind of thing will do."""

_LONGEST = 1000
"""Characters of a question and of a sentence that are looked at."""

_PERSON = re.compile(
    # Two capitalised words, with a particle between them; initials count.
    r"\b[A-ZÀ-ÞΑ-ΩА-Я][\w'’]*\.? (?:(?:of|the|de|da|di|du|la|le|van|von|der|bin|ibn|al|y) ){0,2}"
    r"[A-ZÀ-ÞΑ-ΩА-Я][\w'’-]+"
    r"|\b(?:Mrs?|Ms|Dr|Prof|Sir|Lord|Lady|King|Queen|Pope|Herr|Frau|König|Papst|M|Mme|Don|Doña)\.?"
    r" [A-ZÀ-ÞА-Я][\w'’-]+"
    r"|[\u4e00-\u9fff\u30a0-\u30ff]{1,8}[·・‧][\u4e00-\u9fff\u30a0-\u30ff]{1,8}"
    r"|[\u4e00-\u9fff\u30a0-\u30ff]{2,5}(?:先生|女士|教授|博士|皇帝|国王|總統|总统|さん|氏|選手|監督)"
    r"|[가-힣]{2,4} ?(?:씨|박사|교수|대통령|감독|선수|황제|장군)"
)
_NAME = re.compile(r"(?<=[^.!?\s] )[A-ZÀ-ÞΑ-ΩА-Я][\w'’-]+")
"""A capitalised word inside a sentence."""

_CAPITALS = re.compile(r"[A-ZÀ-ÞΑ-ΩА-Я]")
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|wurde|wer|wo|wem|wen|welche[rnsm]?)\b")
"""German writes every noun with a capital, so that one alone names nobody."""


@dataclass(frozen=True, slots=True)
class _Shape:
    asked: re.Pattern[str]
    held: re.Pattern[str] | None


@cache
def _shapes() -> dict[Kind, _Shape]:
    text = (
        files("ragstone.answer.extractive")
        .joinpath("data/answer_kinds.json")
        .read_text(encoding="utf-8")
    )
    return {
        kind: _Shape(_alternation(d["asked"]), _alternation(d["held"]))
        for kind, d in json.loads(text).items()
    }


def _alternation(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def answer_kind(question: str) -> Kind:
    """The kind of thing that is asked for, empty if any will do or none is recognised.

    Of several, the one that is asked first: "who was king when ..." asks for a person.
    """
    found = [
        (match.start(), order, kind)
        for order, (kind, shape) in enumerate(_shapes().items())
        if (match := shape.asked.search(question[:_LONGEST]))
    ]
    return min(found)[2] if found else ""


def things(kind: Kind, sentence: str, question: str) -> list[Span]:
    """Where `sentence` holds things of `kind` that `question` does not name itself."""
    asked = question[:_LONGEST].casefold()
    found = _persons(sentence) if kind == "person" else _kind_matches(kind, sentence)
    return [
        Span(match.start(), match.end())
        for match in found
        if match.group().strip().casefold() not in asked
    ]


def fits(kind: Kind, sentence: str, question: str) -> float:
    """1 if the sentence holds a thing of `kind` that the question does not name, 0 if not; ANY if
    any kind will do, or the script does not show it."""
    return fit(kind, sentence, len(things(kind, sentence, question)) if kind else 0)


def fit(kind: Kind, sentence: str, number: int) -> float:
    """`fits`, where the number of such things in the sentence is known."""
    if number:
        return 1.0
    return ANY if not kind or (kind == "person" and not _CAPITALS.search(sentence)) else 0.0


def _kind_matches(kind: Kind, sentence: str) -> Iterator[re.Match[str]]:
    shape = _shapes().get(kind)
    if shape is not None and shape.held is not None:
        yield from shape.held.finditer(sentence[:_LONGEST])


def _persons(sentence: str) -> Iterator[re.Match[str]]:
    text = sentence[:_LONGEST]
    yield from _PERSON.finditer(text)
    if not _GERMAN.search(text):
        yield from _NAME.finditer(text)
