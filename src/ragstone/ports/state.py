"""The ports that keep what was set at run time, and that say when another process changed it.

Directories of people: who knows passwords that are not kept here.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ragstone.core.records import (
    ApiKey,
    Collection,
    Person,
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
        """Return the mark of each thing that ever changed; raises StateUnavailable."""
        ...


class SettingsStore(Marks, Protocol):
    """Settings by scope, with a log. Methods raise StateUnavailable, `edit` StorageFull too."""

    async def list_stored(self) -> Sequence[StoredSetting]:
        """Return everything that is set."""
        ...

    async def edit(self, edits: Sequence[SettingEdit], who: str) -> None:
        """Make all of these changes, or none; what changes nothing is not logged."""
        ...

    async def changes(self, limit: int, key: str = "", scope: str = "") -> Sequence[SettingChange]:
        """Return the latest changes, the newest first; of one key or scope if it is given."""
        ...


class Templates(Protocol):
    """Prompts by name, in versions, for all (tenant "") or for one tenant."""

    async def texts(self, tenant: str = "default") -> Mapping[str, str]:
        """Return what replaces the shipped prompts for a tenant: its own before those of all.

        It is in memory: nothing is read for it, and a store that fails does not change it.
        """
        ...

    async def put(self, name: str, text: str, tenant: str = "", who: str = "") -> int:
        """Keep a new version of a prompt and return its number; an empty text brings back what
        stands below it. Raises UnknownPrompt, InvalidPrompt, StateUnavailable, StorageFull."""
        ...

    async def versions(self, name: str, tenant: str = "") -> Sequence[TemplateVersion]:
        """Return every version of a prompt, the newest first; raises StateUnavailable."""
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
        """Return the keys of a tenant, or of all, by the time they were made."""
        ...

    async def touch(self, id: str, at: float) -> None:
        """Note the time of the last use."""
        ...

    async def any(self) -> bool:
        """Tell whether there is a key at all."""
        ...

    async def end_session(self, name: str, until: float, now: float) -> None:
        """Keep that a session ended, until a time; what was kept until `now` is forgotten."""
        ...

    async def has_ended(self, name: str) -> bool:
        """Tell whether a session was ended."""
        ...


@dataclass(frozen=True, slots=True)
class StoredPerson:
    """An account with what shows its owner: `password` is a hash, empty until an invitation was
    accepted; `totp` the secret of the second factor, empty without, whose codes count after the
    time step `totp_step`; `recovery` the digests of codes that stand in for it, each once;
    `profile` what a directory told of its owner."""

    person: Person
    password: str = ""
    totp: str = ""
    totp_step: int = 0
    recovery: tuple[str, ...] = ()
    profile: Mapping[str, Any] = field(default_factory=dict)


TokenKind = Literal["session", "invitation", "device"]
"""A device is a browser in which somebody has signed in before."""


@dataclass(frozen=True, slots=True)
class PersonToken:
    """What a browser shows for an account, by the digest of its secret."""

    digest: str
    kind: TokenKind
    tenant: str
    user: str
    begun_at: float
    ends_at: float
    used_at: float
    agent: str = ""


class PeopleStore(Protocol):
    """Accounts by tenant and name, with their tokens. Methods raise StateUnavailable, and those
    that write StorageFull."""

    async def add(self, stored: StoredPerson) -> bool:
        """Keep a new account, unless the tenant has one of the name; whether it is new."""
        ...

    async def find(self, tenant: str, name: str) -> StoredPerson | None:
        """Return the account of this name."""
        ...

    async def list_all(self, tenant: str) -> Sequence[StoredPerson]:
        """Return the accounts of a tenant by name."""
        ...

    async def any(self) -> bool:
        """Tell whether there is an account."""
        ...

    async def is_used(self, tenant: str, name: str) -> bool:
        """Tell whether keys or anything that was done here are of a user of this name."""
        ...

    async def edit(
        self,
        tenant: str,
        name: str,
        change: Callable[[StoredPerson], StoredPerson | None],
        *,
        takes: str = "",
        ends: Sequence[TokenKind] = (),
    ) -> StoredPerson | None:
        """Replace an account by what `change` makes of it, and end its tokens of the kinds `ends`,
        in one transaction. None, and nothing changes, where it is gone, `change` returns None, or
        there is no token of the digest `takes`."""
        ...

    async def remove(self, tenant: str, name: str) -> bool:
        """Forget an account with its tokens; whether there was one."""
        ...

    async def add_token(self, token: PersonToken, password: str) -> bool:
        """Keep a token of an account that has this `password` still, and forget those that have
        ended when it begins; whether it is kept."""
        ...

    async def find_token(
        self, digest: str, kind: TokenKind, now: float
    ) -> tuple[PersonToken, StoredPerson] | None:
        """Return a token that has not ended, with its account."""
        ...

    async def tokens(self, tenant: str, name: str, now: float) -> Sequence[PersonToken]:
        """Return the tokens of an account that have not ended, the newest first."""
        ...

    async def touch(self, digest: str, at: float) -> None:
        """Note the time of the last use of a token."""
        ...

    async def end_tokens(
        self, tenant: str, name: str, kinds: Sequence[TokenKind], digest: str = ""
    ) -> int:
        """End tokens of an account, all or those whose digest begins so; how many."""
        ...

    async def begin_try(
        self, counters: Mapping[str, int], pause: Callable[[int], float], now: float
    ) -> float:
        """Count a try of a password for each of the `counters`, which have so many tries free;
        after `n` more the next one has to wait `pause(n)` seconds. Returns 0, or how long it is to
        wait still, and then nothing is counted."""
        ...

    async def forgive(self, forgets: str, counter: str) -> None:
        """Forget the tries of one counter, and the last of another, after the right password."""
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
        """Return everything as of one moment, but what was being written."""
        ...

    async def replace(
        self, schema: str, rows: Iterable[Rows], collections: Sequence[Collection]
    ) -> Sequence[str]:
        """Put `rows`, which are of this schema, in the place of everything, in one transaction.

        `collections` are those that there are afterwards, whose indexes are none of those that
        there were: these are unused then (`ports.Catalog`). Jobs that had not ended have failed,
        and documents without a version too. Accounts stay as they are where `rows` are of this
        state; returned are the names of those in `rows` that were removed since. Raises ConfigError
        for a schema that is newer than this program's, InputError for rows that do not fit it.
        """
        ...

    async def flaws(self) -> list[str]:
        """Return what the store itself finds wrong with its file, a sentence each."""
        ...


class Erasure(Protocol):
    """What the state keeps of users. Methods raise StateUnavailable and StorageFull, and can be run
    again after any of them was cut off."""

    async def jobs(self, whose: Principal) -> Sequence[Job]:
        """Return the jobs of a user, with their parts."""
        ...

    async def delete(self, whose: Principal, user_id: str | None, jobs: Sequence[Job]) -> int:
        """Delete these jobs and every row of the user, or of one of its accounts, and what was made
        of documents that are gone; how many blocked questions were among them."""
        ...

    async def rewrite(self) -> None:
        """Leave nothing of deleted rows in the files. Takes long; nobody writes meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """Somebody in a directory: what others see, and the groups here that this makes."""

    display: str
    groups: tuple[str, ...]


class Directory(Protocol):
    """Methods raise Unavailable while it does not answer. Names are as accounts have them."""

    async def check(self, name: str, password: str) -> DirectoryEntry | None:
        """Tell whose name and password these are; None for nobody, and for who may not sign in."""
        ...

    async def find(self, name: str) -> DirectoryEntry | None:
        """Return the entry of this name, None for nobody, and for who may not sign in any more."""
        ...
