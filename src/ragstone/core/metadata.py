"""Metadata of documents: what a person gives, typed and checked.

A value is a text, a number, a truth value, or a list of these. Dates are texts in ISO form, which
sort. Metadata describes a document and permits nothing: who may read it is said elsewhere.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ragstone.core.errors import InputError

Value = str | int | float | bool

MAX_KEYS = 100
MAX_VALUES = 200
MAX_KEY_CHARS, MAX_VALUE_CHARS = 100, 2_000
MAX_CHARS = 32_000
"""Characters: of a key, of a value, of all as JSON. Every value is in the index once for each chunk
of the document."""

MAX_NUMBER = 2**63
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")


def parse_value(text: str) -> Value:
    """Return the value that a text spells: a number, true or false, else the text as it is.

    "007" stays a text, as it is a name, and so do dates.
    """
    if text in ("true", "false"):
        return text == "true"
    # Python takes a quadratic time to read long integers.
    if len(text) <= 20 and _WHOLE.fullmatch(text) and abs(int(text)) < MAX_NUMBER:
        return int(text)
    # Postcodes, phone numbers and article numbers begin with a zero.
    starts_like_a_name = re.match(r"[-+]?0[0-9]", text) or _WHOLE.fullmatch(text)
    if not starts_like_a_name and _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def check_metadata(given: object) -> dict[str, Any]:
    """Return the metadata as it is stored; a value of None is left out. Raises ValueError, which
    says what is wrong in the words of a sentence's end."""
    if not isinstance(given, Mapping):
        raise ValueError("it must have keys with values, such as 'year: 2023'")
    if len(given) > MAX_KEYS:
        raise ValueError(f"it has more than {MAX_KEYS} keys")
    kept = {_key(key): _value(key, value) for key, value in given.items() if value is not None}
    if len(json.dumps(kept, ensure_ascii=False)) > MAX_CHARS:
        raise ValueError(f"it has more than {MAX_CHARS:,} characters in all")
    return kept


def cut_metadata(found: Mapping[str, Any]) -> dict[str, Any]:
    """As much of what a file says of itself, in its order, as is kept of any."""
    kept: dict[str, Any] = {}
    room = MAX_CHARS
    for key, value in found.items():
        room -= len(json.dumps({key: value}, ensure_ascii=False))
        if room < 0:
            break
        kept[key] = value
    return kept


def parse_pairs(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the metadata that `key=value` pairs say; a key that is repeated has a list of values.

    Raises InputError.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not key or not equals:
            raise InputError(f"Metadata is given as KEY=VALUE, but {pair[:100]!r} is not.")
        value: Any = parse_value(text.strip())
        if key in found:
            before = found[key]
            value = [*(before if isinstance(before, list) else [before]), value]
        found[key] = value
    return check_input_metadata(found)


def check_input_metadata(given: object) -> dict[str, Any]:
    """`check_metadata` for what a program or a command gives; raises InputError."""
    try:
        return check_metadata(given)
    except ValueError as error:
        raise InputError(f"The metadata cannot be used: {error}.") from error


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY_CHARS:
        raise ValueError(f"a key is a text of 1 to {MAX_KEY_CHARS} characters")
    if not key.isprintable():
        raise ValueError(f"the key {key[:40]!r} holds characters that cannot be shown")
    return key


def _value(key: str, value: object) -> Any:
    if isinstance(value, list | tuple):
        if len(value) > MAX_VALUES:
            raise ValueError(f"{key!r} has more than {MAX_VALUES} values")
        return [_scalar(key, item) for item in value]
    return _scalar(key, value)


def _scalar(key: str, value: object) -> Value:
    if isinstance(value, str):
        if len(value) > MAX_VALUE_CHARS:
            raise ValueError(f"{key!r} has more than {MAX_VALUE_CHARS:,} characters")
        if any("\ud800" <= item <= "\udfff" for item in value):
            raise ValueError(f"{key!r} holds half a character")
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < MAX_NUMBER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(f"{key!r} must be a text, a number, true or false, or a list of these")
