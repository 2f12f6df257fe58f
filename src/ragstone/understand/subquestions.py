"""Compound questions taken apart by rules: several questions in one, and comparisons."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ragstone.language.language import detect
from ragstone.language.mentions import function_words
from ragstone.language.words import STOPWORDS, content_words, words
from ragstone.understand.comparison import comparison
from ragstone.understand.follow_up import ASKS, UNSPACED_ASKS, is_pointing
from ragstone.understand.small_talk import match_small_talk

MAX_QUESTIONS = 4
MAX_CHARS = 500
"""Characters of a question that is taken apart."""

_SENTENCE = re.compile(r"[^?？!！。\n]{1,400}[?？]")
_ANDS = "and|und|et|y|e|en|и"
_AND = re.compile(
    rf"(?:,\s?|\s)(?:{_ANDS}|or|as well as)(?: also)?\s(?={ASKS.pattern}\s)",
    re.IGNORECASE,
)
_COMMA = re.compile(rf",\s(?={ASKS.pattern}\s)", re.IGNORECASE)
_TOKEN = re.compile(r"\w+(?:[-'’./]\w+)*")
_NAME = re.compile(r"[^\W\d_a-zà-öø-ÿ]|\w*[\d_]")
_COORDINATORS = frozenset((*_ANDS.split("|"), "och", "og"))
_RANGE = re.compile(
    r"\b(?:between|from|zwischen|von|entre|de|desde|tra|fra|tussen)\s*$", re.IGNORECASE
)
"""What a range begins with, whose ends are not two things."""
_UNSPACED_COMMA = re.compile(r"[,，、；]")


def subquestions(question: str) -> list[str]:
    """Return the 2 to `MAX_QUESTIONS` questions that `question` asks or compares; none if it is
    one."""
    return separate_questions(question) or _several(_comparison_parts, question)


def separate_questions(question: str) -> list[str]:
    """Return the 2 to `MAX_QUESTIONS` questions that are each answered by themselves; none if it is
    one."""
    return _several(_sentences, question) or _several(_clauses, question)


def _several(divide: Callable[[str], list[str]], question: str) -> list[str]:
    if len(question) > MAX_CHARS:
        return []
    parts = list(dict.fromkeys(filter(None, divide(question.strip()))))
    return parts[:MAX_QUESTIONS] if len(parts) > 1 else []


@dataclass(frozen=True, slots=True)
class Coordination:
    """Two things that one question asks the same of, and the question about each."""

    things: tuple[str, str]
    questions: tuple[str, str]


def coordination(question: str) -> Coordination | None:
    """Return the two things that stand side by side in a question; None where there are none.

    Names, codes and numbers are taken as long as they are ("the Tern 200 and the Tern 400"), of
    other words the one before and the one behind ("doctors and nurses").
    """
    if len(question) > MAX_CHARS:
        return None
    tokens = list(_TOKEN.finditer(question))
    for place, token in enumerate(tokens):
        if token.group().casefold() not in _COORDINATORS or place < 2:
            continue
        behind = place + 1
        while behind < len(tokens) and tokens[behind].group() in function_words():
            behind += 1
        first = _phrase(tokens[place - 1 : 0 : -1])[::-1]
        # "building A and building C": the noun before both names.
        noun = tokens[place - len(first) - 1].group()
        behind += first != [] and tokens[behind:] != [] and tokens[behind].group() == noun
        second = _phrase(tokens[behind:])
        if (
            not first
            or not second
            or _same(first, second)
            or _RANGE.search(question[: first[0].start()])
        ):
            continue
        # "Tern 200 and 400": the number takes the place of the number.
        is_number = len(second) == 1 and second[0].group().isdigit()
        start, end = first[-1 if is_number else 0].start(), second[-1].end()
        return Coordination(
            (question[first[0].start() : first[-1].end()], question[second[0].start() : end]),
            (
                question[: first[-1].end()] + question[end:],
                question[:start] + question[second[0].start() :],
            ),
        )
    return None


def _same(first: Sequence[re.Match[str]], second: Sequence[re.Match[str]]) -> bool:
    """Tell whether one of two things has no word of its own: "cash and cash equivalents"."""
    mine, others = ({token.group().casefold() for token in item} for item in (first, second))
    return mine <= others or others <= mine


def _phrase(tokens: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """Return the tokens that begin with a name, or a single word that carries meaning."""
    names = list(takewhile(lambda token: _NAME.match(token.group()), tokens))
    if names or not tokens or tokens[0].group().casefold() in function_words():
        return names
    return tokens[:1] if content_words(tokens[0].group()) else []


def keywords(question: str) -> str:
    """Return the words of the question that carry meaning, as they are written, in order."""
    kept = [
        token
        for token in re.findall(r"[^\W_][\w'’\-+#./]*", question)
        if token.casefold() not in function_words()
        and any(word not in STOPWORDS for word in words(token))
    ]
    return " ".join(dict.fromkeys(kept))


def _sentences(question: str) -> list[str]:
    found = [match.group().strip() for match in _SENTENCE.finditer(question)]
    return _complete(
        [item for item in found if len(words(item)) > 1 and not match_small_talk(item)]
    )


def _clauses(question: str) -> list[str]:
    parts = _UNSPACED_COMMA.split(question)
    if len(parts) > 1 and all(UNSPACED_ASKS.search(part) for part in parts):
        return _complete([f"{part.strip(' ？?')}？" for part in parts])
    if not ASKS.match(question.lstrip("¿")):
        return []
    parts = _AND.split(question)
    if len(parts) > 1:
        # A comma alone may begin a relative clause: "the W50, which ...".
        parts = [item for part in parts for item in _COMMA.split(part)]
    parts = [part.strip(" ,?.!") for part in parts]
    if any(len(part.split()) < 2 for part in parts):
        return []
    return _complete([f"{part}?" for part in parts])


def _complete(parts: list[str]) -> list[str]:
    """Return the parts; one that points back comes with the first, which it may lean on."""
    language = detect(" ".join(parts)) or "en"
    return [
        f"{parts[0]} {part}" if place and is_pointing(part, language) else part
        for place, part in enumerate(parts)
    ]


def _comparison_parts(question: str) -> list[str]:
    found = comparison(question)
    if found is None:
        return []
    rest = found.after or f" {keywords(found.aspect)}"
    return [f"{item}{rest}".strip() for item in (found.first, found.second)]
