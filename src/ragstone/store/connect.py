"""Which database keeps the state: a file in the data directory, or a server of a plugin."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ragstone.ports import ConversationStore, History
from ragstone.registry import Registry
from ragstone.settings import Settings, StateSettings
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import Backend, Database, open_backend
from ragstone.store.sql.history import SqlHistory
from ragstone.store.sql.sqlite import Sqlite


def open_state(settings: StateSettings, data: Path) -> AbstractAsyncContextManager[Database]:
    """Open the database of the settings; raises what `open_backend` raises."""
    return open_backend(backend(settings, data))


STATE_STORES: Registry[Backend] = Registry(
    "ragstone.state_stores", "database for STATE__URL", {}, makes=Backend
)
"""By the scheme of STATE__URL, made of that address."""


def backend(settings: StateSettings, data: Path) -> Backend:
    """The database of the settings, not opened yet; raises ConfigError for a wrong address."""
    if not settings.url:
        return Sqlite(data / "state.sqlite")
    return STATE_STORES.make(settings.url.partition(":")[0].lower(), settings.url)


@dataclass(frozen=True, slots=True)
class OpenConversations:
    """Both on one server, which need not run yet, and what closes the connections to it."""

    conversations: ConversationStore
    history: History
    aclose: Callable[[], Awaitable[None]]


CONVERSATION_STORES: Registry[OpenConversations] = Registry(
    "ragstone.conversation_stores", "store for CONVERSATION__URL", {}, makes=OpenConversations
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
    url = settings.conversation.url.get_secret_value()
    if url:
        CONVERSATION_STORES[url.partition(":")[0]]
    return url
