"""Translates the filter AST into Elasticsearch's query language, for `filter` contexts."""

import math
import sys
from hashlib import sha256
from typing import Any

from ragstone.core.errors import InvalidFilter
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

Query = dict[str, Any]

PAIRS = "pairs"
"""The field that holds every metadata pair as one keyword (`filters.tokens`)."""

RENAMED = {
    "document_id": "parent_uid",
    "title": "parent_title",
    "path": "parent_path",
    "allowed": "allowedRolesAndUsers",
    "text": "chunk_text",
}
"""Fields that the Plone index names otherwise than `turn.Chunk`."""

INTEGERS = frozenset({"page", "chunk_index", "version"})
MAX_INTEGER = 2**31 - 1

MAX_KEYWORD = 8_191
"""Characters of a keyword: Lucene refuses terms of more than 32,766 bytes of UTF-8."""

MAX_TERMS = 65_536
"""`index.max_terms_count`, the values that one `terms` query may hold by default."""

MAX_DEPTH = 18
"""`indices.query.bool.max_nested_depth` is 20, or 30; a search nests the filter once more."""

EVERYTHING: Query = {"match_all": {}}
NOTHING: Query = {"match_none": {}}


def translate(condition: Filter) -> Query:
    """`condition` as a query with the same meaning; raises InvalidFilter."""
    validate(condition)
    query = _translate(condition)
    if _depth(query) > MAX_DEPTH:
        raise InvalidFilter(
            f"The filter is nested more than {MAX_DEPTH} deep, which Elasticsearch refuses. "
            "Simplify it."
        )
    return query


def keyword(value: str) -> str:
    """`value` as it is stored and looked up: itself, or its hash where it is too long."""
    if len(value) <= MAX_KEYWORD:
        return value
    return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _translate(condition: Filter) -> Query:
    match condition:
        case And(parts):
            return _and_query([_translate(part) for part in parts])
        case Or(parts):
            return _or_query([_translate(part) for part in parts])
        case Not(part):
            return {"bool": {"must_not": [_translate(part)]}}
        case AnyOf(field, values) if field in NUMBERS:
            return _terms(field, [n for value in values for n in _number(field, value)])
        case AnyOf(field, values):
            return _keywords(field, values)
        case Range(field, low, high):
            return _range_query(field, *numbers(low, high))


def _and_query(queries: list[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return {"bool": {"filter": queries}} if queries else EVERYTHING


def _or_query(queries: list[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return {"bool": {"should": queries, "minimum_should_match": 1}} if queries else NOTHING


def _keywords(field: str, values: tuple[Scalar, ...]) -> Query:
    if field.startswith(METADATA):
        key = field.removeprefix(METADATA)
        field, values = PAIRS, tuple(token(key, value) for value in values)
    return _terms(RENAMED.get(field, field), [keyword(str(value)) for value in values])


def _terms(field: str, values: list[Any]) -> Query:
    parts = [values[i : i + MAX_TERMS] for i in range(0, len(values), MAX_TERMS)]
    return _or_query([{"terms": {field: part}} for part in parts])


def _number(field: str, value: Scalar) -> list[int | float]:
    """`value` as the field can hold it; nothing if it cannot, so that nothing equals it."""
    if isinstance(value, str) or abs(value) > _largest(field):
        return []
    if field not in INTEGERS:
        return [value + 0.0]
    return [int(value)] if value == int(value) else []


def _range_query(field: str, low: float | None, high: float | None) -> Query:
    """Bounds outside what the field can hold are an error to Elasticsearch, so they are cut."""
    largest = _largest(field)
    if (low is not None and low > largest) or (high is not None and high < -largest):
        return NOTHING
    bounds: dict[str, float] = {}
    if low is not None and low >= -largest:
        bounds["gte"] = math.ceil(low) if field in INTEGERS else low + 0.0
    if high is not None and high <= largest:
        bounds["lte"] = math.floor(high) if field in INTEGERS else high + 0.0
    return {"range": {field: bounds}} if bounds else {"exists": {"field": field}}


def _largest(field: str) -> float:
    return MAX_INTEGER if field in INTEGERS else sys.float_info.max


def _depth(query: Query) -> int:
    inner = [part for clause in query.get("bool", {}).values() for part in _queries(clause)]
    return 1 + max(map(_depth, inner), default=0)


def _queries(clause: Any) -> list[Query]:
    return clause if isinstance(clause, list) else []
