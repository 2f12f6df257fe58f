"""Lets the chat model think before it answers."""

import asyncio
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.stream import plain
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Thinking
from ragstone.core.turn import Turn
from ragstone.engine.prompts import prompt
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.fences import fence_text
from ragstone.language.markers import neutral
from ragstone.ports import Adapters


class Reason(Stage):
    """Chain of thought, where the request or the level wants it.

    A model that reasons by itself does so, at length where the level thinks at length. Any other
    one is asked twice: first to think about the sources, then to answer with these notes. Thoughts
    are events of their own and never text of the answer.
    """

    name: ClassVar[str] = "reason"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "instructions"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(90.0, gt=0, description="Seconds that the stage may take.")
    reasons: bool = Field(False, description="Whether it is done unless the request says.")
    extended: bool = Field(False, description="Whether the model thinks at length.")
    tokens: int = Field(500, ge=50, description="Tokens of the thoughts; at length three times.")
    holds: bool = Field(False, description="Whether thoughts may not leave unchecked.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        wanted = self.reasons if turn.ask.reasons is None else turn.ask.reasons
        model, told = adapters.completer, turn.instructions
        if not wanted:
            return Step(turn, "skipped", "neither the level nor the request asks for it")
        if model is None or not turn.passages or (turn.answer and turn.answer.text):
            return Step(turn, "skipped", "there is nothing for a chat model to think about")
        if adapters.profile.thinking_tokens:
            turn = replace(turn, instructions=replace(told, thinks=self.extended))
            return Step(turn, "at length" if self.extended else "as always", "by its own means")
        sources = "\n".join(f"[{p.number}] {neutral(p.text)}" for p in turn.passages)
        text = f"{fence_text('sources', sources)}\n{fence_text('question', turn.question)}"
        most = self.tokens * (3 if self.extended else 1)
        rules = await prompt(turn, adapters, "thoughts")
        try:
            async with asyncio.timeout(self.timeout - 1):
                said = await model.complete(rules, text, most)
        except (RagstoneError, TimeoutError) as error:
            failed = str(error) or "it took too long"
            return Step(turn, "skipped", f"{model.name} did not think: {failed}")
        if not self.holds:
            await emit(Thinking(plain(said.text, turn.passages)))
        notes = "\n".join(filter(None, (told.notes, said.text)))
        turn = replace(turn, instructions=replace(told, notes=notes), usage=turn.usage + said.usage)
        return Step(turn, f"{said.usage.completion_tokens} tokens", "in a call before the answer")
