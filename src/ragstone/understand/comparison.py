"""The two things that a question compares, by rules."""

import re
from dataclasses import dataclass

_ITEM = r"[^\s,;?.!](?:[^,;?.!]{0,58}?[^\s,;?.!])??"
_COMPARED = re.compile(
    r"^(?P<before>.{0,80}?)(?:\b(?:differences?|similarit(?:y|ies)|comparison|distinction|"
    r"relationship|choice|unterschiede?|diferencias?|différences?)\s"
    r"(?:(?:in|im|beim?|en|de)\s[^,;?.!]{1,60}?\s)?(?:between|of|zwischen|entre)\s"
    r"|\b(?:compare|contrast|vergleiche|compara|comparez)\s)"
    rf"(?P<a>{_ITEM})\s(?:and|und|y|e|et|with|to|mit|con|avec|vs\.?|versus)\s(?P<b>{_ITEM})"
    r"(?P<after>\s(?:in|on|for|by|with respect to|regarding|in terms of)\s[^?.!]{1,80})?[?.!\s]*$",
    re.IGNORECASE,
)
_VERSUS = re.compile(rf"^(?P<a>{_ITEM})\s(?:vs\.?|versus)\s(?P<b>{_ITEM})[?.!\s]*$", re.IGNORECASE)
_CHOICE = re.compile(
    rf"^(?P<aspect>.{{0,120}}?)[,:]\s(?P<a>{_ITEM})\s(?:or|oder|o|ou)\s(?P<b>{_ITEM})\s*\?",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:比较|对比|比較)?(?P<a>[^\s，。？和与跟]{1,30})[和与跟](?P<b>[^\s，。？]{1,30}?)"
    r"(?:之间)?(?P<after>的[^\s，。？]{1,20}?)?(?:的|有什么|有何)"
    r"(?:区别|不同|差异|差別|异同|关系|优缺点)"
)
_HEAD = re.compile(r"^[^\n]{1,50}?\s(?:of|for|in|von|de)\s(?:the\s)?", re.IGNORECASE)
"""What two things that are compared have in common: `the revenue of`."""
_LEAD = re.compile(r"^(?:what|which|who|is|are|the|between|please|can you)\s", re.IGNORECASE)
_SAME_PLACE = re.compile(
    rf"^(?P<aspect>.{{4,120}}?)\s(?P<place>in|on|at|for|by|during|since|im|am|à|en|el)\s(?P<a>{_ITEM})"
    rf"\s(?:or|than|oder|ou|o)\s(?P=place)\s(?P<b>{_ITEM})\s*\?",
    re.IGNORECASE,
)
"""More in 2014 or in 2015."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things, and what the question says before and after them."""

    first: str
    second: str
    aspect: str = ""
    after: str = ""


def comparison(question: str) -> Comparison | None:
    """Return what the question compares; None where it compares nothing."""
    for pattern in (_COMPARED, _VERSUS, _CHOICE, _CHINESE, _SAME_PLACE):
        match = pattern.search(question)
        if match:
            groups = match.groupdict()
            first, second = (_LEAD.sub("", groups[name]).strip() for name in ("a", "b"))
            head = _HEAD.match(first)
            if head and not _HEAD.match(second):
                second = head.group() + second
            return Comparison(first, second, groups.get("aspect") or "", groups.get("after") or "")
    return None
