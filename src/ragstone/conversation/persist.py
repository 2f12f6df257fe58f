"""Stores the question and its answer in the conversation."""

import asyncio
import logging
import uuid
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.core.clock import state_time
from ragstone.core.conversation import ConversationKey, conversation_key, entry
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters, ConversationStore

log = logging.getLogger(__name__)

LOOKED_THROUGH = 100
"""Turns of a room in which an earlier attempt is looked for: what came in between is in them."""


class Persist(Stage):
    """Adds the turn to its conversation and to the statistics; part of the tail, so it always
    runs. One of the two that fails does not stop the other."""

    name: ClassVar[str] = "persist"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    timeout: float = Field(60.0, gt=0, description="Seconds that the stage may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.ask.keeps:
            return Step(turn, "skipped", "the request wants nothing kept")
        # At once, so that a store that holds both can keep them in one transaction.
        both = (self._store_turn(turn, adapters), adapters.history.save(turn))
        ended = await asyncio.gather(*both, return_exceptions=True)
        for failure in ended:
            if failure is not None:
                raise failure
        return Step(turn)

    async def _store_turn(self, turn: Turn, adapters: Adapters) -> None:
        """Store the turn, if it names a room and has a readable question, and somebody asked: all
        without a credential would share a room."""
        ask = turn.ask
        if not ask.room or not turn.question or not ask.principal.user:
            return
        named = turn if ask.id else replace(turn, ask=replace(ask, id=uuid.uuid4().hex))
        here = conversation_key(ask.principal, ask.room, ask.user_id)
        try:
            if not (ask.idempotent and await _is_stored(adapters.conversations, here, ask.id)):
                await adapters.conversations.append(here, entry(named, state_time()))
        except RagstoneError as error:
            log.warning("A turn of a conversation could not be kept: %s", error)
            raise


async def _is_stored(conversations: ConversationStore, here: ConversationKey, id: str) -> bool:
    """Whether the conversation has the turn; no other question adds to it meanwhile."""
    newest = await conversations.entries(here, LOOKED_THROUGH)
    return any(item.block.chat_id == id for item in newest)
