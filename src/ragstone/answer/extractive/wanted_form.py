"""What a program's instructions say of an answer's form, as far as sentences of documents can have
it: how many there are, and whether they stand as a list."""

import re
from dataclasses import dataclass

_NUMBERS = {
    **dict.fromkeys(("one", "a single", "single", "1", "einem", "einen", "un", "une", "una"), 1),
    **dict.fromkeys(("two", "2", "zwei", "deux", "dos"), 2),
    **dict.fromkeys(("three", "3", "drei", "trois", "tres"), 3),
}
_COUNTED = re.compile(
    rf"\b({'|'.join(_NUMBERS)})\s(?:\w{{1,12}}\s)?(?:sentences?|sätzen?|satz|phrases?|frases?)\b",
    re.IGNORECASE,
)
_BRIEF = re.compile(
    r"\b(?:brief(?:ly)?|concise(?:ly)?|succinct(?:ly)?|terse(?:ly)?|short answers?|keep it short"
    r"|kurz(?:e|en)?|knapp|bref|brièvement|breve(?:mente)?|concis[ao]?)\b",
    re.IGNORECASE,
)
_BULLETS = re.compile(
    r"\b(?:bullet(?:ed)?(?: |-)?(?:points?|lists?)?|as a list|aufzählung|stichpunkten?"
    r"|liste à puces|viñetas)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:\bnot?|n't|never|avoid|without|nicht|keine?|ohne|pas|sans|sin)\W{0,3}"
    r"(?:\w{1,12}\W{1,3}){0,2}\Z",
    re.IGNORECASE,
)
BEFORE = 40
"""Characters before a wish in which it may be negated."""


@dataclass(frozen=True, slots=True)
class WantedForm:
    """The most sentences, None for as many as are good, and whether each is an item of a list."""

    sentences: int | None = None
    bullets: bool = False


def read_form(guidance: str) -> WantedForm:
    """Return the form that the instructions want."""
    counted = _wish(_COUNTED, guidance)
    brief = 1 if _wish(_BRIEF, guidance) else None
    sentences = _NUMBERS[counted[1].casefold()] if counted else brief
    return WantedForm(sentences, _wish(_BULLETS, guidance) is not None)


def _wish(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match that is not negated."""
    for match in pattern.finditer(text):
        if not _NOT.search(text[max(0, match.start() - BEFORE) : match.start()]):
            return match
    return None
