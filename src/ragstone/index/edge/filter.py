"""Translates the filter AST into Qdrant's, so that the index itself evaluates it."""

import qdrant_edge as edge

from ragstone.core.filters import (
    METADATA,
    NUMBERS,
    And,
    AnyOf,
    Filter,
    Not,
    Or,
    Range,
    Scalar,
    numbers,
    token,
    validate,
)

PAIRS = "pairs"
"""The payload field that holds every metadata pair as one keyword (`filters.tokens`)."""

_NOTHING = edge.Filter(must=[edge.HasIdCondition(set())])


def translate(condition: Filter) -> edge.Filter:
    """`condition` as a Qdrant filter with the same meaning; raises InvalidFilter."""
    validate(condition)
    return _translate(condition)


def _translate(condition: Filter) -> edge.Filter:
    match condition:
        case And(parts):
            return edge.Filter(must=[_translate(part) for part in parts])
        case Or(parts):
            return edge.Filter(should=[_translate(p) for p in parts]) if parts else _NOTHING
        case Not(part):
            return edge.Filter(must_not=[_translate(part)])
        case AnyOf(field, values):
            return _match_any(field, values) if values else _NOTHING
        case Range(field, None, None):
            return edge.Filter(must_not=[edge.IsEmptyCondition(field)])
        case Range(field, low, high):
            return _range_filter(field, *numbers(low, high))


def _match_any(field: str, values: tuple[Scalar, ...]) -> edge.Filter:
    if field in NUMBERS:
        return edge.Filter(should=[_range_filter(field, float(v), float(v)) for v in values])
    if field.startswith(METADATA):
        key = field.removeprefix(METADATA)
        field, values = PAIRS, tuple(token(key, value) for value in values)
    match = edge.MatchAny([str(value) for value in values])
    return edge.Filter(must=[edge.FieldCondition(field, match=match)])


def _range_filter(field: str, low: float | None, high: float | None) -> edge.Filter:
    bounds = edge.RangeFloat(gte=low, lte=high)
    return edge.Filter(must=[edge.FieldCondition(field, range=bounds)])
