"""Questions that want a document summed up, and what they call it.

The patterns and the words round the name are `data/summaries.json`, in several languages.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ragstone.core.intent import Intent
from ragstone.language.words import STOPWORDS
from ragstone.understand.question_kinds import fold_question

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FILE_NAME = re.compile(r"\S+\.[a-z]\w{1,4}\b", re.IGNORECASE)
_CLITIC = re.compile(r"^(?:[dl]|qu|s)['’]", re.IGNORECASE)


def find_wanted_document(question: str, intent: Intent | None) -> str | None:
    """The words by which the question names what it wants summed up; empty if it says no more than
    "this document"; None if it wants nothing summed up."""
    plain = fold_question(question)
    summary = intent is not None and intent.name == "summary"
    rest = _FILE_NAME.sub(" ", question)
    asks = any(pattern.search(plain) for pattern in _asks()) or (
        # "What is in minutes.docx?" asks for nothing else of the file.
        rest != question and not _remove_frame(rest)
    )
    if not asks and (not summary or _others().search(plain)):
        return None
    return " ".join(word for word in _remove_frame(question) if word.casefold() not in _every())


def wants_everything(question: str) -> bool:
    """Whether a question that wants a summary wants it of all documents."""
    joined = any(word in question for word in _data()["every_joined"])
    return joined or any(word.casefold() in _every() for word in _remove_frame(question))


def _remove_frame(question: str) -> list[str]:
    """The words of the question that are not part of the usual ways to ask for a summary."""
    rest = _unspaced_pattern().sub(" ", question)
    found = (_CLITIC.sub("", match.group()) for match in _WORD.finditer(rest))
    return [
        word
        for word in found
        if word.casefold() in _every()
        or (word.casefold() not in _frame() and word.casefold() not in STOPWORDS)
    ]


@cache
def _data() -> dict[str, Any]:
    path = files("ragstone.understand").joinpath("data/summaries.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@cache
def _asks() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile("|".join(parts)) for parts in _data()["asks"].values())


@cache
def _others() -> re.Pattern[str]:
    """How questions begin that only speak of summaries: "How do I write a summary?"."""
    return re.compile("|".join(_data()["others"]))


@cache
def _frame() -> frozenset[str]:
    return frozenset(word for words in _data()["frame"].values() for word in words.split())


@cache
def _every() -> frozenset[str]:
    """How languages say that all of something is meant."""
    return frozenset(word for words in _data()["every"].values() for word in words.split())


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    """Words of scripts that part none."""
    words = sorted((*_data()["joined"], *_data()["every_joined"]), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))
