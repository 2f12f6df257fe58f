"""A small filter language over chunk payloads, and its reference evaluator.

Index adapters translate these nodes into their own query language; `matches` says in plain
Python what every translation must mean. A condition on a field that a chunk does not have is
false (so its negation is true); on a field holding a list it is true if any element satisfies
it; `And()` is true and `Or()` is false.

Fields are the ones in `KEYWORDS` and `NUMBERS`, and `metadata.<key>`. An index compares metadata
for equality only: `expand_ranges` turns a range of metadata into the values that lie in it.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragstone.core.chunk import MADE, SUMMARY
from ragstone.core.document import STRUCK
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
MAX_CONDITIONS = 10_000
"""Conditions and values in the filter of a request."""

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field equals one of `values`; no value matches nothing."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The field lies within the bounds, both inclusive; None is unbounded.

    Metadata may also be compared with texts, as dates in ISO form are: `at_most` "2022" holds all
    that begins with it. A number is never within texts, nor a text within numbers.
    """

    field: str
    at_least: float | str | None = None
    at_most: float | str | None = None


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
    """Return the field equals `value`."""
    return AnyOf(field, (value,))


OWN_TEXT = Not(AnyOf("kind", MADE))
"""What is text of a document."""

CURRENT_TEXT = Not(AnyOf("kind", (*MADE, STRUCK)))
"""The same without what a document strikes out."""

NO_SUMMARY = Not(eq("kind", SUMMARY))
"""What is not a summary."""


def path_filter(path: str) -> Filter:
    """Return documents at `path` or below it: `/a` holds `/a/b` but not `/ab`."""
    return paths_filter((path,))


def paths_filter(paths: Iterable[str]) -> Filter:
    """Documents at one of these paths or below it; two conditions, however many paths there are."""
    clean = tuple(dict.fromkeys("/" + path.strip("/") for path in paths))
    return EVERYTHING if "/" in clean else Or((AnyOf("path", clean), AnyOf("folders", clean)))


@lru_cache(maxsize=8)
def exclude_hidden(hidden: frozenset[str]) -> Filter:
    """Return what is of no hidden revision. Searches that share a set share the filter: to sort
    100,000 names takes longer than most searches."""
    return Not(AnyOf("revision", tuple(sorted(hidden))))


def reader_filter(principal: Principal) -> Filter:
    """Return what `principal` may read: its tenant, and chunks that allow one of its names."""
    return And((eq("tenant", principal.tenant), AnyOf("allowed", principal.names)))


def simplify(condition: Filter, field: str, value: str) -> Filter:
    """Return what is left of `condition` for chunks whose `field` is known to be `value`."""
    match condition:
        case And(parts):
            return And(tuple(simplify(part, field, value) for part in parts))
        case Or(parts):
            return Or(tuple(simplify(part, field, value) for part in parts))
        case Not(part):
            return Not(simplify(part, field, value))
        case AnyOf(name, values) if name == field and all(isinstance(v, str) for v in values):
            return EVERYTHING if value in values else Or()
    return condition


def token(key: str, value: Scalar) -> str:
    """Return one metadata pair as one keyword, equal exactly when the JSON values are equal.

    `1`, `1.0` are the same number; `1`, `True` and `"1"` are three values.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def tokens(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Every filterable pair of `metadata` as keywords; list values give one pair an element."""
    pairs = []
    for key, value in metadata.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Scalar):
                pairs.append(token(key, item))
    return tuple(dict.fromkeys(pairs))


def check_size(condition: Filter) -> None:
    """Raise InvalidFilter for a filter of a request that holds more than can be compared soon."""
    size, rest = 0, [condition]
    while rest and size <= MAX_CONDITIONS:
        match rest.pop():
            case And(parts) | Or(parts):
                size += 1
                # No more than decides it: a filter of a request may hold millions.
                rest.extend(parts[: MAX_CONDITIONS + 1])
            case Not(part):
                size += 1
                rest.append(part)
            case AnyOf(_, values):
                size += 1 + len(values)
            case Range():
                size += 1
    if size > MAX_CONDITIONS or len(rest) > MAX_CONDITIONS:
        raise InvalidFilter(
            f"The filter holds more than {MAX_CONDITIONS:,} conditions and values. Name folders "
            "instead of documents, or ask in parts."
        )


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
                    f"The field {field!r} cannot be compared; use {_names(NUMBERS)} or "
                    "metadata.<key>."
                )
            bounds = [bound for bound in numbers(low, high) if bound is not None]
            # NaN equals nothing, itself neither, and integers may be larger than any float.
            if any(b != b or (isinstance(b, int) and not _is_finite(b)) for b in bounds):
                raise InvalidFilter(f"Not a valid bound of {field!r}: give a finite number.")


def numbers(low: float | str | None, high: float | str | None) -> tuple[float | None, float | None]:
    """Return the bounds of a field that holds numbers; raises InvalidFilter for a text."""
    if isinstance(low, str) or isinstance(high, str):
        text = low if isinstance(low, str) else high
        raise InvalidFilter(f"Not a valid bound: {str(text)[:100]!r}. Give a number.")
    return low, high


def filter_fields(condition: Filter) -> frozenset[str]:
    """Return the fields that a condition names."""
    match condition:
        case And(parts) | Or(parts):
            return frozenset[str]().union(*(filter_fields(part) for part in parts))
        case Not(part):
            return filter_fields(part)
        case AnyOf(field) | Range(field):
            return frozenset({field})


def range_keys(condition: Filter) -> frozenset[str]:
    """Return the metadata keys that a condition compares with bounds."""
    return frozenset(span.field.removeprefix(METADATA) for span in _ranges(condition))


def expand_ranges(condition: Filter, values: Mapping[str, Iterable[Scalar]]) -> Filter:
    """Return the condition with each range of metadata as those of the key's values that lie in it.

    Raises InvalidFilter for bounds that cannot be compared with each other.
    """
    match condition:
        case And(parts):
            return And(tuple(expand_ranges(part, values) for part in parts))
        case Or(parts):
            return Or(tuple(expand_ranges(part, values) for part in parts))
        case Not(part):
            return Not(expand_ranges(part, values))
        case Range(field, low, high) if field.startswith(METADATA):
            texts = [isinstance(bound, str) for bound in (low, high) if bound is not None]
            if len(set(texts)) > 1:
                raise InvalidFilter(
                    f"The bounds of {field!r} are a number and a text. Give two of a kind."
                )
            held = values.get(field.removeprefix(METADATA), ())
            return AnyOf(
                field, tuple(value for value in held if is_within_bounds(value, low, high))
            )
    return condition


def is_within_bounds(value: Scalar, low: float | str | None, high: float | str | None) -> bool:
    """Tell whether a value of metadata lies within the bounds of a `Range`."""
    if isinstance(value, bool):
        return low is None and high is None
    if isinstance(value, str):
        return (low is None or (isinstance(low, str) and value >= low)) and (
            high is None or (isinstance(high, str) and value[: len(high)] <= high)
        )
    return (low is None or (not isinstance(low, str) and value >= low)) and (
        high is None or (not isinstance(high, str) and value <= high)
    )


def _ranges(condition: Filter) -> Iterator[Range]:
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _ranges(part)
        case Not(part):
            yield from _ranges(part)
        case Range(field) if field.startswith(METADATA):
            yield condition


def _validate_values(field: str, values: tuple[Scalar, ...]) -> None:
    for text in (field, *values):
        if isinstance(text, str) and not _is_unicode(text):
            raise InvalidFilter("A filter holds half a character (a lone surrogate). Leave it out.")
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
    if text.isascii():  # As names of revisions are, of which a filter may hold 100,000.
        return True
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_finite(number: float) -> bool:
    """Tell whether it is a number that a float can hold."""
    return -sys.float_info.max <= number <= sys.float_info.max


def _names(fields: frozenset[str]) -> str:
    return ", ".join(sorted(fields))


def matches(condition: Filter, payload: Mapping[str, Any]) -> bool:
    """Tell whether a chunk with `payload` (see `turn.Chunk.payload`) satisfies `condition`."""
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
                held = frozenset(tokens(payload.get("metadata", {})))
                return any(token(key, value) in held for value in values)
            return any(item in values for item in _field_values(field, payload))
        case Range(field, low, high):
            if field.startswith(METADATA):
                return any(is_within_bounds(v, low, high) for v in _metadata_values(field, payload))
            return any(is_within_bounds(held, low, high) for held in _field_values(field, payload))


def _metadata_values(field: str, payload: Mapping[str, Any]) -> Iterator[Scalar]:
    held = _field_values(field.removeprefix(METADATA), payload.get("metadata", {}))
    return (item for item in held if isinstance(item, Scalar))


def _field_values(field: str, payload: Mapping[str, Any]) -> tuple[Any, ...]:
    value = payload.get(field)
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)
