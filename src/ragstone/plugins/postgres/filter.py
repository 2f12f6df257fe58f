"""Translates the filter AST into a condition of SQL with parameters."""

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

LISTS = frozenset({"allowed", "folders"})
PAIRS = "pairs"
MAX_KEYWORD_CHARS = 500
"""Characters of a keyword that are kept as they are; PostgreSQL indexes at most 2,700 bytes."""

Sql = tuple[str, list[Any]]


def translate(condition: Filter) -> Sql:
    """`condition` as SQL that is true or false, never null; raises InvalidFilter."""
    validate(condition)
    return _translate(condition)


def keyword(value: str) -> str:
    """`value` as a column holds it: no zero character, no half a character, not too long."""
    safe = value.replace("\0", "\uf8ff").encode("utf-8", "replace").decode()
    if len(safe) <= MAX_KEYWORD_CHARS:
        return safe
    return f"{safe[:MAX_KEYWORD_CHARS]}#{sha256(safe.encode()).hexdigest()}"


def _translate(condition: Filter) -> Sql:
    match condition:
        case And(parts):
            return _join_conditions(parts, " AND ", "TRUE")
        case Or(parts):
            return _join_conditions(parts, " OR ", "FALSE")
        case Not(part):
            sql, values = _translate(part)
            return f"NOT {sql}", values
        case AnyOf(field, values):
            return _match_any(field, values)
        case Range(field, low, high):
            return _range_condition(field, *numbers(low, high))


def _join_conditions(parts: tuple[Filter, ...], word: str, none: str) -> Sql:
    if not parts:
        return none, []
    made = [_translate(part) for part in parts]
    return f"({word.join(sql for sql, _ in made)})", [v for _, values in made for v in values]


def _match_any(field: str, values: tuple[Scalar, ...]) -> Sql:
    if field in NUMBERS:
        return f"coalesce({field} = ANY(%s::float8[]), FALSE)", [[_number(v) for v in values]]
    if field.startswith(METADATA):
        key = field.removeprefix(METADATA)
        return f"{PAIRS} && %s::text[]", [[keyword(token(key, value)) for value in values]]
    held = [keyword(str(value)) for value in values]
    if field in LISTS:
        return f"{field} && %s::text[]", [held]
    return f"{field} = ANY(%s::text[])", [held]


def _range_condition(field: str, low: float | None, high: float | None) -> Sql:
    bounds = [(">=", low), ("<=", high)]
    given = [(sign, _number(value)) for sign, value in bounds if value is not None]
    tests = [f"{field} IS NOT NULL", *(f"{field} {sign} %s::float8" for sign, _ in given)]
    return f"coalesce({' AND '.join(tests)}, FALSE)", [value for _, value in given]


def _number(value: Scalar) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidFilter("A number in the filter is too large.") from error
