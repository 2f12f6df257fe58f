"""`ragstone eval answers`: is an accepted answer in the first sentences, and is silence honest?"""

import re
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from ragstone.answer.pre_answer_gate import REFUSE_BELOW
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import InputError
from ragstone.core.turn import Ask, Strategy
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.language.sentences import sentences
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.answers import AnswerRecord, measure
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings

MARKER = re.compile(r"\s*\[\d+\]")


async def evaluate(
    directory: Path,
    settings: Settings,
    split: str = "dev",
    strategy: Strategy | None = None,
    limit: int | None = None,
    off_corpus: Path | None = None,
    history: bool = False,
) -> dict[str, float | None]:
    """Return the measures by name. With `off_corpus`, its questions are asked too, as unanswerable.

    `history` asks each question after what was said before it.
    """
    records = await record_answers(directory, settings, split, strategy, limit, off_corpus, history)
    return measure(records, REFUSE_BELOW)


async def record_answers(
    directory: Path,
    settings: Settings,
    split: str = "dev",
    strategy: Strategy | None = None,
    limit: int | None = None,
    off_corpus: Path | None = None,
    history: bool = False,
) -> list[AnswerRecord]:
    """What is answered to each question; raises InputError where there is none with an answer."""
    asked = dataset.questions(directory, split, limit)
    if not off_corpus:
        asked = [question for question in asked if question.answers or not question.answerable]
    strangers = dataset.questions(off_corpus, split, limit) if off_corpus else []
    if not asked and not strangers:
        raise InputError(f"No question of {directory}/{split} has an accepted answer.")
    tailless = Recipe(Recipes(settings).of("plain", "standard").stages)
    async with (
        index_passages(dataset.corpus(directory), settings) as index,
        aclosing(Engine(index.adapters, {"standard": tailless})) as engine,
    ):
        records = [await _record(engine, item, strategy, history) for item in asked]
        for question in strangers:
            records.append(await _record(engine, question, strategy, stranger=True))
    return records


async def _record(
    engine: Engine,
    question: dataset.Question,
    strategy: Strategy | None,
    history: bool = False,
    stranger: bool = False,
) -> AnswerRecord:
    before = question.history if history else ()
    ask = Ask(question.text, collection=NAME, strategy=strategy, history=before)
    answer = await _answer(engine, ask)
    return AnswerRecord(
        answers=question.answers,
        sentences=() if answer.refused else tuple(_plain(answer.text)),
        refused=answer.refused,
        confidence=answer.confidence,
        answerable=question.answerable and not stranger,
        stranger=stranger,
    )


def _plain(text: str) -> Sequence[str]:
    """Return the answer's sentences without markers."""
    bare = MARKER.sub("", text)
    return [bare[span.start : span.end] for span in sentences(bare)]


async def _answer(engine: Engine, ask: Ask) -> GeneratedAnswer:
    try:
        return (await engine.answer(ask)).answer or GeneratedAnswer()
    except InputError:
        return GeneratedAnswer(finish="refused", confidence=0.0)
