"""Lets the chat model think before it answers."""

import asyncio
from dataclasses import replace

from ragstone.answer.stream import plain
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Thinking
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Step, prompt
from ragstone.models.prompt import compose
from ragstone.ports import Adapters

THINKING_SECONDS = 90.0
"""What thinking may take before the answer."""

TOKENS = 500
"""Of the thoughts; at length three times."""


async def think(turn: Turn, adapters: Adapters, emit: Emit, at_length: bool = False) -> Step:
    """Think before the answer: chain of thought.

    A model that reasons by itself does so, at length where that is wanted. Any other one is asked
    twice: first to think about the sources, then to answer with these notes. Thoughts are events
    of their own and never text of the answer.
    """
    model, told = adapters.completer, turn.instructions
    if model is None or not turn.passages:
        return Step(turn, "skipped", "there is nothing for a chat model to think about")
    if adapters.profile.thinking_tokens:
        turn = replace(turn, instructions=replace(told, thinks=at_length))
        return Step(turn, "at length" if at_length else "as always", "by its own means")
    task = await prompt(turn, adapters, "thoughts")
    # It begins as the answer's prompt does, which a server that keeps beginnings reads once.
    rules, text = compose(turn.passages, turn.question, replace(told, text=task))
    try:
        async with asyncio.timeout(THINKING_SECONDS - 1):
            said = await model.complete(rules, text, TOKENS * (3 if at_length else 1))
    except (RagstoneError, TimeoutError) as error:
        failed = str(error) or "it took too long"
        return Step(turn, "nothing", f"{model.name} did not think: {failed}")
    await emit(Thinking(plain(said.text, turn.passages)))
    notes = "\n".join(filter(None, (told.notes, said.text)))
    turn = replace(turn, instructions=replace(told, notes=notes), usage=turn.usage + said.usage)
    return Step(turn, f"{said.usage.completion_tokens} tokens", "in a call before the answer")
