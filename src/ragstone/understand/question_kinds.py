"""What kind of question it is, by the words that tell: "compare", "why", "how do I".

The patterns of each language are `data/question_kinds/<language>.json`: for each intent, the
surest first, regular expressions over the folded question (see `fold_question`).
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ragstone.core.intent import Intent, IntentName

LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "nl", "ru", "zh", "ja", "ko")
"""Those with patterns."""

SURE, LIKELY = 0.9, 0.8
"""Confidence in a pattern; the lower one is for a question word, which leaves more open."""

MAX_CHARS = 400
"""Characters that the patterns read: half from the beginning, half from the end of a long text."""

_OPEN = frozenset({"factual"})
_MARKS = re.compile(r"[¿¡\"“”„«»*_`]+")
_ENDLESS = re.compile(r"([^\W\u3040-\u30ff\u3400-\u9fff]{40})[^\W\u3040-\u30ff\u3400-\u9fff]+")
"""Words that are none; patterns would take long over them."""
_END = re.compile(r"[\s.,!?;:…。，！？；：]+$")


def by_rules(question: str, language: str, *, continues: bool = False) -> Intent | None:
    """Return the intent that a pattern says, None if none does.

    `language` is an ISO 639-1 code, "" if unknown: then every language's patterns are tried.
    `continues` says that the question stands in a conversation, so that it may lean on it.
    """
    plain = fold_question(question)
    if not plain:
        return None
    likely = None
    for item in (language,) if language in LANGUAGES else LANGUAGES:
        name = _first(item, plain, continues)
        if name and name not in _OPEN:
            return Intent(name, SURE)
        likely = likely or name
    return Intent(likely, LIKELY) if likely else None


def _first(language: str, plain: str, continues: bool) -> IntentName | None:
    """Return the first intent with a pattern that fits."""
    for name, pattern in _patterns(language).items():
        if (continues or name != "follow_up") and pattern.search(plain):
            return name
    return None


def fold_question(question: str) -> str:
    """Casefold, with single spaces, without quotation marks and what ends the sentence."""
    if len(question) > MAX_CHARS:
        question = f"{question[: MAX_CHARS // 2]} {question[-MAX_CHARS // 2 :]}"
    plain = " ".join(_MARKS.sub(" ", question.casefold()).split())
    return _END.sub("", _ENDLESS.sub(r"\1", plain.replace("’", "'")))


@cache
def _patterns(language: str) -> Mapping[IntentName, re.Pattern[str]]:
    file = files("ragstone.understand").joinpath(f"data/question_kinds/{language}.json")
    patterns: dict[IntentName, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return {name: re.compile("|".join(parts)) for name, parts in patterns.items()}
