"""`service.functions` in this process: a search, then one call of the chat model."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.answer import Answer
from ragstone.engine import Engine
from ragstone.errors import InputError
from ragstone.events import Event
from ragstone.ports import Function, FunctionCaller, Kit
from ragstone.ports.functions import AUTO, NO_FUNCTIONS
from ragstone.service.functions import FunctionAnswer
from ragstone.stages.assemble import Assemble
from ragstone.stages.cite import Cite
from ragstone.stages.instruct import Instruct
from ragstone.text.markers import normalised
from ragstone.turn import Ask, Turn


class LocalFunctions:
    """`service.functions.Functions`; `searches` finds the passages."""

    def __init__(self, kit: Kit, searches: Engine) -> None:
        self._kit = kit
        self._searches = searches

    async def answer(
        self, ask: Ask, functions: Sequence[Function], choice: str = AUTO
    ) -> FunctionAnswer:
        model = self._kit.completer
        if not isinstance(model, FunctionCaller):
            raise InputError(NO_FUNCTIONS)
        turn = await self._searches.answered(ask)
        for stage in (Assemble(), Instruct()):
            turn = (await stage.run(turn, self._kit, _nowhere)).turn
        asked = replace(ask, question=turn.question)
        chosen = await model.choose(asked, turn.passages, turn.instructions, functions, choice)
        known = {passage.number for passage in turn.passages}
        text = "" if chosen.call else normalised(chosen.said.text, known.__contains__)
        name = chosen.said.model or self._kit.answerer.name
        answer = Answer(text, finish=chosen.said.finish or "stop", model=name)
        turn = replace(turn, answer=answer, usage=turn.usage + chosen.said.usage)
        return FunctionAnswer(await self._cited(turn), chosen.call)

    async def _cited(self, turn: Turn) -> Turn:
        return (await Cite().run(turn, self._kit, _nowhere)).turn


async def _nowhere(event: Event) -> None:
    """Drop an event that nobody reads."""
