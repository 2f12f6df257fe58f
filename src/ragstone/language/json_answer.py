"""The JSON in what a chat model says: models add fences, chatter and trailing commas."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

_START = re.compile(r"[{\[]")
_TRAILING = re.compile(r",\s*([}\]])")
MOST_CHARS = 20_000
"""Characters of a reply that are looked at."""

MOST_TRIES = 20
"""Places in a reply that may begin a JSON value; chatter has few."""


def json_answer(said: str) -> Any:
    """The first JSON object or array in `said`, also with a comma at its end; None if there is
    none."""
    return find_json(said)[0]


def find_json(said: str) -> tuple[Any, str]:
    """The value that `json_answer` returns, and its text as it was written."""
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
    """The values of `said`, each with where it begins and ends."""
    for match in islice(_START.finditer(said[:MOST_CHARS]), MOST_TRIES):
        try:
            value, end = json.JSONDecoder().raw_decode(said, match.start())
            yield match.start(), end, value
        except (ValueError, RecursionError):
            continue
