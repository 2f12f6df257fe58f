"""How a sensitive term is asked about: for the thing itself, or for how something is done.

The rules of RAG guards of the kind "term with an inquiry word: block; term with a procedure or
method word: allow; a term alone: block", for English, Chinese and Korean together. Their words
are in `data/asking.json`. Each clause of a question is judged by itself, and the worst counts.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ragstone.language.phrases import PARTICLES, mask_spans, normalize

Verdict = Literal["block", "near", "allow", "unsure"]
"""near: block if the question is also alike in meaning; unsure: no rule applies."""

MARK = "\u25c6"
"""Stands for a term in a clause."""

KEYWORDS = 5
"""A clause of at most so many other words without a verb is a search for its term."""

_CLAUSE = re.compile(
    r"(?<=[.?!;。？！；\n])(?!\w*[.?!])\s*"
    r"|[,，、]?\s+(?:and|but|also|then|plus)\s+(?=(?:also\s+|then\s+|please\s+)?"
    r"(?:who|what|how|where|when|which|tell|show|give|list|reveal|name)\b)"
    r"|(?:还有|另外|以及|并且|然后|顺便)[,，]?|(?:그리고|또한|그런데|아울러)\s"
)
SOLID_REACH = 10
"""Characters of Chinese or Korean between words that belong together."""

OWNER_REACH = 12
INQUIRY_REACH = 12
"""Characters between a possessor or a word of inquiry and its term, the latter where words have
no spaces; in English INQUIRY_WORDS words."""

INQUIRY_WORDS = 8

_LETTERS = re.compile(r"[^\W_]+")
_AWAY = re.compile(
    r"\b(?:for|in|on|at|with|without|from|to|into|like|as|who|whom|that|which|when|while|if|because"
    r"|before|after|during|between|against|than|not)\b"
)
"""What stands before something that only goes with what is asked for."""

_MEAN = re.compile(r"\bwhat (?:do|does|did|is) .{0,60}\bmean\b(?! for\b)")
_WHAT_IS_A = re.compile(rf"^\W*what(?: is|'s| are) an? {MARK}\W*$")
_A_WORD = re.compile(r"^\W*what(?: is|'s| are) an? (?:[\w-]+\W*){1,3}$")
_RELATIVE = frozenset({"who", "whom", "whose"})
_SOMEBODYS = re.compile(rf"\w's?\s+(?:\w+\s+)?{MARK}")
_OWNED = re.compile(
    rf"'s?\s+(?:\w+\s+)?{MARK}|{MARK}\s+'s|{MARK}\s+of\s"
    rf"|[的의]\s*{MARK}|{MARK}\s*(?:님|의|的)?\s*{MARK}|{MARK}\s*的"
)
_STRONG = {"block": 3, "near": 2, "unsure": 1, "allow": 0}
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the rules say of a question, and which rule."""

    verdict: Verdict
    rule: str


def classify_asking(text: str, spans: Iterable[tuple[int, int]]) -> Asked:
    """Tell how `text`, a normal form of `phrases.normal`, asks about the terms at `spans`."""
    marked = mask_spans(text, spans, f" {MARK} ")
    clauses = [clause for clause in _CLAUSE.split(marked) if clause and clause.strip()]
    worst = Asked("allow", "no term")
    carried = False
    for clause in clauses:
        if carried and MARK not in clause:
            clause = _words("pronoun").sub(f" {MARK} ", clause)
        if MARK not in clause:
            continue
        judged = _clause(clause)
        carried = carried or judged.verdict == "unsure"
        if _STRONG[judged.verdict] > _STRONG[worst.verdict] or worst.rule == "no term":
            worst = judged
    return worst


def wants(text: str) -> Asked:
    """Tell how a question asks that is like a sensitive one without naming a term of it."""
    found = Asked("unsure", "statement")
    for clause in _CLAUSE.split(text):
        if not clause or not _LETTERS.search(clause):
            continue
        if _explains(clause):
            if found.verdict == "unsure":
                found = Asked("allow", "method")
        elif _inquires(clause):
            return Asked("block", "inquiry")
    return found


def talks_to_the_judge(text: str) -> bool:
    """Tell whether a question holds words by which a model is told what to say."""
    return _words("to_the_judge").search(text) is not None


def _clause(clause: str) -> Asked:
    """Return the first rule that applies to a clause with a term in it."""
    rest = _words("filler").sub(" ", clause)
    if not [word for word in _LETTERS.findall(rest) if word not in PARTICLES and word != "s"]:
        return Asked("block", "standalone")
    if _defines(clause):
        return Asked("allow", "definition")
    procedure = _procedure_of_term(clause)
    method = any(_words(kind).search(clause) for kind in ("method", "procedure"))
    if method and not _is_askers_own(clause) and _obtains(clause):
        return Asked("block", "obtaining")
    direct = next((m for m in _words("who").finditer(clause) if not _relates(clause, m)), None)
    if direct and not procedure and not _is_method(clause, direct):
        opening = _words("asks").match(clause.lstrip())
        near = _inquiry_reaches_term(clause, direct) or (
            opening and _inquiry_reaches_term(clause.lstrip(), opening)
        )
        return Asked("block", "direct inquiry") if near else Asked("near", "distant inquiry")
    if method:
        return Asked("allow", "method")
    if _inquires(clause):
        found = _words("asks").search(clause)
        if found is None or _inquiry_reaches_term(clause, found) or _is_possessed(clause):
            return Asked("block", "inquiry")
        return Asked("near", "distant inquiry")
    if len(_LETTERS.findall(rest)) <= KEYWORDS:
        return Asked("block", "keywords")
    return Asked("unsure", "statement")


def _explains(clause: str) -> bool:
    """Tell whether a clause without a term asks how something is done, or what a word means."""
    kinds = (_words("method"), _words("procedure"), _words("means"), _MEAN, _A_WORD)
    return any(kind.search(clause) for kind in kinds)


def _inquires(clause: str) -> bool:
    return "?" in clause or "\uff1f" in clause or _words("asks").search(clause) is not None


def _defines(clause: str) -> bool:
    """Tell whether a word's meaning is asked for, and not what it stands for here."""
    if _words("means").search(clause) or _MEAN.search(clause):
        return True
    return _WHAT_IS_A.search(" ".join(clause.split())) is not None


def _relates(clause: str, word: re.Match[str]) -> bool:
    """Tell whether it is no question but a clause about the term: the person who likes tea."""
    return word.group() in _RELATIVE and clause[: word.start()].rstrip().endswith(MARK)


def _is_method(clause: str, direct: re.Match[str]) -> bool:
    """Tell whether the word of inquiry is part of a phrase of method: who do I contact."""
    return any(
        m.start() <= direct.start() and direct.end() <= m.end()
        for m in _words("method").finditer(clause)
    )


def _procedure_of_term(clause: str) -> bool:
    """Whether a noun of procedure is what the clause is about, with the term as its modifier."""
    for noun in _words("procedure").finditer(clause):
        before, after = clause[: noun.start()], clause[noun.end() :]
        if _UNSPACED.search(clause):
            if MARK in before[-SOLID_REACH:] or MARK in after[:SOLID_REACH]:
                return True
        elif re.search(rf"{MARK}(?:'s)?\s+(?:\w+\s+){{0,2}}$", before) or re.match(
            rf"\s+(?:for|of|on|to|about|regarding)\s+(?:[\w-]+\s+){{0,3}}{MARK}", after
        ):
            return True
    return False


def _obtains(clause: str) -> bool:
    """Whether somebody else's affairs are to be found out: how do I see the salary of my boss."""
    return _words("obtains").search(clause) is not None and _is_possessed(clause)


def _is_possessed(clause: str) -> bool:
    """Tell whether the term is somebody's: a possessive, an "of", or two terms in a row."""
    return _OWNED.search(clause) is not None or _before_term("owner", clause)


def _is_askers_own(clause: str) -> bool:
    """Tell whether the term is the asker's own: my salary, but not my boss's salary."""
    return _before_term("own", clause) and not _SOMEBODYS.search(clause)


def _before_term(kind: str, clause: str) -> bool:
    ends = (match.end() for match in _words(kind).finditer(clause))
    return any(MARK in clause[end : end + OWNER_REACH] for end in ends)


def _inquiry_reaches_term(clause: str, word: re.Match[str]) -> bool:
    """Tell whether the inquiry is for the term, and not for something that it only goes with."""
    marks = [match.start() for match in re.finditer(MARK, clause)]
    if _UNSPACED.search(clause):
        return any(
            word.start() - INQUIRY_REACH <= mark <= word.end() + INQUIRY_REACH for mark in marks
        )
    for mark in marks:
        after = mark >= word.end()
        between = clause[word.end() : mark] if after else clause[mark + 1 : word.start()]
        if len(between.split()) <= INQUIRY_WORDS and not _AWAY.search(between):
            return True
    return False


@cache
def _words(kind: str) -> re.Pattern[str]:
    """One expression for the words of a kind: whole words in English, any place in the others."""
    lists = _rules()[kind]
    spaced = "|".join(_word_pattern(word) for word in lists["en"])
    solid = "|".join(_word_pattern(word) for name in ("zh", "ko") for word in lists[name])
    return re.compile(rf"\b(?:{spaced})\b|{solid}")


def _word_pattern(word: str) -> str:
    return re.escape(normalize(word)).replace(r"\ ", r"\s+")


@cache
def _rules() -> Mapping[str, Mapping[str, list[str]]]:
    text = files("ragstone.guard").joinpath("data/asking.json").read_text(encoding="utf-8")
    rules: Mapping[str, Mapping[str, list[str]]] = json.loads(text)
    return {
        kind: {name: sorted(words, key=len, reverse=True) for name, words in lists.items()}
        for kind, lists in rules.items()
    }
