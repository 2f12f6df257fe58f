"""Forbidden topics from what an operator writes: one by one, or a CSV file."""

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from uuid import UUID, uuid5

from ragstone.core.errors import InvalidTopic
from ragstone.core.limits import MAX_TOPICS
from ragstone.core.records import Topic
from ragstone.language.phrases import key
from ragstone.language.unicode import replace_surrogates

MAX_CHARS = 200
MAX_EXAMPLE_CHARS = 500
MAX_TEXTS = 100

COLUMNS = ("term", "synonyms", "examples", "language", "note")
_ROOM = UUID("6f0c2a53-7d0e-4c1e-9a2e-3b0a2f6d9c11")


def topic(
    tenant: str,
    term: str,
    synonyms: Sequence[str] = (),
    examples: Sequence[str] = (),
    language: str = "",
    note: str = "",
) -> Topic:
    """A topic in good order: trimmed, without repetitions, with an id made of tenant and term.

    Raises InvalidTopic for one that is empty or too long.
    """
    term = _clean(term)
    listed = _unlike(synonyms, {key(term)})
    questions = _unlike(examples, set())
    if not key(term):
        raise InvalidTopic(f"The term {term!r} has no letter or digit. Give a word or phrase.")
    for text, most, what in (
        (term, MAX_CHARS, "term"),
        *((item, MAX_CHARS, "synonym") for item in listed),
        *((question, MAX_EXAMPLE_CHARS, "example") for question in questions),
        (language, 20, "language"),
        (note, MAX_EXAMPLE_CHARS, "note"),
    ):
        if len(text) > most:
            raise InvalidTopic(
                f"The {what} {text[:40]!r}... has {len(text):,} characters; at most {most} go."
            )
    if len(listed) + len(questions) > MAX_TEXTS:
        raise InvalidTopic(
            f"The topic {term!r} has more than {MAX_TEXTS} synonyms and examples. Use two topics."
        )
    name = str(uuid5(_ROOM, f"{tenant}\n{key(term)}"))
    return Topic(name, tenant, term, listed, questions, _clean(language), _clean(note))


def read_csv(text: str, tenant: str) -> list[Topic]:
    """Return the topics of a CSV file with a heading: term, and optionally synonyms and examples
    (each separated by semicolons), language and note.

    Raises InvalidTopic, with the line, for the first thing that is wrong.
    """
    rows = csv.reader(io.StringIO(text.lstrip("\ufeff").replace("\0", "")), strict=True)
    topics: dict[str, tuple[int, Topic]] = {}
    try:
        heading = [name.strip().lower() for name in next(rows, [])]
        _check(heading)
        for row in rows:
            if any(cell.strip() for cell in row):
                _add(topics, rows.line_num, _topic(heading, row, tenant))
    except InvalidTopic as error:
        raise InvalidTopic(f"Line {max(rows.line_num, 1)}: {error.message}") from error
    except csv.Error as error:
        raise InvalidTopic(f"Line {rows.line_num}: this is not CSV ({error}).") from error
    if not topics:
        raise InvalidTopic("The file has no topics: write one a line below the heading.")
    return [found for _, found in topics.values()]


def read_file(path: Path) -> str:
    """Return a CSV file's text; raises InvalidTopic if it cannot be read or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidTopic(f"The file {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InvalidTopic(f"The file {path} is not in UTF-8. Save it as CSV in UTF-8.") from error


def example_list() -> str:
    """Return the list that comes with Ragstone, as CSV."""
    return files("ragstone.guard").joinpath("data/example-topics.csv").read_text(encoding="utf-8")


def write_csv(topics: Sequence[Topic]) -> str:
    """Return the inverse of `read_csv`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in topics:
        lists = ";".join(item.synonyms), ";".join(item.examples)
        writer.writerow((item.term, *lists, item.language, item.note))
    return out.getvalue()


def _check(heading: Sequence[str]) -> None:
    if "term" not in heading:
        raise InvalidTopic(
            "the first line must name the columns, and term among them: term,synonyms,examples."
        )
    unknown = [name for name in heading if name not in COLUMNS]
    if unknown:
        raise InvalidTopic(f"there is no column {unknown[0]!r}; use {', '.join(COLUMNS)}.")


def _topic(heading: Sequence[str], row: Sequence[str], tenant: str) -> Topic:
    if len(row) > len(heading):
        raise InvalidTopic(
            f"it has {len(row)} cells, but the heading names {len(heading)}. "
            "Put a text with commas into quotation marks."
        )
    cells: Mapping[str, str] = dict(zip(heading, row, strict=False))
    synonyms, examples = (_split_cell(cells.get(name, "")) for name in ("synonyms", "examples"))
    language, note = (cells.get(name, "") for name in ("language", "note"))
    return topic(tenant, cells["term"], synonyms, examples, language, note)


def _add(topics: dict[str, tuple[int, Topic]], line: int, new: Topic) -> None:
    if new.id in topics:
        first, known = topics[new.id]
        raise InvalidTopic(f"the term {new.term!r} is already on line {first}, as {known.term!r}.")
    if len(topics) >= MAX_TOPICS:
        raise InvalidTopic(f"a list has at most {MAX_TOPICS:,} topics.")
    topics[new.id] = line, new


def _split_cell(cell: str) -> list[str]:
    return [part for part in cell.replace("\uff1b", ";").split(";") if part.strip()]


def _unlike(texts: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """Return the texts with a word in them, each once, whatever its spelling."""
    kept: list[str] = []
    for text in map(_clean, texts):
        form = key(text)
        if form and form not in taken:
            taken.add(form)
            kept.append(text)
    return tuple(kept)


def _clean(text: str) -> str:
    return " ".join(replace_surrogates(text).split())
