"""mtRAG-UN (Rosenthal et al., arXiv 2602.23184): the last turn of conversations.

The data is in https://github.com/IBM/mt-rag-benchmark. Its corpora are larger than what a
repository gives, so the passages that stand beside any question are all that is asked. What is
underspecified there wants a question back; here a refusal is right where no passage answers.
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
from ragstone.core.turn import Message

QUESTIONS = 160


def run() -> Iterator[Row]:
    folder = clone("mt-rag-benchmark", "https://github.com/IBM/mt-rag-benchmark")
    rows = read_lines(folder / "mtragun-human" / "generation_tasks" / "reference.jsonl")
    documents: dict[str, str | Path] = {
        _path(row, passage): passage["text"] for row in rows for passage in row["contexts"]
    }
    chosen = spread(rows, QUESTIONS)
    replies = ask_all("mtrag", documents, [_task(row) for row in chosen])
    yield from outcome_rows("mtRAG-UN", replies)
    yield time_row("mtRAG-UN", replies, f"{len(chosen)} of {len(rows)} questions, evenly spread")


def _path(row: dict[str, Any], passage: dict[str, Any]) -> str:
    return f"{row['Collection']}/{passage['document_id'].replace('/', '_')}.txt"


def _task(row: dict[str, Any]) -> Task:
    *before, last = row["input"]
    kind = row["answerability"][0].lower()
    answerable = bool(row["contexts"])
    return Task(
        kind if answerable or kind == "unanswerable" else f"{kind}, no passage",
        last["text"],
        row["Collection"],
        reference=row["targets"][0]["text"] if answerable else "",
        sources=frozenset(_path(row, passage) for passage in row["contexts"]),
        history=tuple(
            Message("user" if turn["speaker"] == "user" else "assistant", turn["text"])
            for turn in before
        ),
    )
