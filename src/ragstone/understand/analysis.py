"""How complex a question is, by patterns or by the chat model."""

import logging

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.intent import Analysis
from ragstone.core.turn import Turn
from ragstone.engine.prompts import prompt
from ragstone.language.json_answer import json_answer
from ragstone.ports import Adapters
from ragstone.understand.complexity import HIGH, LOW, analyse

log = logging.getLogger(__name__)

MAX_TOKENS = 200


async def analysed(turn: Turn, adapters: Adapters, asks_model: bool) -> tuple[Analysis, Usage]:
    """The model's analysis; that of the patterns where there is no model or it makes no sense."""
    known, model = analyse(turn.question), adapters.completer
    if model is None or not asks_model:
        return known, Usage()
    rules = await prompt(turn, adapters, "complexity")
    try:
        said = await model.complete(rules, f"Question: {turn.question}", MAX_TOKENS)
    except RagstoneError as error:
        log.warning("The question's complexity is judged by patterns: %s", error)
        return known, Usage()
    return _read(json_answer(said.text), known), said.usage


def _read(answer: object, known: Analysis) -> Analysis:
    if not isinstance(answer, dict):
        return known
    complexity = answer.get("complexity")
    if isinstance(complexity, bool) or not isinstance(complexity, int | float):
        return known
    if not LOW <= complexity <= HIGH:
        return known
    return Analysis(
        round(complexity),
        answer.get("comparison") is True,
        answer.get("reasoning") is True,
        answer.get("sources") is True,
        answer.get("temporal") is True,
        answer.get("calculation") is True,
        answer.get("whole_document") is True,
        by="model",
    )
