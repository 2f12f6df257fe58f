"""Remembers the conversation: what was said in the room before this question."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.conversation.reach import join_origins, readable
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import StateUnavailable, Unavailable
from ragstone.core.events import Note
from ragstone.core.provenance import Provenance, Reader
from ragstone.core.turn import Ask, Message, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.budget import budget
from ragstone.language.tokens import Count
from ragstone.ports import Adapters


class Memory(Stage):
    """Loads the last turns of the room: as many as a model of this size keeps in mind, within its
    share of the window. A question that brings its own history keeps that."""

    name: ClassVar[str] = "memory"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    timeout: float = Field(15.0, gt=0, description="Seconds that the stage may take.")
    store_timeout: float = Field(10.0, gt=0, description="Seconds that the store may take.")
    turns: int = Field(15, ge=0, description="Most turns; 0 leaves it to the model's size.")
    required: bool = Field(
        False, description="Whether a question is refused where the conversation cannot be read."
    )
    since: float = Field(0.0, description="Turns before this time (s since 1970) are left out.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask = turn.ask
        if not ask.room:
            return Step(turn, "skipped", "the question names no room")
        if not ask.principal.user:
            return Step(turn, "skipped", "nobody without a credential has conversations")
        if ask.history:
            return Step(turn, "as given", "the request brings what was said before")
        share = budget(adapters.profile.context_window, adapters.profile.tier)
        most = min(share.turns, self.turns or share.turns)
        try:
            async with asyncio.timeout(self.store_timeout):
                said, origin = await self._said(ask, most, adapters)
        except (Unavailable, TimeoutError) as error:
            if self.required:
                raise StateUnavailable("The conversation cannot be read now.") from error
            note = "What was said before in this conversation cannot be read now."
            await emit(Note(self.name, note))
            return Step(replace(turn, whole=False), "nothing", str(error) or "it took too long")
        kept = recent(said, share.history, adapters.count)
        left_out = f", {len(said) - len(kept)} did not fit" if len(kept) < len(said) else ""
        reason = f"at most {most} turns and {share.history} tokens{left_out}"
        turn = replace(turn, ask=replace(ask, history=tuple(kept)), remembered=origin)
        return Step(turn, f"{len(kept)} messages", reason)

    async def _said(
        self, ask: Ask, most: int, adapters: Adapters
    ) -> tuple[Sequence[Message], Provenance]:
        """The turns that the asker may read, and what those of the room were answered from."""
        who, store = ask.principal, adapters.conversations
        here = conversation_key(who, ask.room or "", ask.user_id)
        known = await store.origins(who, ask.user_id, here.room)
        reader = Reader(who.collections, who.names)
        mine = await readable(known, reader, adapters.catalog, who.tenant) or []
        if not mine:
            return (), Provenance()
        said = await store.history(
            here,
            None if ask.one_session else ask.search_type,
            ask.classes,
            most,
            self.since,
            origins=mine,
        )
        return said, join_origins(mine)


def recent(said: Sequence[Message], tokens: int, counted: Count) -> Sequence[Message]:
    """The last turns that fit in so many tokens; the newest always stays, and a turn stays whole.

    What answers the question cuts the newest to its share.
    """
    begins = len(said)
    left = tokens
    for at in range(len(said) - 1, -1, -1):
        left -= counted(said[at].text)
        if said[at].role == "user":
            if left < 0 and begins < len(said):
                break
            begins = at
    return said[begins:]
