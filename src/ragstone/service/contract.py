"""Every operation of `Service` and its parts, as the Protocols declare them: what carries a call
between a command and a server, and what compares the two, asks here.
"""

import hashlib
import inspect
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from ragstone.core.errors import InputError
from ragstone.service import Service, wire
from ragstone.service.added import added_services
from ragstone.service.routes import Allowed, HttpRoute, find_declaration, find_route

LIFECYCLE = frozenset({"aclose"})
"""Methods that concern the object itself, and are never carried to another process."""

_HALVES = re.compile(r"[\ud800-\udfff]")
FILE_NAMES = frozenset({"earlier", "file", "path", "paths", "since", "source"})
"""Arguments and fields that hold names of files, which need not be text."""


@dataclass(frozen=True)
class Operation:
    """One method of the contract. `name` is dotted, as in "jobs.watch"; `types` are those of the
    parameters; `result` is the type of what comes back or, if it `streams`, of each item; `allowed`
    is None where only the operator may call it, `route` where the HTTP API has no address for
    it."""

    name: str
    signature: inspect.Signature
    types: Mapping[str, Any]
    result: Any
    streams: bool
    allowed: Allowed | None
    doc: str
    route: HttpRoute | None

    def of(self, service: Service) -> Callable[..., Any]:
        """The method of a service that does this."""
        return cast(Callable[..., Any], attrgetter(self.name)(service))

    def dump(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name as JSON values."""
        return {name: wire.dump(value, self.types[name]) for name, value in arguments.items()}

    def load(self, data: Any) -> dict[str, Any]:
        """The inverse; raises InputError for what is missing, unknown, or of another type."""
        if not isinstance(data, dict):
            raise InputError(f"The arguments of {self.name} must be a JSON object.")
        for name in data:
            if name not in self.types:
                raise InputError(f"{self.name} has no argument {str(name)[:100]!r}. Leave it out.")
        for name, parameter in self.signature.parameters.items():
            if parameter.default is parameter.empty and name not in data:
                raise InputError(f"{self.name} needs the argument {name!r}.")
        return {name: self._load_argument(name, value) for name, value in data.items()}

    def _load_argument(self, name: str, data: Any) -> Any:
        if not _is_text(data, name in FILE_NAMES):
            raise InputError(
                f"The argument {name!r} of {self.name} holds characters that are no text."
            )
        try:
            return wire.load(self.types[name], data, exact=True)
        except InputError as error:
            raise InputError(f"The argument {name!r} of {self.name}: {error.message}") from error

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the parameters or results do, down to the fields of their types."""
        described = [
            self.name,
            str(self.streams),
            *(f"{name}: {_describe_type(kind, set())}" for name, kind in self.types.items()),
            _describe_type(self.result, set()),
        ]
        return hashlib.sha256("\n".join(described).encode()).hexdigest()[:16]


@cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name, those that plugins and packages add too."""
    found = core_operations()
    for name in added_services():
        found |= added_operations(name)
    return found


def core_operations() -> dict[str, Operation]:
    """The operations of `Service` and its parts, by name."""
    return {operation.name: operation for operation in _operations(Service, "")}


def added_operations(part: str) -> dict[str, Operation]:
    """The operations of a part that a plugin or package adds, by name; none for an unknown one."""
    added = added_services().get(part)
    return (
        {}
        if added is None
        else {operation.name: operation for operation in _operations(added.contract, f"{part}.")}
    )


def _operations(protocol: type, prefix: str) -> Iterator[Operation]:
    for name, member in vars(protocol).items():
        if name.startswith("_") or name in LIFECYCLE:
            continue
        if isinstance(member, property):
            part = get_type_hints(member.fget)["return"]
            yield from _operations(part, f"{prefix}{name}.")
        elif inspect.isfunction(member):
            yield _operation(f"{prefix}{name}", member)


def _operation(name: str, method: Callable[..., Any]) -> Operation:
    types = get_type_hints(method, include_extras=True)
    result = types.pop("return")
    streams = get_origin(result) is AsyncGenerator
    signature = inspect.signature(method)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    return Operation(
        name,
        signature.replace(parameters=own),
        types,
        get_args(result)[0] if streams else result,
        streams,
        find_declaration(method),
        inspect.getdoc(method) or "",
        find_route(method),
    )


def _is_text(data: Any, file: bool) -> bool:
    """Whether every text in JSON values can be kept: none has a NUL character and, but for the
    names of files, none has half a character."""
    if isinstance(data, str):
        return "\0" not in data and (file or not _HALVES.search(data))
    if isinstance(data, dict):
        return all(
            _is_text(name, False) and _is_text(value, name in FILE_NAMES)
            for name, value in data.items()
        )
    return not isinstance(data, list) or all(_is_text(item, file) for item in data)


def _describe_type(kind: Any, inside: set[type]) -> str:
    """A description of a type with its fields and arguments."""
    if isinstance(kind, type) and is_dataclass(kind):
        if kind in inside:
            return kind.__name__
        inside.add(kind)
        hints = get_type_hints(kind, localns=dict(wire.NAMES), include_extras=True)
        inner = [
            f"{field.name}: {_describe_type(hints[field.name], inside)}" for field in fields(kind)
        ]
        return f"{kind.__name__}({', '.join(inner)})"
    origin, parts = get_origin(kind), get_args(kind)
    if origin is None:
        return getattr(kind, "__name__", repr(kind))
    if origin is Annotated:
        return _describe_type(parts[0], inside)
    if origin is Literal:
        return repr(parts)
    name = "Union" if origin is UnionType else origin.__name__
    return f"{name}[{', '.join(_describe_type(part, inside) for part in parts)}]"
