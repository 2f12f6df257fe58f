"""Negations, which turn a sentence into its contrary; questions for yes or no, and these words.

What makes a question one for yes or no is its beginning (a verb) or its end (吗, か, 까); one that
offers two things ("or") or asks for something is none. The languages are those of
`data/yes_no.json`.
"""

import json
import re
from functools import cache
from importlib.resources import files

from ragstone.language.language import detect
from ragstone.language.words import word_lists

_WORD = re.compile(r"[^\W\d_]+(?:['’]t\b)?")
_CHINESE = re.compile(r"不|没有|沒有|未(?!来|來)|并非|並非|无法|無法|从未|從未|绝非")
_JAPANESE = re.compile(r"ない|ません|なかった|ずに")
_KOREAN = re.compile(r"않|없|아니|못하|못했")
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)


def negations(text: str) -> int:
    """Tell how many negations a sentence has."""
    known = _negations()
    signs = sum(len(item.findall(text)) for item in (_CHINESE, _JAPANESE, _KOREAN, _CONTRACTED))
    return signs + sum(word.casefold() in known for word in _WORD.findall(text))


@cache
def _negations() -> frozenset[str]:
    return frozenset(word_lists("language", "polarity")["not"])


_HELD = json.loads(files("ragstone.language").joinpath("data/yes_no.json").read_text("utf-8"))

YES_NO: dict[str, tuple[str, str]] = {code: tuple(item["words"]) for code, item in _HELD.items()}
"""Per language what says yes, and what says no."""

_FORMS = {
    code: re.compile(rf"\s*{item['form']}", re.IGNORECASE | re.DOTALL)
    for code, item in _HELD.items()
}
_SAYS = {word[:-1].casefold(): word is yes for yes, no in YES_NO.values() for word in (yes, no)}
_YES_NO_END = " .。!！,，"

MAX_QUESTION_CHARS = 300
"""Characters of a longer text, which is no such question."""


def yes_no(question: str) -> tuple[str, str] | None:
    """Return what a question for yes or no is answered with; None for another."""
    asked = question.strip()
    if len(asked) > MAX_QUESTION_CHARS:
        return None
    found = next((code for code, form in _FORMS.items() if form.match(asked)), None)
    if found == "en" and asked[:4].casefold() == "was " and detect(asked) == "de":
        # "Was kostet die Jacke?" begins as "Was it cold?" does.
        return None
    return YES_NO[found] if found else None


def read_yes_no(text: str) -> bool | None:
    """Tell whether a sentence or a cell says yes, where it is one of these words alone."""
    return _SAYS.get(text.strip().rstrip(_YES_NO_END).casefold())
