"""Sharing conversations, and keeping answers as notes.

The data of shared conversations and of notes. Times are seconds since 1970.
"""

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.conversation import StoredTurn
from ragstone.core.turn import Principal
from ragstone.service.added import AddedService
from ragstone.service.routes import Offset, require_role, route, text


@dataclass(frozen=True, slots=True)
class Share:
    """A conversation that its user shows to others: the turns that ended until `until`. Who knows
    the `id` can ask for it."""

    id: str
    user: str
    room: str
    user_id: str
    until: float


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a reader sees of it: `turns` from the oldest on. The `withheld` ones behind them stand
    on what this reader may not read; the title is empty where any is withheld, as it may name
    that."""

    user: str
    title: str
    until: float
    turns: tuple[StoredTurn, ...]
    withheld: int


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer as it was when it was kept, with its question and evidence, and what its user
    writes about it."""

    id: str
    comment: str
    at: float
    turn: StoredTurn


Id = Annotated[str, text(64, 1)]
Name = Annotated[str, text(255)]
Comment = Annotated[str, text(5_000)]
Most = Annotated[int, Field(ge=1, le=500)]


class ShareService(Protocol):
    """Conversations that their users show to others. All raise StateUnavailable, and Unauthorized
    for who has no credential."""

    @require_role("reader")
    @route("POST", "/shares", room=Field(description="Which conversation, by its room."))
    async def put(self, principal: Principal, room: Name, user_id: Name = "") -> Share:
        """Share a conversation of one's own as it is now; one that is shared already keeps its id.
        Raises UnknownRoom and InvalidRoom."""
        ...

    @require_role("reader")
    @route("GET", "/shares", "shares")
    async def list_all(self, principal: Principal) -> list[Share]:
        """What one shares oneself."""
        ...

    @require_role("reader")
    @route("GET", "/shares/{id}")
    async def read(self, principal: Principal, id: Id) -> SharedConversation:
        """A shared conversation as far as its reader may read what it was answered from, now: up to
        the first turn that stands on anything else, as later ones may build on that. Raises
        UnknownShare, also once the conversation is deleted."""
        ...

    @require_role("reader")
    @route("DELETE", "/shares/{id}", {"removed": "id"})
    async def remove(self, principal: Principal, id: Id) -> None:
        """End sharing a conversation of one's own. Raises UnknownShare."""
        ...


class NoteService(Protocol):
    """Answers that users keep, each for itself. All raise StateUnavailable, and Unauthorized for
    who has no credential."""

    @require_role("reader")
    @route("POST", "/notes", answer=Field(description="The id of the answer in the conversation."))
    async def put(
        self,
        principal: Principal,
        room: Name,
        answer: Id,
        comment: Comment = "",
        user_id: Name = "",
    ) -> KeptAnswer:
        """Keep an answer of a conversation of one's own, with its question and evidence. Raises
        UnknownRoom, InvalidRoom, UnknownNote for an answer that is not there, and InputError where
        there are too many notes."""
        ...

    @require_role("reader")
    @route("GET", "/notes", "notes")
    async def list_all(
        self, principal: Principal, limit: Most = 100, offset: Offset = 0
    ) -> list[KeptAnswer]:
        """One's notes, the newest first: those whose documents one may read now."""
        ...

    @require_role("reader")
    @route("PATCH", "/notes/{id}", {"id": "id"})
    async def change(self, principal: Principal, id: Id, comment: Comment) -> None:
        """Write something else about a kept answer. Raises UnknownNote."""
        ...

    @require_role("reader")
    @route("DELETE", "/notes/{id}", {"removed": "id"})
    async def remove(self, principal: Principal, id: Id) -> None:
        """Remove a note. Raises UnknownNote."""
        ...


SHARES: AddedService[ShareService] = AddedService(
    "shares", ShareService, "ragstone.plugins.sharing.service:open_shares"
)
NOTES: AddedService[NoteService] = AddedService(
    "notes", NoteService, "ragstone.plugins.sharing.service:open_notes"
)
