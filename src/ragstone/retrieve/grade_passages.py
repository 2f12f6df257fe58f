"""Lets the chat model grade what was found, and searches once more where that is not enough."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Hit, Turn
from ragstone.engine.runner import run_stages
from ragstone.engine.stage import Emit, Stage, Step, prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_values
from ragstone.ports import Adapters, Completer

BEST = 10.0
LONGEST_QUERY = 500

_NUMBER = re.compile(r"\s*(\d{1,2}(?:\.\d+)?)\s*(?:/\s*10)?\s*")


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The grade of each passage in order (None where the reply has none), of all together, and the
    query to search next, empty for none."""

    grades: tuple[float | None, ...]
    overall: float
    query: str = ""


def appraisal(said: str, count: int) -> Appraisal | None:
    """Return what a reply says of `count` passages; None if it grades none of them.

    Of several JSON values the one with most grades counts, and of those the last.
    """
    best: Appraisal | None = None
    known = (0, False)
    for value in json_values(said):
        found, named = _parse_appraisal(value, count)
        has = (sum(grade is not None for grade in found.grades), named)
        if has[0] and has >= known:
            best, known = found, has
    return best


def _parse_appraisal(value: Any, count: int) -> tuple[Appraisal, bool]:
    """Return the appraisal, and whether it has an overall grade of its own."""
    said = value if isinstance(value, dict) else {"grades": value}
    grades = _grades(said.get("grades", said), count)
    overall = _grade(said.get("overall"))
    query = said.get("query")
    line = " ".join(query.split())[:LONGEST_QUERY] if isinstance(query, str) else ""
    best = max((grade for grade in grades if grade is not None), default=0.0)
    return Appraisal(grades, best if overall is None else overall, line), overall is not None


def _grades(value: Any, count: int) -> tuple[float | None, ...]:
    if isinstance(value, Mapping):
        return tuple(_grade(value.get(str(n))) for n in range(1, count + 1))
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == count:
        return tuple(_grade(item) for item in value)
    return (None,) * count


def _grade(value: Any) -> float | None:
    """Return a number from 0 to 10, also where it stands in an object or as `8/10`."""
    if isinstance(value, Mapping):
        value = value.get("grade", value.get("score"))
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        value = float(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= BEST else None


PASSAGE_CHARS = 800
"""What the model reads of a passage."""

REPLY_TOKENS = 400

SPARED = 3
"""Passages that stay where all are poor and nothing else could be searched."""


@dataclass(frozen=True, slots=True)
class _GradingResult:
    """What the model said of the passages that had no grade, what that took, and why it is not
    known if it is not."""

    said: Appraisal | None = None
    usage: Usage = Usage()
    failure: str = ""


class GradePassages(Stage):
    """Self-RAG's look at the passages: one call grades them 0 to 10. Under `enough` for all
    together the reformulated query is searched too, once for a question; then those under `least`
    are dropped and the better ones come first. Only after that search may all be dropped. Without
    a chat model, or if it does not grade, the passages stay as they were found.
    """

    name: ClassVar[str] = "grade_passages"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "question"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(90.0, gt=0, description="Seconds that the stage may take.")
    always: bool = Field(True, description="Whether it is done for every plan.")
    most: int = Field(20, ge=1, description="Passages that are graded at most.")
    enough: float = Field(
        7.0, ge=0, le=10, description="Overall grade under which another query is searched."
    )
    least: float = Field(3.0, ge=0, le=10, description="Grade under which a passage is dropped.")
    model_timeout: float = Field(20.0, gt=0, description="Seconds that one grading may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        model = adapters.evaluator or adapters.completer
        if not (self.always or turn.plan.verifies):
            return Step(turn, "skipped", "the plan does not ask for it")
        if model is None or not turn.hits or turn.plan.strategy == "sequential":
            why = "there is no chat model" if model is None else "there is nothing to choose from"
            return Step(turn, "skipped", why)
        searched = bool(turn.grades)
        graded = await self._grade_first(turn, adapters, model)
        turn = _with_grades(turn, graded, self.most)
        if not turn.grades:
            return Step(turn, "skipped", graded.failure)
        query, overall = "", graded.said.overall if graded.said else self.enough
        if not searched and overall < self.enough and graded.said:
            query = _new_query(graded.said.query, turn)
        if query:
            again = await self._search_again(turn, query, adapters, emit)
            searched = again is not None
            turn = again or turn
            turn = _with_grades(turn, await self._grade_first(turn, adapters, model), self.most)
        hits = self._select_hits(turn, searched)
        decision = f"{len(hits)} of {len(turn.hits)} passages kept, overall {overall:g}"
        known = [turn.grades.get(hit.chunk.chunk_id) for hit in hits]
        grades = " ".join("?" if item is None else f"{item:g}" for item in known)
        also = f"; also searched: {query}" if query else ""
        return Step(replace(turn, hits=hits), decision, f"{model.name} gave {grades}{also}")

    async def _grade_first(
        self, turn: Turn, adapters: Adapters, model: Completer
    ) -> _GradingResult:
        """Return the grades of the first passages that have none yet, in one call."""
        asked = _ungraded_hits(turn, self.most)
        if not asked:
            return _GradingResult(failure="all are graded")
        texts = [f"[{n}] {h.chunk.searchable[:PASSAGE_CHARS]}" for n, h in enumerate(asked, 1)]
        shown = fence_text("passages", "\n".join(texts))
        text = f"{fence_text('question', turn.question)}\n{shown}"
        rules = await prompt(turn, adapters, "appraisal")
        try:
            async with asyncio.timeout(self.model_timeout):
                said = await model.complete(rules, text, REPLY_TOKENS)
        except (RagstoneError, TimeoutError) as error:
            return _GradingResult(
                failure=f"{model.name} did not grade: {str(error) or 'it took too long'}"
            )
        found = appraisal(said.text, len(asked))
        return _GradingResult(found, said.usage, "" if found else f"{model.name} gave no grades")

    async def _search_again(
        self, turn: Turn, query: str, adapters: Adapters, emit: Emit
    ) -> Turn | None:
        """Return the turn with the results of this query added; None if that search fails."""
        asked = turn.also_asking(query)
        try:
            found = await run_stages(
                self.inner, asked, adapters, emit, self.name, "{} again".format
            )
        except RagstoneError:
            return None
        return replace(found, recalled=turn.recalled)

    def _select_hits(self, turn: Turn, searched: bool) -> tuple[Hit, ...]:
        """Return the passages worth keeping, best grade first; those without one keep their order
        behind the good ones."""
        grade = {hit.chunk.chunk_id: turn.grades.get(hit.chunk.chunk_id) for hit in turn.hits}

        def worth(hit: Hit) -> float:
            known = grade[hit.chunk.chunk_id]
            return self.least if known is None else known

        best = sorted(turn.hits, key=worth, reverse=True)
        kept = tuple(hit for hit in best if worth(hit) >= self.least)
        return kept if kept or searched else tuple(best[:SPARED])


def _ungraded_hits(turn: Turn, most: int) -> list[Hit]:
    return [hit for hit in turn.hits[:most] if hit.chunk.chunk_id not in turn.grades]


def _with_grades(turn: Turn, graded: _GradingResult, most: int) -> Turn:
    """Return the turn with the new grades and their usage."""
    turn = replace(turn, usage=turn.usage + graded.usage)
    if graded.said is None:
        return turn
    asked = _ungraded_hits(turn, most)
    given = {
        hit.chunk.chunk_id: grade
        for hit, grade in zip(asked, graded.said.grades, strict=True)
        if grade is not None
    }
    return replace(turn, grades={**turn.grades, **given})


def _new_query(query: str, turn: Turn) -> str:
    """Return the query, empty if it was searched already."""
    known = {item.casefold() for item in (turn.question, *turn.queries)}
    return "" if query.casefold() in known else query
