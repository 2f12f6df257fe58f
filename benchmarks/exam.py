"""The exam with a real chat model and without one: right, wrong, confidently wrong, refused.

`EXAM_MODEL` is a chat model's GGUF file, which llama.cpp serves in this process; without it only
the documents' own sentences answer. Every `EXAM_EVERY`th question (20 by default) of
`RAGSTONE_EVAL_DATA/exam` is asked of both, and graded as its own `run.py` does. `BENCH_INDEX`
names a data directory that has the documents already; else they are indexed first. `EXAM_PROFILE`
asks with the numbers of a dialect, as `pipeline`.

`exam_replies.jsonl` has what a chat model could say to questions that the documents' own sentences
answer well: the right answer in other words, and wrong ones with another value or a negation. How
often do these sentences take the place of a reply? The model says of each that the sources support
it. The bound (`ragstone.verify.quoting`) was chosen with both halves of the questions in sight.
"""

import asyncio
import hashlib
import json
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
from ragstone.verify.quoting import NOTE
from tests.llama import llama_server
from tests.model_server import model_server

EVERY = int(os.environ.get("EXAM_EVERY", "20"))
PROFILE = os.environ.get("EXAM_PROFILE", "")
KEY = "exam"
PATIENCE = 600.0
"""Seconds that a reply may take on a busy machine: what is slow shall not count as refused."""

OUTCOMES = ("right", "wrong", "wrongly_refused", "should_refuse")
REPLIES = Path(__file__).parent / "exam_replies.jsonl"


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a question, and what it took."""

    outcome: str
    is_confident: bool
    by_model: bool
    seconds: float
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Replied:
    """What came of a reply that is right or wrong: whether the documents' own sentences took its
    place, and were right."""

    half: str
    is_right: bool
    is_replaced: bool
    outcome: str


def run() -> Iterator[Row]:
    rows = read_questions()[::EVERY]
    file = os.environ.get("EXAM_MODEL")
    kept = os.environ.get("BENCH_INDEX")
    with tempfile.TemporaryDirectory() as made:
        data = Path(kept or made)
        yield from _rows("without a chat model", asyncio.run(_ask_all(rows, data, not kept, None)))
        yield from _reply_rows(asyncio.run(_reply_to_all(data)))
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


def _reply_rows(replied: Sequence[Replied]) -> Iterator[Row]:
    for half in ("second", "first"):
        for is_right, name, most in ((True, "in other words", 0.02), (False, "wrong", None)):
            found = [r for r in replied if r.half == half and r.is_right is is_right]
            replaced = [r for r in found if r.is_replaced]
            right = sum(r.outcome == "right" for r in replaced)
            yield Row(
                f"Replies {name} that the documents replace, {half} half",
                len(replaced) / len(found),
                most=most,
                note=f"{len(replaced)} of {len(found)}; {right} by a right answer",
                detail=half == "first",
            )


async def _reply_to_all(data: Path) -> list[Replied]:
    questions = {row["id"]: row for row in read_questions()}
    lines = REPLIES.read_text(encoding="utf-8").splitlines()
    grade = load_grader()
    found = []
    with model_server(replies={"You check whether": '{"1": "supported"}'}) as server:
        llm = LlmSettings(model="says", base_url=server.url)
        settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False), llm=llm)
        async with build.open(settings) as service:
            for line in map(json.loads, lines):
                row = questions[line["id"]]
                half = ("first", "second")[hashlib.sha256(row["id"].encode()).digest()[0] % 2]
                for text in (line["right"], *line["wrong"]):
                    server.says = (f"{text} [1]",)
                    answer, _ = await answer_exam(service, row)
                    outcome, *_ = grade_answer(grade, row, answer)
                    is_right = text == line["right"]
                    found.append(Replied(half, is_right, answer.note == NOTE, outcome))
    return found


async def _ask_all(
    rows: Sequence[Mapping[str, Any]], data: Path, indexes: bool, llm: LlmSettings | None
) -> list[Asked]:
    settings = Settings(
        ragstone_data=data, cache=CacheSettings(enabled=False), llm=llm or LlmSettings()
    )
    grade = load_grader()
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
    started = time.monotonic()
    answer, tokens = await answer_exam(service, row)
    seconds = time.monotonic() - started
    outcome, *_ = grade_answer(grade, row, answer)
    sure = answer.is_grounded is True and answer.confidence_level == "high"
    by_model = llm is not None and answer.model.startswith(llm.model)
    return Asked(outcome, sure, by_model, seconds, tokens)


async def answer_exam(service: Service, row: Mapping[str, Any]) -> tuple[GeneratedAnswer, int]:
    """Return the answer to the last turn of a question, and the prompt tokens of all."""
    history: tuple[Message, ...] = ()
    tokens = 0
    turn: Turn | None = None
    for question in row["turns"]:
        place = {"collection": row["collection"], "profile": PROFILE}
        ask = Ask(question, **place, history=history, streams=False)
        async for event in service.ask(ask):
            turn = event.turn if isinstance(event, Done) else turn
        answer = (turn.answer if turn else None) or GeneratedAnswer()
        tokens += turn.usage.prompt_tokens if turn else 0
        history += (Message("user", question), Message("assistant", answer.text))
    return answer, tokens


def grade_answer(
    grade: Callable[..., tuple[str, bool, str]], row: Mapping[str, Any], answer: GeneratedAnswer
) -> tuple[str, bool, str]:
    sources = [{"number": c.number, "path": c.path, "page": c.page} for c in answer.citations]
    return grade(row, answer.text, {"refused": answer.refused, "sources": sources})


def load_grader() -> Callable[..., tuple[str, bool, str]]:
    """Return what grades an answer: that of the exam."""
    spec = spec_from_file_location("exam_run", eval_data() / "exam" / "run.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError("The exam has no run.py.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., tuple[str, bool, str]] = module.grade
    return found
