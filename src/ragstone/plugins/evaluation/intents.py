"""`ragstone eval intents`: is small talk recognised, and nothing else taken for it?"""

import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import fmean

from ragstone.build import open_adapters
from ragstone.conversation.classify import Classify
from ragstone.core.errors import InputError
from ragstone.core.events import Event
from ragstone.core.turn import Ask, Turn
from ragstone.plugins.evaluation import measures
from ragstone.plugins.evaluation.dataset import read_rows
from ragstone.plugins.evaluation.indexed import apart
from ragstone.ports import Adapters
from ragstone.settings import Settings

SMALL_TALK = frozenset(
    {
        "greeting",
        "goodbye",
        "thank_you",
        "what_can_i_ask_you",
        "who_made_you",
        "are_you_a_bot",
        "what_is_your_name",
        "how_old_are_you",
        "where_are_you_from",
        "who_do_you_work_for",
        "what_are_your_hobbies",
        "do_you_have_pets",
        "tell_joke",
        "small_talk",
    }
)
"""Labels of CLINC150 that are small talk, and our own name for it."""

Judged = tuple[bool, float]
"""Whether a text was taken for small talk, and the seconds that took."""

Judging = Callable[[Sequence[str]], Awaitable[list[Judged]]]


async def evaluate(
    file: Path, settings: Settings, questions: Path | None = None
) -> dict[str, float | None]:
    """Return the measures by name, of rules and examples alone.

    `smalltalk_recall` is the share of small talk in `file` that is recognised; `others_false` the
    share of its other rows, and `smalltalk_false` that of `questions`, taken for small talk
    (without `questions`, the same as `others_false`).
    """
    given = rows(file)
    talk = [row["text"] for row in given if row["intent"] in SMALL_TALK]
    others = [row["text"] for row in given if row["intent"] not in SMALL_TALK]
    asked = [row["query"] for row in rows(questions)] if questions else []
    async with open_judge(settings) as judged:
        right, wrong, false = [await judged(texts) for texts in (talk, others, asked)]
    seconds = [item for _, item in (*right, *wrong, *false)]
    return {
        "smalltalk_recall": share(right),
        "smalltalk_false": share(false if questions else wrong),
        "others_false": share(wrong),
        "p50_ms": 1000 * measures.percentile(seconds, 0.5),
        "p95_ms": 1000 * measures.percentile(seconds, 0.95),
        "texts": len(seconds),
    }


@asynccontextmanager
async def open_judge(settings: Settings) -> AsyncIterator[Judging]:
    """What judges texts one after the other, warmed up, by rules and examples."""
    stage = Classify(asks_model=False, threshold=settings.adaptive.intent_threshold)
    with tempfile.TemporaryDirectory(prefix="ragstone-eval-") as directory:
        chosen = apart(settings, Path(directory))
        async with open_adapters(chosen) as (adapters, _, _):

            async def judge_texts(texts: Sequence[str]) -> list[Judged]:
                return [await _classify_question(stage, adapters, text) for text in texts]

            await judge_texts(["Wer hat die Brücke gebaut, und wann?", "warm up"])
            yield judge_texts


async def _classify_question(stage: Classify, adapters: Adapters, text: str) -> Judged:
    turn = Turn(Ask(text), " ".join(text.split()))
    started = time.perf_counter()
    step = await stage.run(turn, adapters, _ignore_event)
    return step.leaves, time.perf_counter() - started


async def _ignore_event(event: Event) -> None:
    """Ignore an event of the stage."""


def share(judged: Sequence[Judged]) -> float | None:
    """Tell how many were taken for small talk, None of none."""
    return fmean(taken for taken, _ in judged) if judged else None


def rows(file: Path) -> list[dict[str, str]]:
    """Return rows of a JSONL file, plain or gzipped, that have all the fields needed."""
    try:
        found = list(read_rows(file))
        needed = ("query",) if found and "query" in found[0] else ("text", "intent")
        return [{name: str(row[name]) for name in needed} for row in found]
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} cannot be read as rows of JSON: {error}.") from error
