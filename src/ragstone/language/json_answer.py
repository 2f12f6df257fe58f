"""The JSON in what a chat model says, which adds fences, chatter and trailing commas; lists in it;
and schemas of somebody else."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any, cast

_START = re.compile(r"[{\[]")
_TRAILING = re.compile(r",\s*([}\]])")
MAX_REPLY_CHARS = 20_000
"""Characters of a reply that are looked at."""

MAX_STARTS = 20
"""Places in a reply that may begin a JSON value; chatter has few."""


def json_answer(said: str) -> Any:
    """Return the first JSON object or array in `said`, also with a comma at its end; None if there
    is none."""
    return find_json(said)[0]


def find_json(said: str) -> tuple[Any, str]:
    """Return the value that `json_answer` returns, and its text as it was written."""
    found = [
        (start, value, text[start:end])
        for text in (said, _TRAILING.sub(r"\1", said))
        for start, end, value in islice(_find_values(text), 1)
    ]
    # What stands inside a value with a comma at its end is JSON too, and begins behind it.
    return min(found, key=itemgetter(0), default=(0, None, ""))[1:]


def json_values(said: str) -> Iterator[Any]:
    """Every JSON object and array in `said`, those inside another one too, by where they begin."""
    for _, _, value in _find_values(said):
        yield value


def _find_values(said: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the values of `said`, each with where it begins and ends."""
    for match in islice(_START.finditer(said[:MAX_REPLY_CHARS]), MAX_STARTS):
        try:
            value, end = json.JSONDecoder().raw_decode(said, match.start())
            yield match.start(), end, value
        except (ValueError, RecursionError):
            continue


_LINE_LEAD = re.compile(
    r"^\s{0,20}(?:[-*•–]|\(?\d{1,2}[.):]|(?:query|question|q)\s?\d{1,2}:)\s*", re.I
)
_CHATTER = re.compile(
    r"^(?:here (?:are|is)|sure|certainly|of course|okay|alternative|the following|以下|下面)"
    r"\b.{0,120}[:：]$",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`「」"


def parse_list(said: str, key: str) -> list[str]:
    """The texts of the JSON list `key` in `said`, wherever it stands; none if there is no such."""
    for value in json_values(said):
        if isinstance(value, dict):
            value = value.get(key)
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            texts = [_tidy(item) for item in value if isinstance(item, str)]
            if any(texts):
                return list(dict.fromkeys(text for text in texts if text))
    return []


def parse_lines(said: str) -> list[str]:
    """Return the lines of `said` without numbers, bullets, quotes, fences and introductions."""
    found: list[str] = []
    for line in said[:MAX_REPLY_CHARS].splitlines():
        text = _tidy(_LINE_LEAD.sub("", line))
        if text and not text.startswith("```") and not _CHATTER.match(text):
            found.append(text)
    return list(dict.fromkeys(found))


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES).strip()


MAX_ERROR_CHARS = 300
"""Of what is said about a value: it may be long."""


def schema_error(schema: Mapping[str, Any]) -> str:
    """Say what is wrong with a schema; empty for nothing."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if "patternProperties" in _keys(schema):
        return "patternProperties are not supported"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return str(error.message)[:MAX_ERROR_CHARS]
    except RecursionError:
        return "it is nested too deeply"
    return ""


def validation_error(value: Any, schema: Mapping[str, Any]) -> str:
    """Say in a sentence what makes the value invalid; empty where nothing does."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # A regular expression of somebody else may take for ever. The library's types are unknown.
    kind = cast(Any, extend)(Draft202012Validator, {"pattern": lambda *_: iter(())})
    # An empty registry fetches nothing for a reference.
    registry: Registry[Any] = Registry()
    try:
        found = cast(Any, best_match)(kind(schema, registry=registry).iter_errors(value))
    except Unresolvable as error:
        return f"The schema refers to what it does not hold: {error}."[:MAX_ERROR_CHARS]
    except RecursionError:
        return "It is nested too deeply."
    return f"{found.json_path}: {found.message}"[:MAX_ERROR_CHARS] if found else ""


def _keys(schema: Any) -> Iterator[str]:
    # Without recursion: a schema may be nested deeper than Python's stack.
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield from part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
