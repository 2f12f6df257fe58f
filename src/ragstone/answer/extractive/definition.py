"""Questions for what something is ("What is a fjord?"), and sentences that say so."""

import re

from ragstone.answer.extractive.unit_words import leans

MOST_CHARS = 200
"""How much of a question and of a sentence's beginning is looked at."""

_ARTICLE = r"(?:an?|the|ein|eine|der|die|das|un|une|le|la|les|el|los|las|una)\s+|l['’]"
_ASKED = re.compile(
    r"(?:what(?:['’]s|\s+(?:is|are|was|were))(?:\s+meant\s+by)?"
    r"|what\s+do(?:es)?(?=.{1,90}\smeans?\W*$)|define"
    r"|was\s+(?:ist|sind|war|waren|bedeutet|versteht\s+man\s+unter)"
    r"|qu['’]est[-\s]ce\s+qu(?:e|['’])(?:\s*c['’]est\s+que)?"
    r"|¿?\s*qu[eé]\s+(?:es|son|era|significa))\b\s*"
    rf"(?:{_ARTICLE})?(?P<term>.{{2,80}}?)(?:\s+means?)?\W*$",
    re.IGNORECASE,
)
_ASKED_CHINESE = re.compile(
    r"(?:什么是|什麼是|何为|何謂)(?P<term>[^？?，,]{1,30})"
    r"|(?P<what>[^？?，,]{1,30})(?:是什么|是什麼|是指什么)(?:意思)?\W*$"
)
_SAYS = (
    r"(?:\s*\([^)]{1,60}\))?,?\s*"
    r"(?:(?:is|are|was|were|(?:shall\s+)?means?|refers?\s+to|denotes?|describes?|stands\s+for"
    r"|ist|sind|war|waren|bedeutet|bezeichnet|est|sont|désigne|es|son|era|significa)\b|是|指|即)"
)


def defined_term(question: str) -> str:
    """What the question asks the meaning of (casefolded), empty if it asks something else or of
    something that only stands for it: "What is it?"."""
    asked = question.strip()[:MOST_CHARS]
    found = _ASKED.match(asked) or _ASKED_CHINESE.match(asked)
    term = next(filter(None, found.groups()), "").strip("\"'“”„«»「」《》 ") if found else ""
    return "" if leans(term) else term.casefold()


def defines(sentence: str, term: str) -> bool:
    """Whether a sentence begins with the term (casefolded) and goes on with what it is."""
    begin = " ".join(sentence[:MOST_CHARS].casefold().split())
    lead = rf"\W*(?:{_ARTICLE})?[\"“„«'「《*_]*"
    return re.match(rf"{lead}{re.escape(term)}[\"”“»'」》*_]*{_SAYS}", begin) is not None
