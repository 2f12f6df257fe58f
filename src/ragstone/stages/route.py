"""Decides how the question will be answered."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.errors import EmptyQuestion, QuestionTooLong
from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Plan, Strategy, Turn


class Route(Stage):
    """Checks the question and makes its plan: the level's, unless the request asks otherwise."""

    name: ClassVar[str] = "route"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})
    gives: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})

    strategy: Strategy = Field("hybrid", description="How the level searches.")
    top_k: int = Field(10, ge=1, description="Passages that the answer is made from.")
    candidates: int = Field(100, ge=1, description="Chunks taken from each search.")
    dense_weight: float = Field(0.4, ge=0, le=1, description="Share of meaning in the score.")
    max_question_chars: int = Field(20_000, ge=1, description="Longest question, in characters.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        question = " ".join(turn.ask.question.split())
        if not question:
            raise EmptyQuestion
        if len(question) > self.max_question_chars:
            raise QuestionTooLong(len(question), self.max_question_chars)
        asked = turn.ask.strategy
        plan = Plan(
            strategy=asked or self.strategy,
            candidates=max(self.candidates, turn.ask.top_k or 0),
            top_k=turn.ask.top_k or self.top_k,
            dense_weight=self.dense_weight,
        )
        reason = "the request asks for it" if asked else f"level {turn.ask.level}"
        return Step(
            replace(turn, plan=plan, queries=(question,)),
            f"{plan.strategy}, {plan.top_k} passages",
            reason,
        )
