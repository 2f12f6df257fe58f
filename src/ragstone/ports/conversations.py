"""The port of conversations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.conversation import ConversationKey, Room, Rooms, StoredTurn
from ragstone.core.records import Feedback, QuestionTrace, StageUse
from ragstone.core.turn import Message, Principal, SearchType

IN_ONE_READ = 500
"""Turns that are read at a time."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who answers in a room now. `beat` counts up for as long as that one lives."""

    holder: str
    beat: int


class ConversationStore(Protocol):
    """The turns of every user's rooms, in the order in which they ended.

    Methods raise StateUnavailable, and StorageFull when they write.
    """

    @property
    def shared(self) -> bool:
        """Whether other processes write to the same rooms."""
        ...

    @property
    def apart(self) -> bool:
        """Whether they are in a store of their own, which can be down while the state is not."""
        ...

    async def append(self, conversation: ConversationKey, entry: StoredTurn) -> None:
        """Keep a turn. What is kept of an unfinished turn with the same chat id is replaced; once
        a turn is over, calls of tools and what they said are removed from the whole room."""
        ...

    async def history(
        self,
        conversation: ConversationKey,
        search_type: SearchType | None,
        classes: Sequence[str],
        most: int,
        since: float = 0.0,
        origins: Sequence[str] | None = None,
    ) -> list[Message]:
        """Return what was said in the last `most` turns, oldest first, of those that did not fail,
        are of this search type if one is given, share one of `classes` if there are any, ended
        after `since`, and have one of the `origins` unless that is None."""
        ...

    async def origins(
        self, principal: Principal, user_id: str | None = None, room: str | None = None
    ) -> list[str]:
        """Return the different origins (`Provenance.text`, empty for unknown) of the principal's
        turns, of all or one of its accounts and rooms."""
        ...

    async def entries(
        self, conversation: ConversationKey, limit: int, offset: int = 0
    ) -> list[StoredTurn]:
        """Return turns, the newest first; raises InvalidBlock for one that cannot be read."""
        ...

    async def room(self, conversation: ConversationKey) -> Room | None: ...

    async def rooms(
        self,
        principal: Principal,
        user_id: str | None,
        limit: int,
        offset: int = 0,
        origins: Sequence[str] | None = None,
    ) -> Rooms:
        """Return rooms of the principal, of all or one of its client's accounts, the newest first;
        only those all of whose turns have one of the `origins`, unless that is None."""
        ...

    async def rename(self, conversation: ConversationKey, name: str) -> bool:
        """Tell whether there is such a room."""
        ...

    async def delete(self, conversation: ConversationKey) -> bool:
        """Delete a room with its turns; whether there was one."""
        ...

    async def remove(self, conversation: ConversationKey, chat_id: str) -> bool:
        """Delete one turn, and the room with its last; whether there was one."""
        ...

    async def forget(self, principal: Principal, user_id: str | None) -> tuple[int, int]:
        """Delete all rooms of the principal, or of one account; how many rooms and turns went."""
        ...

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        """Return tokens that the room's turns of this search type took together."""
        ...

    async def take(self, conversation: ConversationKey, holder: str, over: Lease | None) -> Lease:
        """Take the room's lease if it is free or still `over`; whose it is now."""
        ...

    async def beat(self, conversation: ConversationKey, holder: str) -> None:
        """Show that the holder lives; nothing if it holds the room no more."""
        ...

    async def release(self, conversation: ConversationKey, holder: str) -> None:
        """Give the room back; nothing if another one holds it."""
        ...

    async def ready(self) -> None:
        """Raise StateUnavailable unless the store answers."""
        ...


async def read_turns(store: ConversationStore, conversation: ConversationKey) -> list[StoredTurn]:
    """Return all turns of a conversation, the oldest first; raises InvalidBlock for one that cannot
    be read."""
    found: list[StoredTurn] = []
    while page := await store.entries(conversation, IN_ONE_READ, len(found)):
        found += page
    return found[::-1]


class FeedbackStore(Protocol):
    """Feedback by tenant, user and answer. Methods raise StateUnavailable and StorageFull."""

    async def put(self, feedback: Feedback) -> None:
        """Keep it, instead of what the same user thought of the same answer before."""
        ...

    async def latest(self, tenant: str, limit: int) -> Sequence[Feedback]:
        """Return the newest first."""
        ...


class Traces(Protocol):
    """Traces of questions. Methods raise StateUnavailable and StorageFull."""

    async def keep(self, trace: QuestionTrace, days: int) -> None:
        """Keep one, and forget those older than `days`."""
        ...

    async def get(self, tenant: str, id: str) -> QuestionTrace | None: ...

    async def latest(
        self,
        tenant: str,
        limit: int,
        before: float | None = None,
        user: str | None = None,
        origins: Sequence[str] | None = None,
    ) -> Sequence[QuestionTrace]:
        """Return the newest first, of one user or all; older than `before` (seconds since 1970); of
        one of the `origins` unless that is None."""
        ...

    async def origins(self, tenant: str) -> list[str]:
        """Return the different origins of the tenant's traces."""
        ...

    async def stages(
        self, tenant: str, since: float, origins: Sequence[str] | None = None
    ) -> Sequence[StageUse]:
        """Tell how long each stage took for the traces that are kept, of one of the `origins`
        unless that is None, in the order of the recipe."""
        ...
