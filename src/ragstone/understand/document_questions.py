"""Questions for the document or page that says something, or for all that do, and what they are to
say; and questions for whatever the documents say about something.

The patterns of each language are `data/document_questions.json`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MAX_CHARS = 300
"""Characters of a longer text, which is no such question."""


@dataclass(frozen=True, slots=True)
class DocumentList:
    """What all documents are to say that a question asks for, and how it calls them ("files")."""

    about: str
    called: str


def sought_in_documents(question: str) -> str:
    """Find what the document or page is to say that a question asks for; empty where it asks for
    something else."""
    return next((f"{match['about']}?" for match in _matches(question, "one")), "")


def find_topic(question: str) -> str:
    """Find what a question asks about that asks what the documents say about it; empty where it
    asks for something else."""
    return next((f"{match['about']}?" for match in _matches(question, "topic")), "")


def find_document_list(question: str) -> DocumentList | None:
    """Find what a question asks all documents for ("Which documents mention ...?", "How many files
    are about ...?"); None where it asks for something else."""
    matches = _matches(question, "all")
    return next((DocumentList(match["about"], match["called"]) for match in matches), None)


def _matches(question: str, kind: str) -> Iterator[re.Match[str]]:
    asked = " ".join(question.split()).strip(" .?!¿。？！؟")
    found = (pattern.fullmatch(asked) for pattern in _patterns(kind) if len(asked) <= MAX_CHARS)
    return filter(None, found)


@cache
def _patterns(kind: str) -> tuple[re.Pattern[str], ...]:
    file = files("ragstone.understand").joinpath("data/document_questions.json")
    languages: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))[kind]
    return tuple(re.compile(part, re.IGNORECASE) for parts in languages.values() for part in parts)
