"""A file of questions as people write it: JSON lines, a JSON list, CSV, or a question a line."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.contract import MAX_QUESTIONS, SetQuestion

LONGEST_QUESTION = 20_000
LONGEST_ANSWER = 100_000
MAX_EXPECTED = 100
"""Accepted answers, or expected documents, of one question."""

_QUESTION = ("question", "query", "q", "text")
_ANSWERS = ("answers", "answer", "expected", "expected_answer", "reference", "ground_truth")
_SOURCES = ("sources", "source", "documents", "document", "relevant", "path", "file")
_SEPARATOR = "|"
"""Between several answers or documents in one cell of a table."""

_TRUTHS = {"true": True, "yes": True, "1": True, "": True, "false": False, "no": False, "0": False}


def questions(text: str) -> list[SetQuestion]:
    """Return the questions of a file's text, whose form is seen from its beginning.

    Raises InputError, which names the row.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError("The file is empty. Write one question in each line.")
    first = islice(_rows(text), MAX_QUESTIONS + 1)
    return check_questions([_question(row, number) for number, row in first])


def check_questions(given: Sequence[SetQuestion]) -> list[SetQuestion]:
    """The questions without those that come twice. Raises InputError for what no set can hold."""
    if not given:
        raise InputError("There is no question. Write at least one.")
    if len(given) > MAX_QUESTIONS:
        raise InputError(
            f"There are more questions than a set has: at most {MAX_QUESTIONS:,}. Make several "
            "sets of them."
        )
    for number, question in enumerate(given, start=1):
        _check(question, number)
    return list(dict.fromkeys(given))


def lines(given: Iterable[SetQuestion]) -> str:
    """Return questions as JSON lines, which `questions` reads."""
    return "".join(f"{json.dumps(_row(question), ensure_ascii=False)}\n" for question in given)


def _row(question: SetQuestion) -> dict[str, Any]:
    row: dict[str, Any] = {"question": question.question}
    row |= {"answers": list(question.answers)} if question.answers else {}
    row |= {"sources": list(question.sources)} if question.sources else {}
    row |= {} if question.answerable else {"answerable": False}
    texts = {"liked": question.liked, "disliked": question.disliked, "comment": question.comment}
    return row | {name: text for name, text in texts.items() if text}


def _rows(text: str) -> Iterator[tuple[int, Any]]:
    start = text.lstrip()[0]
    if start == "[":
        try:
            yield from enumerate(json.loads(text), start=1)
        except (ValueError, RecursionError) as error:
            raise InputError(f"The file begins as a JSON list and is none: {error}.") from error
    elif start == "{":
        yield from _json_lines(text)
    elif (table := _table(text)) is not None:
        yield from enumerate(table, start=2)
    else:
        named = enumerate(text.splitlines(), start=1)
        yield from ((number, {"question": line}) for number, line in named if line.strip())


def _json_lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number} is not a JSON object: {error}.") from error


def _table(text: str) -> Iterator[dict[str, str]] | None:
    """The rows of a CSV file whose first line names a column of questions; None for other text."""
    first = text.lstrip().partition("\n")[0]
    if len(first) > LONGEST_QUESTION:
        return None
    separator = max(",;\t", key=first.count)
    names = [name.strip().lower() for name in next(csv.reader([first], delimiter=separator))]
    if not set(names) & set(_QUESTION):
        return None
    return _table_rows(text, separator, names)


def _table_rows(text: str, separator: str, names: Sequence[str]) -> Iterator[dict[str, str]]:
    rows = csv.reader(io.StringIO(text.lstrip()), delimiter=separator)
    try:
        for row in islice(rows, 1, None):
            if any(cell.strip() for cell in row):
                yield dict(zip(names, row, strict=False))
    except csv.Error as error:
        raise InputError(f"Line {rows.line_num} cannot be read as CSV: {error}.") from error


def _question(row: Any, number: int) -> SetQuestion:
    if isinstance(row, str):
        row = {"question": row}
    if not isinstance(row, Mapping):
        raise InputError(f"Row {number} is no question: it needs at least the field 'question'.")
    asked = _first(row, _QUESTION)
    if not isinstance(asked, str) or not asked.strip():
        raise InputError(f"Row {number} has no text in the field 'question'.")
    return SetQuestion(
        question=" ".join(asked.split()),
        answers=_texts(_first(row, _ANSWERS), number, "answers"),
        sources=_texts(_first(row, _SOURCES), number, "sources"),
        answerable=_truth(row.get("answerable", True), number),
        liked=_text(row.get("liked"), number, "liked"),
        disliked=_text(row.get("disliked"), number, "disliked"),
        comment=_text(row.get("comment"), number, "comment"),
    )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "", [])), None)


def _texts(value: Any, number: int, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    found = value.split(_SEPARATOR) if isinstance(value, str) else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = [str(value)]
    if not isinstance(found, list) or not all(
        isinstance(item, str | int | float) for item in found
    ):
        raise InputError(f"Row {number}: {what!r} is neither a text nor a list of texts.")
    return tuple(said for item in found if (said := str(item).strip()))


def _text(value: Any, number: int, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"Row {number}: {what!r} is not text.")
    return (value or "").strip()


def _truth(value: Any, number: int) -> bool:
    if isinstance(value, bool):
        return value
    said = _TRUTHS.get(str(value).strip().lower()) if isinstance(value, str | int) else None
    if said is None:
        raise InputError(f"Row {number}: 'answerable' is true or false, not {str(value)[:40]!r}.")
    return said


def _check(question: SetQuestion, number: int) -> None:
    if not question.question.strip():
        raise InputError(f"Question {number} is empty. Write it, or leave it out.")
    if len(question.question) > LONGEST_QUESTION:
        raise InputError(f"Question {number} has more than {LONGEST_QUESTION:,} characters.")
    if max(len(question.answers), len(question.sources)) > MAX_EXPECTED:
        raise InputError(f"Question {number} expects more than {MAX_EXPECTED} things.")
    texts = (
        *question.answers,
        *question.sources,
        question.liked,
        question.disliked,
        question.comment,
    )
    if any(len(text) > LONGEST_ANSWER for text in texts):
        raise InputError(f"Question {number} expects a text of over {LONGEST_ANSWER:,} characters.")
