"""Templates of what a chat model is told: their names, their places, putting them together.

`answer` is the whole; the others are lines of it. A name may end with a language (`answer.de`),
which then is preferred for questions in that language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from ragstone.errors import InputError

ANSWER = "answer"
LINES = ("quote_first", "reasoning", "suggestions")
FORMS = ("direct", "summary", "comparison", "list", "analysis", "calculation", "steps")
MODES = ("simple", "advanced", "precise")
NAMES = (ANSWER, *(f"form.{form}" for form in FORMS), *(f"mode.{mode}" for mode in MODES), *LINES)

LONGEST = 20_000
"""Characters of a template."""

_PLACE = re.compile(r"\{(\w+)\}")
_ALLOWED: Mapping[str, frozenset[str]] = {
    ANSWER: frozenset({"no_answer", "language", "form", "mode"}),
}
_NEEDED: Mapping[str, frozenset[str]] = {ANSWER: frozenset({"no_answer"})}
_NAME = re.compile(rf"({'|'.join(map(re.escape, NAMES))})(?:\.([a-z]{{2,3}}))?")


def check(name: str, text: str) -> None:
    """Raise InputError unless `text` can be the template `name`."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"There is no template {name[:80]!r}. The templates are {', '.join(NAMES)}, each with "
            "or without a language at its end, like answer.de."
        )
    if not text.strip() or len(text) > LONGEST:
        raise InputError(f"The template {name!r} must have 1 to {LONGEST:,} characters.")
    places = set(_PLACE.findall(text))
    if missing := _NEEDED.get(match[1], frozenset()) - places:
        raise InputError(f"The template {name!r} must hold {_shown(missing)}.")
    if unknown := places - _ALLOWED.get(match[1], frozenset()):
        raise InputError(f"The template {name!r} cannot hold {_shown(unknown)}.")


def shipped(name: str) -> str | None:
    """The text of a template as it comes with the product; None if it has none of that name."""
    return _shipped().get(name)


def told(texts: Callable[[str], str], parts: Sequence[str], **values: str) -> str:
    """The template `answer` with its places filled: the lines named in `parts` follow it.

    `texts` gives a template's text by its name. What is filled in is not looked at for places.
    """
    whole = "\n".join((texts(ANSWER).strip(), *(texts(part).strip() for part in parts)))
    filled = _PLACE.sub(lambda match: values.get(match[1], match[0]), whole)
    return "\n".join(line for line in filled.splitlines() if line.strip())


def _shown(names: frozenset[str] | set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


@cache
def _shipped() -> Mapping[str, str]:
    folder = files("ragstone").joinpath("templates")
    return {name: folder.joinpath(f"{name}.txt").read_text(encoding="utf-8") for name in NAMES}
