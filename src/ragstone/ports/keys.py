"""Where API keys are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.records import ApiKey


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key with the digest of its secret; that of the secret before holds until `old_until`."""

    key: ApiKey
    digest: str
    old_digest: str = ""
    old_until: float = 0.0


class KeyStore(Protocol):
    """Keys by id, and sessions that ended before their time.

    Methods raise StateUnavailable and StorageFull.
    """

    async def put(self, stored: StoredKey) -> None:
        """Keep a key, or a new version of it, all but the time of its last use."""
        ...

    async def find(self, id: str) -> StoredKey | None: ...

    async def list_all(self, tenant: str | None) -> Sequence[ApiKey]:
        """The keys of a tenant, or of all, by the time they were made."""
        ...

    async def touch(self, id: str, at: float) -> None:
        """Note the time of the last use."""
        ...

    async def any(self) -> bool:
        """Whether there is a key at all."""
        ...

    async def end_session(self, name: str, until: float, now: float) -> None:
        """Keep that a session ended, until a time; what was kept until `now` is forgotten."""
        ...

    async def has_ended(self, name: str) -> bool:
        """Whether a session was ended."""
        ...
