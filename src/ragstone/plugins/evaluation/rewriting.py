"""`ragstone eval rewrite`: are follow-ups made into the questions that people make of them?"""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ragstone.build import open_embedders
from ragstone.conversation.contextualize import Contextualize
from ragstone.core.errors import InputError
from ragstone.language.language import detect
from ragstone.plugins.evaluation.answers import token_f1
from ragstone.plugins.evaluation.dataset import read_rows, spread
from ragstone.ports import Embedder
from ragstone.settings import Settings
from ragstone.understand.follow_up import Exchange, standalone

_IN_BRACKETS = re.compile(r"\s*\([^)]*\)")


async def evaluate(file: Path, settings: Settings, limit: int | None = None) -> dict[str, float]:
    """Mean token F1 of the rewrites by rules, and of the questions as they were asked.

    A row has `question`, the human `rewrite`, and `history`: what was said before, questions and
    answers in turn; or questions only, in a file where some row has an odd number of them and no
    `title`. `title`, where there is one, is what the conversation is about.
    """
    rows = list(read_rows(file))
    if not rows:
        raise InputError(f"{file} has no rows.")
    odd = any(len(row.get("history") or ()) % 2 for row in rows)
    answered = not odd or any(row.get("title") for row in rows)
    rows = list(spread(rows, limit))
    turns = Contextualize().turns
    async with open_embedders(settings) as embedders:
        embedder = embedders.choose(detect(" ".join(row["question"] for row in rows[:50])))
        said = [await _rewrite(row, answered, turns, embedder) for row in rows]
    human = [row["rewrite"] for row in rows]
    asked = [row["question"] for row in rows]
    return {
        "questions": len(rows),
        "f1": fmean(map(token_f1, said, human)),
        "f1_unrewritten": fmean(map(token_f1, asked, human)),
        "changed": fmean(a != b for a, b in zip(said, asked, strict=True)),
    }


async def _rewrite(row: dict[str, Any], answered: bool, turns: int, embedder: Embedder) -> str:
    before = exchanges(row.get("history") or (), answered)[-turns:]
    if about := subject(row.get("title")):
        before.insert(0, Exchange(about))
    return (await standalone(row["question"], before, embedder)).text


def exchanges(history: Sequence[Any], answered: bool) -> list[Exchange]:
    """The history as questions with answers; a message may be a text, or have a role and a text."""
    if history and isinstance(history[0], dict):
        found: list[Exchange] = []
        for message in history:
            if message["role"] == "user":
                found.append(Exchange(message["text"]))
            elif found:
                found[-1] = Exchange(found[-1].question, message["text"])
        return found
    if not answered:
        return [Exchange(text) for text in history]
    pairs = zip(history[::2], [*history[1::2], ""], strict=False)
    return [Exchange(question, answer) for question, answer in pairs]


def subject(title: Any) -> str:
    """Return the subject of a title: its first part, without text in brackets."""
    first = title[0] if isinstance(title, list) and title else title
    return _IN_BRACKETS.sub("", first).strip() if isinstance(first, str) else ""
