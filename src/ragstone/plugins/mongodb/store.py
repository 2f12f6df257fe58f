"""Both stores on one client."""

from ragstone.plugins.mongodb.connection import Mongo
from ragstone.plugins.mongodb.conversations import MongoConversations
from ragstone.plugins.mongodb.history import MongoHistory
from ragstone.settings import Settings
from ragstone.store.conversation_store import OpenConversations


def open_mongo(url: str, settings: Settings) -> OpenConversations:
    """Make both stores, without a look at the server. Raises ConfigError for a wrong address."""
    mongo = Mongo(url)
    return OpenConversations(
        MongoConversations(mongo, settings.conversation.database),
        MongoHistory(mongo, settings.statistic_db),
        mongo.aclose,
    )
