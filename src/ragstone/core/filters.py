"""A small filter language over chunk payloads, and its reference evaluator.

Index adapters translate these nodes into their own query language; `matches` says in plain
Python what every translation must mean. A condition on a field that a chunk does not have is
false (so its negation is true); on a field holding a list it is true if any element satisfies
it; `And()` is true and `Or()` is false.

Fields are the ones in `KEYWORDS` and `NUMBERS`, and `metadata.<key>` for equality.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.core.errors import InvalidFilter
from ragstone.core.turn import Principal

KEYWORDS = frozenset(
    {
        "tenant",
        "collection",
        "document_id",
        "revision",
        "allowed",
        "path",
        "folders",
        "media_type",
        "kind",
        "language",
    }
)
NUMBERS = frozenset({"page", "chunk_index", "version", "modified"})
METADATA = "metadata."

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field equals one of `values`; no value matches nothing."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The numeric field lies within the bounds, both inclusive; None is unbounded."""

    field: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Filter", ...] = ()


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Filter", ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"


Filter = AnyOf | Range | And | Or | Not

EVERYTHING = And()


def eq(field: str, value: Scalar) -> AnyOf:
    """The field equals `value`."""
    return AnyOf(field, (value,))


def under(path: str) -> Filter:
    """Documents at `path` or below it: `/a` holds `/a/b` but not `/ab`."""
    clean = "/" + path.strip("/")
    return EVERYTHING if clean == "/" else Or((eq("path", clean), eq("folders", clean)))


def readable(principal: Principal) -> Filter:
    """What `principal` may read: its tenant, and chunks that allow one of its names."""
    return And((eq("tenant", principal.tenant), AnyOf("allowed", principal.names)))


def where_known(condition: Filter, field: str, value: str) -> Filter:
    """What is left of `condition` for chunks whose `field` is known to be `value`."""
    match condition:
        case And(parts):
            return And(tuple(where_known(part, field, value) for part in parts))
        case Or(parts):
            return Or(tuple(where_known(part, field, value) for part in parts))
        case Not(part):
            return Not(where_known(part, field, value))
        case AnyOf(name, values) if name == field and all(isinstance(v, str) for v in values):
            return EVERYTHING if value in values else Or()
    return condition


def token(key: str, value: Scalar) -> str:
    """One metadata pair as one keyword, equal exactly when the JSON values are equal.

    `1`, `1.0` are the same number; `1`, `True` and `"1"` are three values.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def tokens(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Every filterable pair of `metadata` as keywords; list values give one pair an element."""
    pairs = []
    for key, value in metadata.items():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, Scalar):
                pairs.append(token(key, one))
    return tuple(dict.fromkeys(pairs))


def validate(condition: Filter) -> None:
    """Raise InvalidFilter unless every field exists and every value fits it."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                validate(part)
        case Not(part):
            validate(part)
        case AnyOf(field, values):
            _validate_values(field, values)
        case Range(field, low, high):
            if field not in NUMBERS:
                raise InvalidFilter(
                    f"The field {field!r} cannot be compared; use {_names(NUMBERS)}."
                )
            bounds = [bound for bound in (low, high) if bound is not None]
            if any(b != b or (isinstance(b, int) and not _is_finite(b)) for b in bounds):
                raise InvalidFilter(f"A bound of {field!r} is not a number.")


def _validate_values(field: str, values: tuple[Scalar, ...]) -> None:
    for text in (field, *values):
        if isinstance(text, str) and not _is_unicode(text):
            raise InvalidFilter("A filter holds half a character (a lone surrogate).")
    if field.startswith(METADATA) and len(field) > len(METADATA):
        return
    wrong: list[Scalar]
    if field in KEYWORDS:
        wrong = [value for value in values if not isinstance(value, str)]
    elif field in NUMBERS:
        wrong = [v for v in values if isinstance(v, bool | str) or not _is_finite(v)]
    else:
        known = _names(KEYWORDS | NUMBERS)
        raise InvalidFilter(f"There is no field {field!r}; use {known} or metadata.<key>.")
    if wrong:
        raise InvalidFilter(f"The field {field!r} cannot hold {wrong[0]!r}.")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_finite(number: float) -> bool:
    """Whether it is a number that a float can hold."""
    return -sys.float_info.max <= number <= sys.float_info.max


def _names(fields: frozenset[str]) -> str:
    return ", ".join(sorted(fields))


def matches(condition: Filter, payload: Mapping[str, Any]) -> bool:
    """Whether a chunk with `payload` (see `turn.Chunk.payload`) satisfies `condition`."""
    match condition:
        case And(parts):
            return all(matches(part, payload) for part in parts)
        case Or(parts):
            return any(matches(part, payload) for part in parts)
        case Not(part):
            return not matches(part, payload)
        case AnyOf(field, values):
            if field.startswith(METADATA):
                key = field.removeprefix(METADATA)
                return any(token(key, v) in tokens(payload.get("metadata", {})) for v in values)
            return any(held in values for held in _field_values(field, payload))
        case Range(field, low, high):
            return any(
                (low is None or held >= low) and (high is None or held <= high)
                for held in _field_values(field, payload)
            )


def _field_values(field: str, payload: Mapping[str, Any]) -> tuple[Any, ...]:
    value = payload.get(field)
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)
