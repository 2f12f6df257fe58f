"""The polite phrases around a question: greetings, thanks, fillers."""

import re
from functools import cache

from ragstone.language.words import word_lists

_LEAD = re.compile(
    r"^(?:(?:so|and|but|then|also|or|ok|okay|oh|btw|by the way|anyway|wow|hm+|i see|thanks|"
    r"thank you|thx|in that case|in other words|i mean(?:t)?(?: to (?:ask|say))?|"
    r"(?:that|it)(?: is|['’]s) (?:fine|ok|okay|great|good|too bad|bad|terrible))\b[,.!…\s-]{0,9}"
    r"|(?:yes|yeah|no|right|well|great|sure|sorry|good|fine|too bad|of course|interesting|cool|"
    r"nice)\s?[,.!…]{1,9}\s{0,9})+",
    re.IGNORECASE,
)
_PLEASE = re.compile(r",?\s?\bplease\b,?", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_LONGEST_SOCIAL = 80


def plain(question: str) -> str:
    """The question without fillers before it and without `please`; as it is if little is left."""
    bare = _PLEASE.sub("", _LEAD.sub("", question)).strip()
    return bare if len(bare.split()) > 1 else question


def social(text: str) -> bool:
    """Whether the text is only a greeting, thanks or a goodbye."""
    if len(text) > _LONGEST_SOCIAL:
        return False
    said = " ".join(_WORD.findall(text.casefold()))
    return bool(said) and _social_pattern().fullmatch(said) is not None


@cache
def _social_pattern() -> re.Pattern[str]:
    phrases = sorted(word_lists("understand", "follow_up")["social"], key=len, reverse=True)
    either = "|".join(map(re.escape, phrases))
    return re.compile(rf"(?:{either})(?:\s(?:{either}))*+")
