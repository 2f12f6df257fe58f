"""A value for any type of the contract, with every field filled, and a service that answers with
such values."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import RagstoneError, StateUnavailable
from ragstone.core.events import Event
from ragstone.core.filters import And, AnyOf, Not, Range
from ragstone.service import Service
from ragstone.service.contract import Operation, operations

WHERE = And((AnyOf("path", ("/a", 1, True)), Not(Range("page", 1, None))))
NAMED = {"Filter": And, "Collection": type(None), "EncodedQuestion": type(None)}
PLAIN: Mapping[Any, Any] = {
    str: "Größe \u2028",
    int: 2,
    float: 0.5,
    bool: True,
    type(None): None,
}
FIELDS: Mapping[str, Any] = {
    "version": "v3",
    "created_at": "2026-01-02T03:04:05+00:00",
    "path": "/half \udcff",
}
"""Values of fields whose type says too little, where they are texts."""


def example(kind: Any) -> Any:
    """A value of this type."""
    if kind == NDArray[np.float32]:
        return np.array([[0.5, -1.0], [0.25, 3.0]], dtype=np.float32)
    if get_origin(kind) is not None:
        return _generic(get_origin(kind), get_args(kind))
    if kind is And:
        return WHERE
    if isinstance(kind, type) and issubclass(kind, RagstoneError):
        return StateUnavailable("It is away.")
    return _filled(kind) if is_dataclass(kind) else PLAIN.get(kind, {"any": [1, "b", None]})


def _generic(origin: Any, parts: tuple[Any, ...]) -> Any:
    if origin is Literal:
        return parts[-1]
    if origin is tuple:
        return tuple(example(part) for part in parts if part is not Ellipsis)
    if origin in (list, Sequence):
        return [example(parts[0])]
    if origin in (dict, Mapping):
        return {"key": example(parts[1])}
    return example(parts[0])  # Of something annotated, or of a union.


def _filled(kind: Any) -> Any:
    hints = get_type_hints(kind, localns=NAMED, include_extras=True)
    given = {field.name: example(hints[field.name]) for field in fields(kind)}
    texts = {
        name: FIELDS[name] for name in given if isinstance(given[name], str) and name in FIELDS
    }
    return kind(**{**given, **texts})


def items(operation: Operation) -> list[Any]:
    """What a stream of this operation yields: one of each kind."""
    if operation.result == Event:
        return [example(kind) for kind in get_args(Event)]
    return [example(operation.result)] * 2


class Recorder(SimpleNamespace):
    """A service whose every operation notes its arguments and returns an example.

    `fails` is what every operation raises instead, a stream after its first item.
    """

    calls: list[tuple[str, dict[str, Any]]]
    fails: RagstoneError | None


def recorder() -> Recorder:
    made = Recorder(calls=[], fails=None)
    for operation in operations().values():
        part, _, name = operation.name.rpartition(".")
        place = made.__dict__.setdefault(part, SimpleNamespace()) if part else made
        setattr(place, name, _recorded(made, operation))
    return made


def as_service(made: Recorder) -> Service:
    return cast(Service, made)


def _recorded(made: Recorder, operation: Operation) -> Any:
    def noted(args: Any, given: Any) -> None:
        made.calls.append((operation.name, operation.signature.bind(*args, **given).arguments))

    async def answer(*args: Any, **given: Any) -> Any:
        noted(args, given)
        if made.fails:
            raise made.fails
        return example(operation.result)

    async def stream(*args: Any, **given: Any) -> Any:
        noted(args, given)
        for item in items(operation):
            yield item
            if made.fails:
                raise made.fails

    return stream if operation.streams else answer


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, vectors and errors too."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if isinstance(one, RagstoneError):
        return type(one) is type(other) and one.message == other.message
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "error") and isinstance(one.error, RagstoneError):
        return same(one.error, other.error) and one == replace(other, error=one.error)
    return bool(one == other)
