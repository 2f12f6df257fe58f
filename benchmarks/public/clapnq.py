"""CLAPnq (Rosenthal et al., TACL 2025, arXiv 2404.02103), development set: long answers.

The data is in https://github.com/primeqa/clapnq. The passages of all 600 questions are one
collection, in which a question has to find its own: the whole corpus, of 178,890, is elsewhere.
With the passage given, as `of its passage`, half of the questions have no answer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.public.runner import (
    Task,
    ask_all,
    clone,
    outcome_rows,
    read_lines,
    spread,
    time_row,
)
from benchmarks.row import Row

QUESTIONS = 60


def run() -> Iterator[Row]:
    folder = clone("clapnq", "https://github.com/primeqa/clapnq") / "annotated_data" / "dev"
    sets = {
        answerable: read_lines(folder / f"clapnq_dev_{name}.jsonl")
        for answerable, name in ((True, "answerable"), (False, "unanswerable"))
    }
    documents: dict[str, str | Path] = {}
    for row in (row for rows in sets.values() for row in rows):
        [passage] = row["passages"]
        documents[_path(row)] = f"{passage['title']}\n\n{passage['text']}"
    tasks = [
        _task(row, is_given, answerable)
        for is_given in (True, False)
        for answerable, rows in sets.items()
        if is_given or answerable
        for row in spread(rows, QUESTIONS)
    ]
    replies = ask_all("clapnq", documents, tasks)
    yield from outcome_rows("CLAPnq dev", replies)
    yield time_row("CLAPnq dev", replies, f"{QUESTIONS} of each 300 questions, evenly spread")


def _path(row: dict[str, Any]) -> str:
    return f"wikipedia/{row['id']}.txt"


def _task(row: dict[str, Any], is_given: bool, answerable: bool) -> Task:
    return Task(
        "of its passage" if is_given else "of all passages",
        row["input"],
        "wikipedia",
        reference=row["output"][0]["answer"] if answerable else "",
        sources=frozenset([_path(row)]),
        within=(_path(row),) if is_given else (),
    )
