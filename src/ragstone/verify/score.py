"""How sure the answer is, and whether the passages were enough for it."""

import asyncio
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer, Statement, Sufficiency
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.verify.json_fields import read_values
from ragstone.verify.sufficiency import (
    MIN_COVERAGE,
    PassageSentence,
    coverage,
    find_disagreement,
    passage_sentences,
)

MIN_ANSWERS = 0.5
"""The likelihood from which an answer counts as what was asked."""

MAX_UNCHECKED = 0.8
"""The most confidence in an answer that was not compared with its sources: less than a high one."""

MAX_UNCITED = 0.3
"""The most confidence in an answer that cites no source: nobody can look it up."""


class Score(Stage):
    """States whether the answer is what was asked, beside whether the sources support it (`check`).

    How likely it is what was asked is said by the answerer where it knows, else by the judge. The
    confidence is that times the likelihood that the sources support it: relevance times grounding,
    as the query pipeline document has it.
    """

    name: ClassVar[str] = "score"
    needs: ClassVar[frozenset[str]] = frozenset({"answer", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset()
    fails: ClassVar[Literal["open", "closed"]] = "open"

    claims: int = Field(2, ge=0, description="Cited sentences compared with other passages.")
    others: int = Field(4, ge=0, description="Best passages that they are compared with.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        answer = turn.answer or GeneratedAnswer()
        texts = [f"{p.hit.chunk.heading}\n{p.text}" for p in turn.passages]
        covered, missing = coverage(turn.question, texts)
        answer = await _add_statement(turn, answer, adapters)
        pairs = [] if answer.refused else self._pairs(turn)
        conflicts = await find_disagreement(pairs, adapters.checker) is not None
        answered = answer.answers is None or answer.answers.holds
        enough = not answer.refused and answered and not conflicts and covered >= MIN_COVERAGE
        found = Sufficiency(enough, round(covered, 4), conflicts, missing)
        said = f"confidence {answer.confidence_level or 'unknown'}"
        if answer.answers is not None:
            said += f", answers the question with {answer.answers.confidence:.2f}"
        lacks = f"nothing speaks of {', '.join(missing)}" if missing else ""
        return Step(
            replace(turn, answer=replace(answer, sufficiency=found)),
            f"{said}, coverage {covered:.2f}{', conflicts' if conflicts else ''}",
            lacks,
        )

    def _pairs(self, turn: Turn) -> list[tuple[PassageSentence, PassageSentence]]:
        """The sentences that support the answer, each beside those of the best other passages."""
        found = [v.citation for v in turn.verdicts if v.label == "supported" and v.citation]
        cited = list({citation.snippet: citation for citation in found}.values())[: self.claims]
        passages = {passage.number: passage for passage in turn.passages}
        return [
            (PassageSentence(citation.snippet, own), sentence)
            for other in turn.passages[: self.others]
            for citation in cited
            if citation.number != other.number and (own := passages.get(citation.number))
            for sentence in passage_sentences(other)
        ]


async def _add_statement(
    turn: Turn, answer: GeneratedAnswer, adapters: Adapters
) -> GeneratedAnswer:
    """The answer with the statement that it is what was asked, and its confidence. A refusal's is
    how likely there was an answer after all; a call of the client's tools states nothing."""
    if answer.refused or answer.calls or not answer.text.strip():
        return answer
    likely = await _likelihood(turn, answer, adapters)
    answers = None if likely is None else Statement(likely >= MIN_ANSWERS, round(likely, 4))
    sure = likely if likely is not None else 0.0
    if answer.supported is not None:
        sure *= answer.supported.confidence
    else:
        sure = min(sure, MAX_UNCHECKED)
    if not answer.citations:
        sure = min(sure, MAX_UNCITED)
    unknown = likely is None and bool(answer.citations)
    return replace(answer, answers=answers, confidence=None if unknown else round(sure, 4))


async def _likelihood(turn: Turn, answer: GeneratedAnswer, adapters: Adapters) -> float | None:
    """Tell how likely the answer is what was asked; None where nobody can tell."""
    if answer.confidence is not None:
        return answer.confidence
    if adapters.judge is None or not turn.passages:
        return None
    numbers = {citation.number for citation in answer.citations}
    cited = [passage for passage in turn.passages if passage.number in numbers]
    ask = replace(turn.ask, question=turn.question)
    said = await asyncio.to_thread(read_values, answer) if answer.is_json else answer.text
    return await adapters.judge.answers(ask, said, cited or turn.passages)
