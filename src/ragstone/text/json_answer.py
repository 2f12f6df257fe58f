"""The JSON in what a chat model says: models add fences, chatter and trailing commas."""

import json
import re
from itertools import islice
from typing import Any

_START = re.compile(r"[{\[]")
_TRAILING = re.compile(r",\s*([}\]])")
MOST_TRIES = 20
"""Places in a reply that may begin a JSON value; chatter has few."""


def json_answer(said: str) -> Any:
    """The first JSON object or array in `said`; None if there is none."""
    for text in (said, _TRAILING.sub(r"\1", said)):
        for match in islice(_START.finditer(text), MOST_TRIES):
            try:
                return json.JSONDecoder().raw_decode(text, match.start())[0]
            except (ValueError, RecursionError):
                continue
    return None
