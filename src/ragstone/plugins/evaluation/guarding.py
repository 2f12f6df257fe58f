"""Measures of the guard: blocked shares of unsafe and safe questions."""

import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragstone.build import open_adapters
from ragstone.core.errors import InputError
from ragstone.core.records import GuardDecision
from ragstone.guard.guard import Guard
from ragstone.guard.topic_file import example_list, read_csv, read_file
from ragstone.plugins.evaluation.dataset import read_rows
from ragstone.plugins.evaluation.indexed import apart
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Adapters
from ragstone.recipes.recipe import guard
from ragstone.settings import Settings

TENANT = "evaluation"
GROUPS = ("language", "part")
"""Fields by which the accuracy is also given, where the rows have them."""


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """One question, whether it should be blocked, and the guard's ruling and seconds."""

    text: str
    unsafe: bool
    groups: Mapping[str, str]
    ruling: GuardDecision
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the guard's ruling agrees with the label."""
        return self.ruling.blocked == self.unsafe


async def evaluate(
    file: Path, settings: Settings, topics: Path | None = None
) -> tuple[dict[str, float | None], list[JudgedQuestion]]:
    """Check every row of `file` (text, label: safe or unsafe) with a list of topics.

    `blocked` is the share of the safe rows that are blocked, `caught` that of the unsafe ones.
    """
    rows = _rows(file)
    listed = read_csv(example_list() if topics is None else read_file(topics), TENANT)
    with tempfile.TemporaryDirectory(prefix="ragstone-eval-") as directory:
        chosen = apart(settings, Path(directory))
        async with open_adapters(chosen) as (adapters, _, _):
            await adapters.topics.put(TENANT, listed)
            stage = guard(settings)
            await stage.decide(["warm", "预热"], TENANT, adapters)
            judged = [await _judge_question(stage, adapters, row) for row in rows]
    return _measures(judged), judged


async def _judge_question(
    stage: Guard, adapters: Adapters, row: Mapping[str, str]
) -> JudgedQuestion:
    started = time.perf_counter()
    ruling, _ = await stage.decide([" ".join(row["text"].split())], TENANT, adapters)
    seconds = time.perf_counter() - started
    groups = {name: row[name] for name in GROUPS if row.get(name)}
    return JudgedQuestion(row["text"], row["label"] == "unsafe", groups, ruling, seconds)


def _measures(judged: Sequence[JudgedQuestion]) -> dict[str, float | None]:
    safe = [question for question in judged if not question.unsafe]
    unsafe = [question for question in judged if question.unsafe]
    groups: dict[str, list[JudgedQuestion]] = defaultdict(list)
    for question in judged:
        for name, value in question.groups.items():
            groups[f"accuracy_{name}_{value}"].append(question)
    times = [question.seconds * 1000 for question in judged]
    return {
        "questions": len(judged),
        "blocked": _share([item.ruling.blocked for item in safe]),
        "caught": _share([item.ruling.blocked for item in unsafe]),
        "accuracy": _share([question.right for question in judged]),
        **{name: _share([row.right for row in rows]) for name, rows in sorted(groups.items())},
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
    }


def _share(of: Sequence[bool]) -> float | None:
    return sum(of) / len(of) if of else None


def _rows(file: Path) -> list[Mapping[str, str]]:
    rows: list[Mapping[str, str]] = list(read_rows(file))
    if not rows:
        raise InputError(f"The file {file} holds no questions.")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise InputError(f"Line {number} of {file} has no text.")
        if row.get("label") not in ("safe", "unsafe"):
            raise InputError(f"Line {number} of {file} has no label: safe or unsafe.")
    return rows
