"""Where conversations and statistics are kept: the state store, or a MongoDB of the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from ragstone.core.errors import ConfigError
from ragstone.ports import ConversationStore, History
from ragstone.settings import Settings
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import Database
from ragstone.store.sql.history import SqlHistory


@asynccontextmanager
async def open_conversations(
    settings: Settings, database: Database
) -> AsyncIterator[tuple[ConversationStore, History]]:
    """Both as the settings say; raises ConfigError. A MongoDB need not run yet."""
    url = mongo_url(settings)
    if not url:
        yield SqlConversations(database), SqlHistory(database)
        return
    try:
        from ragstone.store.mongo.connection import Mongo
        from ragstone.store.mongo.conversations import MongoConversations
        from ragstone.store.mongo.history import MongoHistory
    except ImportError as error:
        raise ConfigError(
            "CONVERSATION__URL and DB__HOST need the MongoDB client: "
            "pip install 'ragstone[mongodb]'."
        ) from error
    mongo = Mongo(url)
    try:
        yield (
            MongoConversations(mongo, settings.conversation.database),
            MongoHistory(mongo, settings.statistic_db),
        )
    finally:
        await mongo.aclose()


def mongo_url(settings: Settings) -> str:
    """The address of the MongoDB, empty for none; raises ConfigError for that of another store."""
    url, db = settings.conversation.url.get_secret_value(), settings.db
    if url and not url.startswith(("mongodb://", "mongodb+srv://")):
        raise ConfigError(
            "CONVERSATION__URL must begin with mongodb://; leave it out for the state store."
        )
    if url or not db.host:
        return url
    host = f"[{db.host}]" if ":" in db.host else quote(db.host, safe="")
    return f"mongodb://{host}:{db.port}"
