"""The exam with a real chat model and without one: right, wrong, confidently wrong, refused.

`EXAM_MODEL` is a chat model's GGUF file, which llama.cpp serves in this process; without it only
the documents' own sentences answer. Every `EXAM_EVERY`th question (20 by default) of
`RAGSTONE_EVAL_DATA/exam` is asked of both, and graded as its own `run.py` does. `BENCH_INDEX`
names a data directory that has the documents already; else they are indexed first. `EXAM_PROFILE`
asks with the numbers of a dialect, as `pipeline`.
"""

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.common import eval_data
from benchmarks.prompts import index_exam, read_questions
from benchmarks.row import Row
from ragstone import build
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Done
from ragstone.core.turn import Ask, Message, Turn
from ragstone.models import calls
from ragstone.service import Service
from ragstone.settings import CacheSettings, LlmSettings, Settings
from tests.llama import llama_server

EVERY = int(os.environ.get("EXAM_EVERY", "20"))
PROFILE = os.environ.get("EXAM_PROFILE", "")
KEY = "exam"
PATIENCE = 600.0
"""Seconds that a reply may take on a busy machine: what is slow shall not count as refused."""

OUTCOMES = ("right", "wrong", "wrongly_refused", "should_refuse")


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a question, and what it took."""

    outcome: str
    is_confident: bool
    by_model: bool
    seconds: float
    prompt_tokens: int


def run() -> Iterator[Row]:
    rows = read_questions()[::EVERY]
    file = os.environ.get("EXAM_MODEL")
    kept = os.environ.get("BENCH_INDEX")
    with tempfile.TemporaryDirectory() as made:
        data = Path(kept or made)
        yield from _rows("without a chat model", asyncio.run(_ask_all(rows, data, not kept, None)))
        with llama_server(KEY, Path(file)) if file else nullcontext() as url:
            if file and url:
                calls.PATIENCE = PATIENCE
                llm = LlmSettings.model_validate(
                    {
                        "model": Path(file).stem,
                        "base_url": url if url.endswith("/v1") else f"{url}/v1",
                        "api_key": KEY,
                        "timeout": PATIENCE,
                        "parallel": 1,
                    }
                )
                asked = asyncio.run(_ask_all(rows, data, False, llm))
                yield from _rows(f"with {Path(file).stem}", asked)


def _rows(who: str, asked: Sequence[Asked]) -> Iterator[Row]:
    who = f"{who}, profile {PROFILE}" if PROFILE else who
    counts, note = Counter(item.outcome for item in asked), f"{len(asked)} questions"
    for outcome in OUTCOMES:
        yield Row(f"Exam {who}: {outcome.replace('_', ' ')}", counts[outcome], note=note)
    wrong = sum(item.is_confident and item.outcome != "right" for item in asked)
    yield Row(f"Exam {who}: confidently wrong", wrong, note=note)
    yield Row(f"Exam {who}: median of a question", median(item.seconds for item in asked), "s")
    tokens = fmean(item.prompt_tokens for item in asked)
    yield Row(f"Exam {who}: prompt tokens of a question", tokens)
    yield Row(f"Exam {who}: answered by it", sum(item.by_model for item in asked), note=note)


async def _ask_all(
    rows: Sequence[Mapping[str, Any]], data: Path, indexes: bool, llm: LlmSettings | None
) -> list[Asked]:
    settings = Settings(
        ragstone_data=data, cache=CacheSettings(enabled=False), llm=llm or LlmSettings()
    )
    grade = _grader()
    async with build.open(settings) as service:
        if indexes:
            await index_exam(service)
        return [await _ask(service, row, grade, llm) for row in rows]


async def _ask(
    service: Service,
    row: Mapping[str, Any],
    grade: Callable[..., tuple[str, bool, str]],
    llm: LlmSettings | None,
) -> Asked:
    history: tuple[Message, ...] = ()
    tokens, started = 0, time.monotonic()
    turn: Turn | None = None
    for question in row["turns"]:
        ask = Ask(question, collection=row["collection"], history=history, profile=PROFILE)
        async for event in service.ask(ask):
            turn = event.turn if isinstance(event, Done) else turn
        answer = (turn.answer if turn else None) or GeneratedAnswer()
        tokens += turn.usage.prompt_tokens if turn else 0
        history += (Message("user", question), Message("assistant", answer.text))
    seconds = time.monotonic() - started
    sources = [{"number": c.number, "path": c.path, "page": c.page} for c in answer.citations]
    outcome, *_ = grade(row, answer.text, {"refused": answer.refused, "sources": sources})
    sure = answer.is_grounded is True and answer.confidence_level == "high"
    by_model = llm is not None and answer.model.startswith(llm.model)
    return Asked(outcome, sure, by_model, seconds, tokens)


def _grader() -> Callable[..., tuple[str, bool, str]]:
    """What grades an answer: that of the exam."""
    spec = spec_from_file_location("exam_run", eval_data() / "exam" / "run.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError("The exam has no run.py.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., tuple[str, bool, str]] = module.grade
    return found
