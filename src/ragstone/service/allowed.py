"""Who may call an operation of the contract from another process, as its Protocol declares it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ragstone.core.caller import Role

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "ragstone_allowed"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The least role that may call an operation. `everywhere` asks besides for a credential that
    is not limited to some collections. `guests` lets callers without the local user's token call
    it too, where no credentials are set."""

    role: Role
    everywhere: bool = False
    guests: bool = False


def require_role(role: Role, everywhere: bool = False, guests: bool = False) -> Callable[[F], F]:
    """Lets credentials of this role and of every greater one call an operation, each within its own
    tenant, user and collections. Without it, only the operator may."""

    def mark(method: F) -> F:
        setattr(method, _MARK, Allowed(role, everywhere, guests))
        return method

    return mark


def find_declaration(method: Callable[..., Any]) -> Allowed | None:
    """The declaration of a method."""
    found = getattr(method, _MARK, None)
    return found if isinstance(found, Allowed) else None
