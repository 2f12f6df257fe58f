"""Lists in what a chat model said, out of fences, chatter and numbering."""

import re

from ragstone.language.json_answer import MOST_CHARS, json_values

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


def lines(said: str) -> list[str]:
    """The lines of `said` without numbers, bullets, quotes, fences and introductions."""
    found: list[str] = []
    for line in said[:MOST_CHARS].splitlines():
        text = _tidy(_LINE_LEAD.sub("", line))
        if text and not text.startswith("```") and not _CHATTER.match(text):
            found.append(text)
    return list(dict.fromkeys(found))


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES).strip()
