"""Messages that ask two things, without a chat model: how often both are answered rightly.

Every question of `RAGSTONE_EVAL_DATA/exam` that stands alone and has an answer is put together with
another one of its collection, as two sentences and joined by "and", and each is graded as the exam
does, but for its sources. `BENCH_INDEX` names a data directory that has the documents already.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.exam import answer_exam, grade_answer, load_grader
from benchmarks.prompts import index_exam, read_questions
from benchmarks.row import Row
from ragstone import build
from ragstone.service import Service
from ragstone.settings import CacheSettings, LlmSettings, Settings

Question = Mapping[str, Any]

EVERY = 3
"""Of so many pairs one is asked."""

UNJOINED = ("summary", "vague")
"""Types of questions that nobody joins with another one."""


def run() -> Iterator[Row]:
    kept = os.environ.get("BENCH_INDEX")
    with tempfile.TemporaryDirectory() as made:
        yield from asyncio.run(_ask_pairs(Path(kept or made), not kept))


async def _ask_pairs(data: Path, indexes: bool) -> list[Row]:
    settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False), llm=LlmSettings())
    chosen = list(pairs(read_questions()))[::EVERY]
    forms: dict[str, Callable[[str, str], str]] = {
        "as two sentences": lambda first, second: f"{first} {second}",
        "joined by and": lambda first, second: f"{first.rstrip('?')} and {uncapitalize(second)}",
    }
    rows = []
    async with build.open(settings) as service:
        if indexes:
            await index_exam(service)
        alone = 0
        for pair in chosen:
            alone += all([await _is_right(service, text_of(item), item) for item in pair])
        rows.append(_row("each asked alone", alone, len(chosen)))
        for name, join in forms.items():
            right = 0
            for pair in chosen:
                right += await _is_right(service, join(*map(text_of, pair)), *pair)
            rows.append(_row(name, right, len(chosen)))
    return rows


def _row(name: str, right: int, count: int) -> Row:
    return Row(f"Two questions, {name}: both right", right / count, note=f"{right} of {count}")


def pairs(questions: Sequence[Question]) -> Iterator[tuple[Question, Question]]:
    """Yield each question of a collection with the one half a collection further on."""
    for _, group in groupby(questions, lambda item: item["collection"]):
        own = [
            item
            for item in group
            if len(item["turns"]) == 1
            and not item["refuse"]
            and item["type"] not in UNJOINED
            and text_of(item).endswith(("?", "？"))
        ]
        half = len(own) // 2
        yield from zip(own[:half], own[half:], strict=False)


def text_of(question: Question) -> str:
    return str(question["turns"][0]).strip()


def uncapitalize(question: str) -> str:
    """The question as it stands behind "and": its first word small, but for names and codes."""
    first, space, rest = question.partition(" ")
    return first.lower() + space + rest if first.istitle() else question


async def _is_right(service: Service, text: str, *questions: Question) -> bool:
    """Whether the answer to a message holds that to each of the questions."""
    asked = {**questions[0], "turns": [text]}
    answer, _ = await answer_exam(service, asked)
    grade = load_grader()
    return all(
        grade_answer(grade, {**question, "cites": []}, answer)[0] == "right"
        for question in questions
    )
