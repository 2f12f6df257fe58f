"""Both stores on one client."""

from urllib.parse import unquote, urlsplit

from ragstone.plugins.mongodb.connection import Mongo
from ragstone.plugins.mongodb.conversations import MongoConversations
from ragstone.plugins.mongodb.history import MongoHistory
from ragstone.settings import Settings
from ragstone.store.connect import OpenConversations

DATABASE = "ragstone"
"""Where conversations are unless the address says."""


def _database(url: str) -> str:
    """The database that an address names; admin is where users are known, not where data goes."""
    name = unquote(urlsplit(url).path.strip("/"))
    return DATABASE if name in ("", "admin") else name


def open_mongo(url: str, settings: Settings) -> OpenConversations:
    """Make both stores, without a look at the server. Raises ConfigError for a wrong address."""
    mongo = Mongo(url)
    return OpenConversations(
        MongoConversations(mongo, _database(url)),
        MongoHistory(mongo, settings.statistic_db),
        mongo.aclose,
    )
