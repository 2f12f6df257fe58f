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
    found = [next(_placed_values(text), None) for text in (said, _TRAILING.sub(r"\1", said))]
    # What stands inside a value with a comma at its end is JSON too, and begins behind it.
    return min((one for one in found if one), key=itemgetter(0), default=(0, None))[1]


def json_values(said: str) -> Iterator[Any]:
    """Every JSON object and array in `said`, those inside another one too, by where they begin."""
    for _, value in _placed_values(said):
        yield value


def _placed_values(said: str) -> Iterator[tuple[int, Any]]:
    """The values of `said`, each with its first character's place."""
    for match in islice(_START.finditer(said[:MOST_CHARS]), MOST_TRIES):
        try:
            yield match.start(), json.JSONDecoder().raw_decode(said, match.start())[0]
        except (ValueError, RecursionError):
            continue
