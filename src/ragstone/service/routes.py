"""Where the HTTP API has an operation, as its Protocol declares it.

How large the numbers may be that the operations take from another process: what the stores can
hold, and what one answer can carry.

Who may call an operation of the contract from another process, as its Protocol declares it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from ragstone.core.caller import Role

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "ragstone_route"

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Answer = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """The address of an operation below `/api/v1`, and what it answers.

    A part of `path` in braces is an argument; the others are in the query of a GET or DELETE, and
    else in the body. `fields` annotate arguments further, by pydantic: other names and defaults,
    closer limits and descriptions than the method has. `role` is the least one that may ask, where
    the route is open to more than the operation itself; `keyed` asks besides for a credential,
    which the local user has not.
    """

    method: Method
    path: str
    answer: Answer
    """The key under which the result stands, or an object in which a text is the name of an
    argument; empty for the result itself."""
    role: Role | None
    keyed: bool
    fields: Mapping[str, tuple[Any, ...]]


def route(
    method: Method,
    path: str,
    answer: Answer = "",
    /,
    *,
    role: Role | None = None,
    keyed: bool = False,
    **fields: Any,
) -> Callable[[F], F]:
    """Gives an operation an address in the HTTP API; `HttpRoute` describes the parameters."""

    changes = {
        name: field if isinstance(field, tuple) else (field,) for name, field in fields.items()
    }

    def mark(operation: F) -> F:
        setattr(operation, _MARK, HttpRoute(method, path, answer, role, keyed, changes))
        return operation

    return mark


def find_route(operation: Callable[..., Any]) -> HttpRoute | None:
    """The route of an operation, None if it has none."""
    found = getattr(operation, _MARK, None)
    return found if isinstance(found, HttpRoute) else None


@dataclass(frozen=True, slots=True)
class Length:
    """How many characters a text has; half characters are allowed, as file names may have them,
    which pydantic's own limits do not take."""

    longest: int
    shortest: int

    def check(self, given: str) -> str:
        if not self.shortest <= len(given) <= self.longest:
            raise ValueError(f"it must have {self.shortest:,} to {self.longest:,} characters")
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        limits = {"maxLength": self.longest} | (
            {"minLength": self.shortest} if self.shortest else {}
        )
        return {**handler(schema), **limits}


def text(longest: int, shortest: int = 0) -> Any:
    """The type of a text of so many characters."""
    return Length(longest, shortest)


Count = Annotated[int, Field(ge=0, le=100_000)]
Offset = Annotated[int, Field(ge=0, le=2**53)]
Days = Annotated[int, Field(ge=1, le=3650)]
Version = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Field(ge=0, le=1e10)]


_ALLOWED = "ragstone_allowed"


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
        setattr(method, _ALLOWED, Allowed(role, everywhere, guests))
        return method

    return mark


def find_declaration(method: Callable[..., Any]) -> Allowed | None:
    """The declaration of a method."""
    found = getattr(method, _ALLOWED, None)
    return found if isinstance(found, Allowed) else None
