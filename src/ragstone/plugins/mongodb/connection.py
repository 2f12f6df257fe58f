"""The connection to MongoDB, and the errors it raises.

Only operations that were tested are used: find with equality, `$in`, `$gt`, sort, skip and limit;
insert_one; update with `$set`, `$inc` and `$pull`; delete; `$match`, `$group`, `$sort`; compound
indexes. No `$setOnInsert`, no upsert of a dotted field and no positional update: the server of the
tests does these otherwise than MongoDB.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.errors import ConfigurationError, ConnectionFailure, InvalidURI, PyMongoError

from ragstone.core.errors import ConfigError, StateUnavailable
from ragstone.language.unicode import replace_unstorable

log = logging.getLogger(__name__)

Document = dict[str, Any]

SECONDS = 5.0
"""How long the server may take to answer."""

CONNECT_SECONDS = 2.0
PAUSE = 2.0
"""Seconds in which a server that did not answer is not asked again, so that a question does not
wait for it at every step."""

_LARGEST = 2**63


class Mongo:
    """One client for the process. Databases are made by the first document in them."""

    def __init__(self, url: str, pause: float = PAUSE) -> None:
        try:
            self.client: AsyncMongoClient[Document] = AsyncMongoClient(
                url,
                serverSelectionTimeoutMS=int(CONNECT_SECONDS * 1000),
                connectTimeoutMS=int(CONNECT_SECONDS * 1000),
                socketTimeoutMS=int(SECONDS * 1000),
                tz_aware=True,
            )
        except (InvalidURI, ConfigurationError, ValueError) as error:
            raise ConfigError(f"This is not an address of a MongoDB: {error}.") from error
        self._pause = pause
        self._asleep = 0.0

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise the driver's errors as StateUnavailable."""
        if time.monotonic() < self._asleep:
            raise _unavailable("it did not answer a moment ago", self._pause)
        try:
            yield
        except ConnectionFailure as error:
            self._asleep = time.monotonic() + self._pause
            log.warning("MongoDB does not answer: %s", str(error)[:200])
            raise _unavailable(type(error).__name__, self._pause) from error
        except PyMongoError as error:
            log.warning("MongoDB refused a request: %s", str(error)[:200])
            raise StateUnavailable(
                f"MongoDB refused the request ({type(error).__name__}). The log says why."
            ) from error
        self._asleep = 0.0

    async def ready(self) -> None:
        """Raise StateUnavailable unless the server answers."""
        with self.translate_errors():
            await self.client.admin.command("ping")

    async def aclose(self) -> None:
        await self.client.close()


def _unavailable(why: str, pause: float) -> StateUnavailable:
    return StateUnavailable(
        f"MongoDB does not answer ({why}). Try again, or look whether it runs.", pause
    )


def make_storable(value: Any) -> Any:
    """JSON values as BSON can hold them: whole characters, no NUL in keys, numbers of 64 bits."""
    match value:
        case str():
            return replace_unstorable(value)
        case Mapping():
            return {
                replace_unstorable(str(key)): make_storable(item) for key, item in value.items()
            }
        case list() | tuple():
            return [make_storable(item) for item in value]
        case int() if not -_LARGEST <= value < _LARGEST:
            return float(value) if abs(value) < 2**1000 else str(value)
    return value
