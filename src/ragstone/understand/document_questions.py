"""Questions for the document or page that says something, and what it is to say.

The patterns of each language are `data/document_questions.json`.
"""

import json
import re
from functools import cache
from importlib.resources import files

MAX_CHARS = 300
"""Characters of a longer text, which is no such question."""


def sought_in_documents(question: str) -> str:
    """Find what the document or page is to say that a question asks for; empty where it asks for
    something else."""
    asked = " ".join(question.split()).strip(" .?!¿。？！")
    if len(asked) > MAX_CHARS:
        return ""
    matches = (pattern.fullmatch(asked) for pattern in _patterns())
    return next((f"{match['about']}?" for match in matches if match), "")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    file = files("ragstone.understand").joinpath("data/document_questions.json")
    languages: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return tuple(re.compile(part, re.IGNORECASE) for parts in languages.values() for part in parts)
