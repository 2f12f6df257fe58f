"""Where conversations and statistics are kept: the state store, or a server of the settings."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

from ragstone.core.errors import ConfigError
from ragstone.ports import ConversationStore, History
from ragstone.registry import Registry
from ragstone.settings import Settings
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import Database
from ragstone.store.sql.history import SqlHistory


@dataclass(frozen=True, slots=True)
class OpenConversations:
    """Both on one server, which need not run yet, and what closes the connections to it."""

    conversations: ConversationStore
    history: History
    aclose: Callable[[], Awaitable[None]]


CONVERSATION_STORES: Registry[OpenConversations] = Registry(
    "ragstone.conversation_stores", "conversation store", {}, makes=OpenConversations
)
"""By the scheme of CONVERSATION__URL, made of that address and the settings."""


@asynccontextmanager
async def open_conversations(
    settings: Settings, database: Database
) -> AsyncIterator[tuple[ConversationStore, History]]:
    """Open both as the settings say. Raises ConfigError."""
    url = conversation_url(settings)
    if not url:
        yield SqlConversations(database), SqlHistory(database)
        return
    opened = CONVERSATION_STORES.make(url.partition(":")[0], url, settings)
    try:
        yield opened.conversations, opened.history
    finally:
        await opened.aclose()


def conversation_url(settings: Settings) -> str:
    """The address of the server, empty for none. Raises ConfigError for one that no store has."""
    url, db = settings.conversation.url.get_secret_value(), settings.db
    if not url and db.host:
        host = f"[{db.host}]" if ":" in db.host else quote(db.host, safe="")
        url = f"mongodb://{host}:{db.port}"
    if url and url.partition(":")[0] not in CONVERSATION_STORES:
        raise ConfigError(
            "Not an address of a conversation store (CONVERSATION__URL, or DB__HOST): begin it "
            f"with {' or '.join(f'{name}://' for name in CONVERSATION_STORES)}, or leave it out "
            "for the state store."
        )
    return url
