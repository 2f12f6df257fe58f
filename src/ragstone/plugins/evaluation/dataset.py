"""Reads an evaluation set: `corpus.jsonl` and `<split>/queries.jsonl`, plain or with .gz."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ragstone.core.errors import InputError
from ragstone.core.turn import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CorpusPassage:
    """One document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with the ids of the documents and the texts that answer it, and what was said
    before it."""

    id: str
    text: str
    relevant: frozenset[str]
    answers: tuple[str, ...]
    answerable: bool
    history: tuple[Message, ...] = ()


def corpus(directory: Path) -> list[CorpusPassage]:
    """Return every document of the set."""
    rows = read_rows(dataset_file(directory, "corpus"))
    return [CorpusPassage(str(row["id"]), row.get("title") or "", row["text"]) for row in rows]


def dataset_file(directory: Path, name: str) -> Path:
    """Return where a set has these rows: in a plain file if there is one, else packed with gzip."""
    plain = directory / f"{name}.jsonl"
    return plain if plain.exists() else plain.with_suffix(".jsonl.gz")


def spread(rows: Sequence[T], limit: int | None) -> Sequence[T]:
    """At most `limit` of the rows, evenly spread; all of them without a limit."""
    if not limit or limit >= len(rows):
        return rows
    return [rows[i * len(rows) // limit] for i in range(limit)]


def questions(directory: Path, split: str, limit: int | None = None) -> list[Question]:
    """Return the questions of a split, in order, at most `limit` of them evenly spread."""
    rows = list(read_rows(dataset_file(directory / split, "queries")))
    return [_question(row) for row in spread(rows, limit)]


def _question(row: dict[str, Any]) -> Question:
    return Question(
        id=str(row["id"]),
        text=row["query"],
        relevant=frozenset(str(item) for item in row.get("relevant") or ()),
        answers=tuple(row.get("answers") or ()),
        answerable=_answerable(row),
        history=tuple(_message(item) for item in row.get("history") or ()),
    )


def _answerable(row: dict[str, Any]) -> bool:
    """Said by `answerable`, or by `answerability`, where what lacks details and has no document
    that answers counts as unanswerable too."""
    said = str(row.get("answerability") or "").upper()
    if not said:
        return bool(row.get("answerable", True))
    return said != "UNANSWERABLE" and (said != "UNDERSPECIFIED" or bool(row.get("relevant")))


def _message(row: dict[str, Any]) -> Message:
    return Message("user" if row["role"] == "user" else "assistant", row["text"])


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, plain or packed with gzip; raises InputError."""
    if not file.exists():
        raise InputError(f"There is no {file}. Give the directory of an evaluation set.")
    try:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            for line in filter(str.strip, lines):
                yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}.") from error
