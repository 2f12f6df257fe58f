"""Remembers the conversation: what was said in the room before this question."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragstone.conversation.reach import join_origins, select_readable
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import StateUnavailable, Unavailable
from ragstone.core.events import Note
from ragstone.core.provenance import Provenance, Reader
from ragstone.core.turn import Ask, Message, Turn
from ragstone.engine.stage import Emit, Step
from ragstone.language.tokens import Count, share_budget
from ragstone.ports import Adapters

MEMORY_SECONDS, STORE_SECONDS = 15.0, 10.0
"""What reading the conversation may take, and the store of that."""


async def load_history(
    turn: Turn,
    adapters: Adapters,
    emit: Emit,
    *,
    turns: int = 15,
    since: float = 0.0,
    required: bool = False,
) -> Step:
    """Load the last turns of the room: as many as a model of this size keeps in mind, within its
    share of the window. A question that brings its own history keeps that.

    Args:
        turns: Most turns; 0 leaves it to the model's size.
        since: Turns before this time (s since 1970) are left out.
        required: Whether a conversation that cannot be read is an error.

    Raises:
        StateUnavailable: It cannot be read, and is required.
    """
    ask = turn.ask
    if not ask.room:
        return Step(turn, "skipped", "the question names no room")
    if not ask.principal.user:
        return Step(turn, "skipped", "nobody without a credential has conversations")
    if ask.history:
        return Step(turn, "as given", "the request brings what was said before")
    share = share_budget(adapters.profile.context_window, adapters.profile.tier)
    most = min(share.turns, turns or share.turns)
    try:
        async with asyncio.timeout(STORE_SECONDS):
            said, origin = await _read_history(ask, most, since, adapters)
    except (Unavailable, TimeoutError) as error:
        if required:
            raise StateUnavailable(
                "The conversation cannot be read now. Try again soon."
            ) from error
        note = "What was said before in this conversation cannot be read now."
        await emit(Note("memory", note))
        return Step(replace(turn, whole=False), "nothing", str(error) or "it took too long")
    kept = select_recent(said, share.history, adapters.count)
    left_out = f", {len(said) - len(kept)} did not fit" if len(kept) < len(said) else ""
    reason = f"at most {most} turns and {share.history} tokens{left_out}"
    turn = replace(turn, ask=replace(ask, history=tuple(kept)), remembered=origin)
    return Step(turn, f"{len(kept)} messages", reason)


async def _read_history(
    ask: Ask, most: int, since: float, adapters: Adapters
) -> tuple[Sequence[Message], Provenance]:
    """The turns that the asker may read, and what those of the room were answered from."""
    who, store = ask.principal, adapters.conversations
    here = conversation_key(who, ask.room or "", ask.user_id)
    known = await store.origins(who, ask.user_id, here.room)
    reader = Reader(who.collections, who.names)
    mine = await select_readable(known, reader, adapters.catalog, who.tenant) or []
    if not mine:
        return (), Provenance()
    said = await store.history(
        here,
        None if ask.one_session else ask.search_type,
        ask.classes,
        most,
        since,
        origins=mine,
    )
    return said, join_origins(mine)


def select_recent(said: Sequence[Message], tokens: int, counted: Count) -> Sequence[Message]:
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
