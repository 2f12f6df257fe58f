"""API keys: what can be done with them, in this process or through the server that has the data."""

from dataclasses import dataclass
from typing import Protocol

from ragstone.core.caller import Role
from ragstone.core.records import ApiKey
from ragstone.service.routes import Seconds

GRACE_SECONDS = 24 * 3600.0
"""How long the old secret of a rotated key still holds, unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class KeyGrant:
    """The rights of a new key. Without a `user` the key has an identity of its own. `collections`
    None reaches every one of the tenant's, `seconds` None never ends. With `sites`, the origins of
    web pages, it is the key of a widget: whoever opens such a page asks with it, and can do nothing
    else. Such a key is a reader's."""

    name: str
    tenant: str = "default"
    user: str = ""
    groups: tuple[str, ...] = ()
    collections: tuple[str, ...] | None = None
    role: Role = "reader"
    seconds: float | None = None
    sites: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key with its secret, which nobody can read again."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True)
class WidgetSession:
    """A credential that holds until `ends_at`, in seconds since 1970."""

    secret: str
    ends_at: float


class KeyService(Protocol):
    """The keys of all tenants. `tenant` None means any; a key of another one is unknown."""

    async def create(self, grant: KeyGrant) -> IssuedKey:
        """A new key; raises InputError for a grant that makes no sense."""
        ...

    async def list_all(self, tenant: str | None) -> list[ApiKey]:
        """The keys by the time they were made, revoked ones too."""
        ...

    async def rotate(
        self, tenant: str | None, id: str, grace: Seconds = GRACE_SECONDS
    ) -> IssuedKey:
        """A new secret for a key; the old one holds for `grace` more seconds. Raises UnknownKey."""
        ...

    async def revoke(self, tenant: str | None, id: str) -> ApiKey:
        """End a key, in every server within two seconds. Raises UnknownKey."""
        ...

    async def whose(self, secret: str) -> ApiKey:
        """The key that this is the secret or a session of; raises Unauthorized unless it holds
        now."""
        ...

    async def widget(self, id: str) -> ApiKey:
        """The key of a widget, which holds now. Raises UnknownKey."""
        ...

    async def session(self, id: str) -> WidgetSession:
        """What a page of a widget asks with for a while. Raises UnknownKey."""
        ...

    async def exist(self) -> bool:
        """Whether a key was ever made, so that requests need one."""
        ...

    async def require_credentials(self) -> None:
        """From now on let nobody in without a credential, as with the first key."""
        ...

    async def end_session(self, name: str, until: float) -> None:
        """End a session before its time, which is `until`, in every server within a second."""
        ...

    async def has_ended(self, name: str) -> bool:
        """Whether a session was ended."""
        ...
