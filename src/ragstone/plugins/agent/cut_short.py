"""Says below an answer that a limit cut the work on it short."""

from dataclasses import replace
from typing import ClassVar, Literal

from ragstone.core.answer import GeneratedAnswer, cut_short_sentence
from ragstone.core.events import Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage


class CutShort(Stage):
    """Adds a sentence to the answer where the agent was ended by a limit: it is made from what was
    found so far. The sentence claims nothing of the documents."""

    name: ClassVar[str] = "cut_short"
    needs: ClassVar[frozenset[str]] = frozenset({"answer"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.cut_short:
            return Step(turn, "skipped")
        answer = turn.answer or GeneratedAnswer()
        said = cut_short_sentence(turn.cut_short)
        more = f"\n\n{said}" if answer.text else said
        if not answer.held:
            await emit(Token(more))
        answer = replace(answer, text=answer.text + more)
        return Step(replace(turn, answer=answer), "said", turn.cut_short)


PLACE = AddedStage(
    CutShort, before="cite", make=lambda key: CutShort() if key.variant == "tools" else None
)
