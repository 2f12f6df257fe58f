"""Reads the question: what it asks by itself, without the conversation before it."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.errors import EmptyQuestion, QuestionTooLong
from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Turn


class Contextualize(Stage):
    """Checks the question."""

    name: ClassVar[str] = "contextualize"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})
    gives: ClassVar[frozenset[str]] = frozenset({"question"})

    max_question_chars: int = Field(20_000, ge=1, description="Longest question, in characters.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        question = " ".join(turn.ask.question.split())
        if not question:
            raise EmptyQuestion
        if len(question) > self.max_question_chars:
            raise QuestionTooLong(len(question), self.max_question_chars)
        return Step(replace(turn, question=question))
