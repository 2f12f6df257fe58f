"""Which rules of answers without a chat model earn their place: questions with each taken away.

The exam and questions of public sets in five languages are asked once. Their passages are then
answered from again, each time without one rule. `BENCH_INDEX` names a data directory that has the
exam's documents already; else they are indexed first.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.common import eval_data
from benchmarks.exam import answer_exam, load_grader
from benchmarks.prompts import index_exam, read_questions
from benchmarks.row import Row
from ragstone import build
from ragstone.answer.extractive import (
    answering_likelihood,
    extractive,
    unit_ranking,
    unit_reading,
    units,
)
from ragstone.answer.extractive.extractive import Extractive
from ragstone.answer.extractive.unit_ranking import RankedUnit
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.engine.engine import Engine
from ragstone.language.markers import sentences_with_citations
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.answers import normalise_answer
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.ports import Pair, PairReading, Said
from ragstone.reader.local import LocalReader
from ragstone.recipes.recipe import Recipes
from ragstone.settings import CacheSettings, Settings, load

PUBLIC = ("squad2_dev", "xquad/de", "xquad/ru", "cmrc2018_zh", "jsquad_ja")
ASKED = 80
"""Questions of each public set."""


async def _none(*_: object) -> None:
    return None


async def _keep(_: str, best: Sequence[RankedUnit], *__: object) -> list[RankedUnit]:
    return list(best)


RULES: dict[str, tuple[Any, str, object]] = {
    "the reader": (extractive, "read_units", _keep),
    "sentences that are read alone": (unit_reading, "ALONE", 0.0),
    "the place of the answer": (unit_reading, "PLACE", 0.0),
    "rows by label and column": (unit_ranking, "cell_score", lambda *_: 0.0),
    "headings below other lines": (unit_ranking, "HEADING", 0.0),
    "sections that the question names": (unit_ranking, "SECTION", 0.0),
    "code where it is asked how": (unit_ranking, "SHOWN", 0.0),
    "lists where several things are asked": (unit_ranking, "LISTED", 0.0),
    "a question of the documents": (unit_ranking, "SAME_QUESTION", 0.0),
    "what a line leads to": (units, "_find_introduced", lambda *_: []),
    "lists said whole": (extractive, "with_lists", lambda _, chosen, *__: chosen),
    "the sentence before": (extractive, "_previous_unit", lambda *_: None),
    "what is hidden": (extractive, "_exclude_hidden", lambda best: best),
    "two things that are compared": (extractive, "both_sides", lambda *_: None),
    "editions of a section": (extractive, "without_other_editions", lambda _, best: best),
    "sources that disagree": (extractive, "find_values_apart", _none),
    "rows that nothing speaks of": (answering_likelihood, "ROW_UNCOVERED", 0.0),
    "codes, years and numbers": (answering_likelihood, "OTHER_THING", 0.0),
}
"""What is taken away: in which module, by which name, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Call:
    """A question as it came to the answerer, and what grades its answer: by the text, whether it is
    a refusal, and the passages that it cites."""

    kind: str
    answerer: Extractive
    ask: Ask
    passages: Sequence[Passage]
    instructions: Instructions
    grade: Callable[[str, bool, Sequence[Passage]], str]


def run() -> Iterator[Row]:
    sizes, told = asyncio.run(_measure())
    every = told.pop("")
    for kind, size in sizes.items():
        right = every[kind, "right"]
        yield Row(f"Answered rightly with all rules, {kind}", right, note=f"{size} questions")
    for rule, found in told.items():
        lost = every - found
        lost.subtract(found - every)
        note = ", ".join(f"{kind} {lost[kind, 'right']:+}" for kind in sizes)
        answered = sum(lost[kind, "should_refuse"] for kind in sizes)
        right = sum(lost[kind, "right"] for kind in sizes)
        yield Row(
            f"Right by {rule}", right, note=f"{note}; {answered:+} without an answer answered"
        )


async def _measure() -> tuple[Counter[str], dict[str, Counter[tuple[str, str]]]]:
    """Tell how many questions there are of each kind, and for no rule ("") and for each that is
    taken away how many have which outcome."""
    known: dict[Pair, PairReading] = {}
    read = LocalReader.read

    async def read_once(self: LocalReader, pairs: Sequence[Pair]) -> list[PairReading]:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        known.update(zip(new, await read(self, new), strict=True))
        return [known[pair] for pair in pairs]

    async with AsyncExitStack() as stack:
        calls = await _ask_exam(stack)
        for name in PUBLIC:
            calls += await _ask_public(stack, name)
        stack.enter_context(patch.object(LocalReader, "read", read_once))
        told = {}
        for rule in ("", *RULES):
            with patch.object(*RULES[rule]) if rule else nullcontext():
                told[rule] = Counter([(call.kind, await _grade(call)) for call in calls])
    return Counter(call.kind for call in calls), told


async def _grade(call: Call) -> str:
    said = [part async for part in call.answerer.answer(call.ask, call.passages, call.instructions)]
    text = "".join(part.text for part in said)
    cited = {number for _, numbers in sentences_with_citations(text) for number in numbers}
    refused = any(part.finish == "refused" for part in said)
    return call.grade(text, refused, [item for item in call.passages if item.number in cited])


@contextmanager
def _record() -> Iterator[list[tuple[Extractive, Ask, Sequence[Passage], Instructions]]]:
    """What answerers are asked meanwhile."""
    calls: list[tuple[Extractive, Ask, Sequence[Passage], Instructions]] = []
    answer = Extractive.answer

    def record(
        self: Extractive, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        calls.append((self, ask, passages, instructions))
        return answer(self, ask, passages, instructions)

    with patch.object(Extractive, "answer", record):
        yield calls


async def _ask_exam(stack: AsyncExitStack) -> list[Call]:
    kept = os.environ.get("BENCH_INDEX")
    data = Path(kept or stack.enter_context(tempfile.TemporaryDirectory()))
    settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False))
    service = await stack.enter_async_context(build.open(settings))
    if not kept:
        await index_exam(service)
    grade = load_grader()
    found = []
    for row in read_questions():
        with _record() as calls:
            await answer_exam(service, row)

        def grade_row(
            text: str, refused: bool, cited: Sequence[Passage], row: Mapping[str, Any] = row
        ) -> str:
            sources = [
                {"number": p.number, "path": p.hit.chunk.path, "page": p.hit.chunk.page}
                for p in cited
            ]
            return grade(row, text, {"refused": refused, "sources": sources})[0]

        # What is computed from tables, or told of all documents, is not asked of the answerer.
        found += [Call("exam", *call, grade_row) for call in calls[-1:]]
    return found


async def _ask_public(stack: AsyncExitStack, name: str) -> list[Call]:
    settings = load()
    folder = eval_data() / name
    corpus = dataset.corpus(folder)
    index = await stack.enter_async_context(index_passages(corpus, settings))
    engine = Engine(index.adapters, {"standard": Recipes(settings).of("plain", "standard")})
    every = [q for q in dataset.questions(folder, "dev") if q.answers and q.text.strip()]
    found = []
    for question in every[:: max(1, len(every) // ASKED)][:ASKED]:
        with _record() as calls:
            await engine.answer(Ask(question.text, collection=NAME))

        def grade_question(
            text: str,
            refused: bool,
            _: Sequence[Passage],
            answers: Sequence[str] = question.answers,
        ) -> str:
            said = normalise_answer(text)
            right = any(normalise_answer(answer) in said for answer in answers)
            return "wrongly_refused" if refused else "right" if right else "wrong"

        found += [Call("public", *call, grade_question) for call in calls[-1:]]
    return found
