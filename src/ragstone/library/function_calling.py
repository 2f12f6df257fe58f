"""`service.function_calling` in this process: a search, then one reply of the chat model."""

from dataclasses import replace

from ragstone.engine import Engine
from ragstone.errors import InputError
from ragstone.ports import Answerer, Kit
from ragstone.stage import nowhere
from ragstone.stages.assemble import Assemble
from ragstone.stages.cite import Cite
from ragstone.stages.generate import Generate
from ragstone.stages.instruct import Instruct
from ragstone.turn import Ask, Turn

NO_MODEL = (
    "Functions need a chat model that calls them, and there is none: leave functions out, "
    "or set LLM__MODEL."
)


async def function_calling(ask: Ask, kit: Kit, searches: Engine) -> Turn:
    """The turn with the reply to what `searches` found; raises InputError without a chat model."""
    if not isinstance(kit.chat, Answerer):
        raise InputError(NO_MODEL)
    # Who stands by for the chat model with the documents' own sentences calls nothing.
    calling = replace(kit, answerer=kit.chat)
    turn = await searches.answered(ask)
    for stage in (Assemble(), Instruct(), Generate(), Cite()):
        turn = (await stage.run(turn, calling, nowhere)).turn
    return turn
