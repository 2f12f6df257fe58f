"""The fillers around a question."""

import re

_LEAD = re.compile(
    r"^(?:(?:so|and|but|then|also|or|ok|okay|oh|btw|by the way|anyway|wow|hm+|i see|thanks|"
    r"thank you|thx|in that case|in other words|i mean(?:t)?(?: to (?:ask|say))?|"
    r"(?:that|it)(?: is|['’]s) (?:fine|ok|okay|great|good|too bad|bad|terrible))\b[,.!…\s-]{0,9}"
    r"|(?:yes|yeah|no|right|well|great|sure|sorry|good|fine|too bad|of course|interesting|cool|"
    r"nice)\s?[,.!…]{1,9}\s{0,9})+",
    re.IGNORECASE,
)
_PLEASE = re.compile(r",?\s?\bplease\b,?", re.IGNORECASE)


def plain(question: str) -> str:
    """The question without fillers before it and without `please`; as it is if little is left."""
    bare = _PLEASE.sub("", _LEAD.sub("", question)).strip()
    return bare if len(bare.split()) > 1 else question
