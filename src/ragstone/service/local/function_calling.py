"""`service.function_calling` in this process: a search, then one reply of the chat model."""

from dataclasses import replace

from ragstone.answer.assemble import Assemble
from ragstone.answer.build_prompt import BuildPrompt
from ragstone.answer.cite import Cite
from ragstone.answer.generate import Generate
from ragstone.core.errors import InputError
from ragstone.core.turn import Ask, Turn
from ragstone.engine.runner import Engine
from ragstone.engine.stage import nowhere
from ragstone.ports import Adapters, Answerer

NO_MODEL = (
    "Functions need a chat model that calls them, and there is none: leave functions out, "
    "or set LLM__MODEL."
)


async def function_calling(ask: Ask, adapters: Adapters, searches: Engine) -> Turn:
    """The turn with the reply to what `searches` found; raises InputError without a chat model."""
    if not isinstance(adapters.chat, Answerer):
        raise InputError(NO_MODEL)
    # Who stands by for the chat model with the documents' own sentences calls nothing.
    calling = replace(adapters, answerer=adapters.chat)
    turn = await searches.answered(ask)
    for stage in (Assemble(), BuildPrompt(), Generate(), Cite()):
        turn = (await stage.run(turn, calling, nowhere)).turn
    return turn
