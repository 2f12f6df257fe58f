"""RGB (Chen et al., AAAI 2024, arXiv 2309.01431): noise, rejection, integration, counterfactuals.

The data is in https://github.com/chen700564/RGB. A question is asked of five passages, as there: of
these the share that answers nothing is the noise. Where all are noise, a refusal is right. In the
sets with `fact` every answering passage was changed to a false answer: `false told` is how often
that is said, `with high confidence` how often for sure.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.public.judge import says
from benchmarks.public.runner import (
    Reply,
    Task,
    ask_all,
    clone,
    outcome_rows,
    read_lines,
    spread,
    time_row,
)
from benchmarks.row import Row

QUESTIONS = 40
PASSAGES = 5
NOISE = {"refine": (0.0, 0.4, 0.8, 1.0), "int": (0.0, 0.4), "fact": (0.0, 0.4)}
_NAMES = {"right": "", "false": "false passages, "}


def run() -> Iterator[Row]:
    folder = clone("RGB", "https://github.com/chen700564/RGB")
    documents: dict[str, str | Path] = {}
    tasks: list[Task] = []
    for language in ("en", "zh"):
        for part in NOISE:
            for row in spread(read_lines(folder / f"data/{language}_{part}.json"), QUESTIONS):
                tasks += _tasks(language, part, row, documents)
    replies = ask_all("rgb", documents, tasks)
    yield from outcome_rows("RGB", [r for r in replies if "false" not in r.task.kind])
    yield from _false_rows([r for r in replies if "false" in r.task.kind])
    yield time_row("RGB", replies, f"{QUESTIONS} questions of each set, evenly spread")


def _tasks(
    language: str,
    part: str,
    row: dict[str, Any],
    documents: dict[str, str | Path],
) -> Iterator[Task]:
    """Yield the tasks of a question; puts its passages into `documents`."""
    base = f"rgb_{language}/{part}/{row['id']}"
    accepted = {"right": _groups(row["answer"])}
    passages = {"right": _interleave(row["positive"]) if part == "int" else row["positive"]}
    if part == "fact":
        accepted["false"] = ((row["fakeanswer"],),)
        passages["false"] = row["positive_wrong"]
    for noise in NOISE[part]:
        for kind, texts in passages.items():
            helpful = texts[: PASSAGES - math.ceil(PASSAGES * noise)]
            sources = {f"{base}/{kind}{n}.txt": text for n, text in enumerate(helpful)}
            others = row["negative"][: PASSAGES - len(helpful)]
            chosen = sources | {f"{base}/noise{n}.txt": text for n, text in enumerate(others)}
            documents |= chosen
            yield Task(
                f"{language}_{part}, {_NAMES[kind]}noise {noise:g}",
                row["query"],
                f"rgb_{language}",
                accepted[kind] if helpful else (),
                sources=frozenset(sources),
                within=tuple(chosen),
            )


def _interleave(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the first passage of each part of the answer, then the second ones."""
    longest = max(map(len, groups))
    return [group[n] for n in range(longest) for group in groups if n < len(group)]


def _groups(answer: str | Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """Return each part of the answer with its alternatives."""
    parts = [answer] if isinstance(answer, str) else answer
    return tuple((item,) if isinstance(item, str) else tuple(item) for item in parts)


def _false_rows(replies: Sequence[Reply]) -> Iterator[Row]:
    for kind in dict.fromkeys(reply.task.kind for reply in replies):
        own = [reply for reply in replies if reply.task.kind == kind]
        told = [r for r in own if r.outcome != "refused" and says(r.text, r.task.accepted)]
        sure = sum(r.is_sure for r in told)
        note = f"{len(told)} of {len(own)}, {sure} with high confidence"
        yield Row(f"RGB, {kind}: false told", len(told) / len(own), note=note, detail=True)
