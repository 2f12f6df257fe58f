"""Conversations in this process."""

from ragstone.conversation import Place
from ragstone.ports import Kit
from ragstone.turn import SearchType


class LocalConversations:
    """`service.ConversationService` on adapters of this process."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def tokens(self, place: Place, search_type: SearchType) -> int:
        return 0
