"""Who sends a request, and what the credential allows."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from ragstone.core.turn import Principal

Role = Literal["reader", "editor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most: a reader asks, an editor also changes documents, an admin also
settings, prompts, topics, keys and what others asked."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What a credential says.

    `collections` are all that it may touch, None for every one of the tenant's. `key` names the
    credential in limits and statistics, empty for who has shown none. `operator` is who can read
    the data directory, and may name any tenant. `only_asks` is a visitor of a site on which a
    widget stands: it has the widget's address alone.
    """

    principal: Principal = Principal()
    role: Role = "admin"
    collections: tuple[str, ...] | None = None
    key: str = ""
    operator: bool = False
    only_asks: bool = False

    def __post_init__(self) -> None:
        # The principal goes further than the caller: into jobs and to what is remembered.
        reached = replace(self.principal, collections=self.collections)
        object.__setattr__(self, "principal", reached)

    def may(self, role: Role) -> bool:
        """Tell whether the credential has at least this role."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def local(self) -> bool:
        """Whether this is the user of this machine, where no credentials are set."""
        return self in (LOCAL, LOCAL_USER)

    def reaches(self, collection: str) -> bool:
        """Tell whether the credential may touch this collection at all."""
        return self.collections is None or collection in self.collections


LOCAL = Caller()
"""Whoever is on this machine, where no credentials are set and no token is asked for."""

LOCAL_USER = Caller(key="local")
"""Who has shown the token of the data directory, where no credentials are set."""

GUEST = Caller(Principal(user="guest"), "reader")
"""Who has not shown that token: another user or program of this machine, for all that is known.
Asks, and reads what is for everyone and what guests asked."""

OPERATOR = Caller(key="operator", operator=True)
"""Who can read the data directory, by the token in it."""

ANONYMOUS = Caller(Principal(user=""), "reader", key="anonymous")
"""Who has no credential, where none is required: reads what is for everyone, and nothing is kept in
its name."""

SCHEDULE = "schedule"
"""The user by whom runs of sources begin that are due."""

OF_A_KEY = "key:"
"""How the user of a key begins that names none; nobody else is called so."""

NOBODY = Caller(Principal("", "", ()), "reader", ())
"""Who asks for what is open to everyone, without a credential."""
