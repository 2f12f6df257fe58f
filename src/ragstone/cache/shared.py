"""What several servers keep together on the server of CACHE__URL."""

from typing import TYPE_CHECKING, Protocol

from ragstone.ports import Cache
from ragstone.registry import Registry
from ragstone.settings import CacheSettings

if TYPE_CHECKING:
    from ragstone.access.rates import Rates
    from ragstone.store.sql.settings import SharedTexts


class SharedCache(Cache, Protocol):
    """A cache that says at once if its server does not answer."""

    async def open(self) -> None: ...


class SharedServer(Protocol):
    """What is kept there; each has connections of its own, which its user closes."""

    def cache(self, max_entries: int) -> SharedCache: ...

    def rates(self) -> "Rates": ...

    def texts(self) -> "SharedTexts": ...


SHARED_SERVERS: Registry[SharedServer] = Registry(
    "ragstone.shared_servers", "server for CACHE__URL", {}, makes=SharedServer
)
"""By the scheme of CACHE__URL, made of that address."""


def make_shared_server(settings: CacheSettings) -> SharedServer:
    """Make the server of the settings. Raises ConfigError."""
    scheme = settings.url.partition(":")[0].lower()
    return SHARED_SERVERS.make(scheme, settings.url)
