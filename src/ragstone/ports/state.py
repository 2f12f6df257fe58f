"""The ports that keep what was set at run time, and that say when another process changed it."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.core.records import (
    ApiKey,
    Collection,
    SettingChange,
    SettingEdit,
    StoredSetting,
    TemplateVersion,
)
from ragstone.core.turn import Principal
from ragstone.ports.jobs import Job


class Marks(Protocol):
    """Numbers that are others after every change of what they stand for."""

    async def marks(self) -> Mapping[str, int]:
        """The mark of each thing that ever changed; raises StateUnavailable."""
        ...


class SettingsStore(Marks, Protocol):
    """Settings by scope, with a log. Methods raise StateUnavailable, `edit` StorageFull too."""

    async def list_stored(self) -> Sequence[StoredSetting]:
        """Everything that is set."""
        ...

    async def edit(self, edits: Sequence[SettingEdit], who: str) -> None:
        """Make all of these changes, or none; what changes nothing is not logged."""
        ...

    async def changes(self, limit: int, key: str = "", scope: str = "") -> Sequence[SettingChange]:
        """The latest changes, the newest first; of one key or scope if it is given."""
        ...


class Templates(Protocol):
    """Prompts by name, in versions, for all (tenant "") or for one tenant."""

    async def texts(self, tenant: str = "default") -> Mapping[str, str]:
        """What replaces the shipped prompts for a tenant: its own before those of all.

        It is in memory: nothing is read for it, and a store that fails does not change it.
        """
        ...

    async def put(self, name: str, text: str, tenant: str = "", who: str = "") -> int:
        """Keep a new version of a prompt and return its number; an empty text brings back what
        stands below it. Raises UnknownPrompt, InvalidPrompt, StateUnavailable, StorageFull."""
        ...

    async def versions(self, name: str, tenant: str = "") -> Sequence[TemplateVersion]:
        """Every version of a prompt, the newest first; raises StateUnavailable."""
        ...

    async def current(self) -> Sequence[TemplateVersion]:
        """The newest version of every prompt that was ever changed; raises StateUnavailable."""
        ...

    async def refresh(self) -> None:
        """Read anew what another process may have changed; raises StateUnavailable."""
        ...


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


Row = dict[str, Any]
"""A row of a table as JSON values."""

Rows = tuple[str, list[Row]]
"""Some rows of the table of this name; those of one table follow each other."""


class StateDump(Protocol):
    """The state store as rows, in an order in which they can be inserted.

    Methods raise StateUnavailable and StorageFull.
    """

    @property
    def schema(self) -> str:
        """The schema that `snapshot` has and `replace` leaves."""
        ...

    def snapshot(self) -> AbstractAsyncContextManager[AsyncIterator[Rows]]:
        """Everything as of one moment, but what was being written."""
        ...

    async def replace(
        self, schema: str, rows: Iterable[Rows], collections: Sequence[Collection]
    ) -> None:
        """Put `rows`, which are of this schema, in the place of everything, in one transaction.

        `collections` are those that there are afterwards, whose indexes are none of those that
        there were: these are unused then (`ports.Catalog`). Jobs that had not ended have failed,
        and documents without a version too. Raises ConfigError for a schema that is newer than this
        program's, InputError for rows that do not fit it.
        """
        ...

    async def flaws(self) -> list[str]:
        """What the store itself finds wrong with its file, a sentence each."""
        ...


class Erasure(Protocol):
    """What the state keeps of users. Methods raise StateUnavailable and StorageFull, and can be run
    again after any of them was cut off."""

    async def jobs(self, whose: Principal) -> Sequence[Job]:
        """The jobs of a user, with their parts."""
        ...

    async def delete(self, whose: Principal, user_id: str | None, jobs: Sequence[Job]) -> int:
        """Delete these jobs and every row of the user, or of one of its accounts, and what was made
        of documents that are gone; how many blocked questions were among them."""
        ...

    async def rewrite(self) -> None:
        """Leave nothing of deleted rows in the files. Takes long; nobody writes meanwhile."""
        ...
