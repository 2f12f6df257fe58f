"""What can be asked about conversations."""

from typing import Annotated, Literal, Protocol

from ragstone.core.conversation import ConversationKey, Forgotten, Rooms, StoredTurn
from ragstone.core.turn import Principal, SearchType
from ragstone.service.routes import Count, Offset, require_role, text

Format = Literal["json", "markdown", "docx"]
ChatId = Annotated[str, text(255)]


class ConversationService(Protocol):
    """The rooms of a principal. Methods that name a room raise InvalidRoom, and UnknownRoom if the
    principal has none of this name; all raise StateUnavailable."""

    @require_role("reader")
    async def rooms(
        self,
        principal: Principal,
        user_id: str | None = None,
        limit: Count = 50,
        offset: Offset = 0,
    ) -> Rooms:
        """The newest first; of one of the client's accounts if `user_id` says so."""
        ...

    @require_role("reader")
    async def entries(
        self, conversation: ConversationKey, limit: Count = 50, offset: Offset = 0
    ) -> list[StoredTurn]:
        """Turns, the newest first; raises InvalidBlock for one that is damaged."""
        ...

    @require_role("reader")
    async def rename(self, conversation: ConversationKey, name: str) -> str:
        """Give the room a title; it, as it is kept."""
        ...

    @require_role("reader", everywhere=True)
    async def export(self, conversation: ConversationKey, form: Format) -> str:
        """The whole conversation as text; a Word file in base64."""
        ...

    @require_role("reader")
    async def take_in(self, principal: Principal, text: str) -> int:
        """Add turns from JSON, a list of blocks or an export, to the rooms that they name; how
        many. Raises InvalidBlock, and then none is added."""
        ...

    @require_role("reader")
    async def delete(self, conversation: ConversationKey) -> None:
        """Delete the room with all its turns."""
        ...

    @require_role("reader")
    async def remove(self, conversation: ConversationKey, chat_id: ChatId) -> bool:
        """Delete one turn of the room by its id, and the room with its last; whether there was
        one."""
        ...

    @require_role("reader")
    async def forget(self, principal: Principal, user_id: str | None = None) -> Forgotten:
        """Erase a principal, or one of its accounts: conversations, statistics, jobs, and the
        cache, which does not know who asked; of a principal also its keys, and documents that
        nobody else may read. No byte of them is left in files. Run it again if it was cut off."""
        ...

    @require_role("reader")
    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        """Tokens that the room's turns of this search type took; 0 for an unknown room."""
        ...
