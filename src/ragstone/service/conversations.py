"""What can be asked about conversations."""

from typing import Protocol

from ragstone.conversation import Place
from ragstone.turn import SearchType


class ConversationService(Protocol):
    """The rooms of a principal."""

    async def tokens(self, place: Place, search_type: SearchType) -> int:
        """Tokens that the room's turns of this search type took; 0 for an unknown room."""
        ...
