"""Requests that are about the conversation itself ("put that in one sentence"), by whole phrases.

The phrases of each language are `data/about_conversation.json`. Nothing else may stand beside one:
"summarize this discussion of wind power" asks for a document.
"""

import json
import re
import unicodedata
from functools import cache
from importlib.resources import files

MOST_CHARS = 120
"""A longer request says more than such a phrase does."""


def about_conversation(request: str) -> bool:
    """Whether the request needs nothing but what was said before."""
    said = unicodedata.normalize("NFC", request[: MOST_CHARS + 1]).replace("’", "'")
    if len(said) > MOST_CHARS:
        return False
    plain = " ".join(said.casefold().strip(" \t\n.,!?¿¡。，！？…").replace(",", " ").split())
    return bool(_phrases().fullmatch(plain))


@cache
def _phrases() -> re.Pattern[str]:
    file = files("ragstone.conversation").joinpath("data/about_conversation.json")
    every = [p for some in json.loads(file.read_text(encoding="utf-8")).values() for p in some]
    return re.compile("|".join(f"(?:{phrase})" for phrase in every))
