"""The JSON in what a chat model says: models add fences, chatter and trailing commas."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

_START = re.compile(r"[{\[]")
_TRAILING = re.compile(r",\s*([}\]])")
MOST_CHARS = 20_000
"""Characters of a reply that are looked at."""

MOST_TRIES = 20
"""Places in a reply that may begin a JSON value; chatter has few."""


def json_answer(said: str) -> Any:
    """The first JSON object or array in `said`; None if there is none."""
    for text in (said, _TRAILING.sub(r"\1", said)):
        for value in json_values(text):
            return value
    return None


def json_values(said: str) -> Iterator[Any]:
    """Every JSON object and array in `said`, those inside another one too, by where they begin."""
    for match in islice(_START.finditer(said[:MOST_CHARS]), MOST_TRIES):
        try:
            yield json.JSONDecoder().raw_decode(said, match.start())[0]
        except (ValueError, RecursionError):
            continue
