"""Where the HTTP API has an operation, as its Protocol declares it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

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
