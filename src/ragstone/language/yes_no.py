"""Questions for yes or no, and these words, in the languages of `data/yes_no.json`.

What makes a question one is its beginning (a verb) or its end (吗, か, 까); one that offers two
things ("or") or asks for something is none.
"""

import json
import re
from importlib.resources import files

from ragstone.language.language import detect

_HELD = json.loads(files("ragstone.language").joinpath("data/yes_no.json").read_text("utf-8"))

YES_NO: dict[str, tuple[str, str]] = {code: tuple(item["words"]) for code, item in _HELD.items()}
"""Per language what says yes, and what says no."""

_FORMS = {
    code: re.compile(rf"\s*{item['form']}", re.IGNORECASE | re.DOTALL)
    for code, item in _HELD.items()
}
_SAYS = {word[:-1].casefold(): word is yes for yes, no in YES_NO.values() for word in (yes, no)}
_END = " .。!！,，"

LONGEST = 300
"""Characters of a longer text, which is no such question."""


def yes_no(question: str) -> tuple[str, str] | None:
    """What a question for yes or no is answered with; None for another."""
    asked = question.strip()
    if len(asked) > LONGEST:
        return None
    found = next((code for code, form in _FORMS.items() if form.match(asked)), None)
    if found == "en" and asked[:4].casefold() == "was " and detect(asked) == "de":
        return None  # "Was kostet die Jacke?"
    return YES_NO[found] if found else None


def read_yes_no(text: str) -> bool | None:
    """Whether a sentence or a cell says yes, where it is one of these words alone."""
    return _SAYS.get(text.strip().rstrip(_END).casefold())
