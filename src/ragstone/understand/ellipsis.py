"""English follow-ups that leave out most of their question."""

import re

from ragstone.understand.antecedents import Entity
from ragstone.understand.mentions import mentions, names

_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_ABOUT = re.compile(
    r"^(?:and |but |so )?(?:what|how) about (?P<what>[^?.!]{2,80})[?.!\s]*$|"
    r"^and (?P<rest>(?:in |for |of |with |on |the |an? )?[^?.!]{2,60})[?.!\s]*$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"(?P<at>in|on|for|with|at|from|under|during|by)\s", re.IGNORECASE)
_AT_THE_END = re.compile(
    r"\b(?:of|in|for|from|at|by|with|on)\s(?:the\s|a\s)?(?P<old>[^\W\d_][\w'’-]*(?:\s\w+)?)$",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^(?P<wh>why|how|when|where|who)(?: (?:so|not|is that|was that|then|exactly))?[?.!\s]*$",
    re.IGNORECASE,
)
_OPENED = re.compile(
    r"^(?:(?:what|which)(?: \w+)?|why|how|when|where|who) "
    r"(?P<rest>(?:do|does|did|can|could|will|would|should)\b.*)$",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have|had)\b", re.IGNORECASE
)
_HAPPENED = re.compile(r"\bhappen(?:ed|s|ing)?\b(?! to\b| with\b)", re.IGNORECASE)
_GROUP = re.compile(
    r"\bthe (?:band|group|team|company|duo|club|organi[sz]ation|agency)\b(?!['’]s)", re.IGNORECASE
)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|am|was|were|be|do|does|did|has|have|had|can|could|will|would|should|must)\b",
    re.IGNORECASE,
)

MOST_EXCHANGED = 4
"""Words of what is put in the place of something else."""

FRAGMENT = 3
"""Words of a question without a verb that are only a part of one."""

SHORT = 8
"""Words of a question whose `the` points at the topic."""

CERTAIN = 5.0
"""Weight from which the topic of a conversation is added to a question that does not name it."""


def framed(question: str, before: str) -> str:
    """`question` in the frame of the one before, if it is only a part of one; else empty.

    `And in 2019?` after `Who won the cup in 2018?` gives `Who won the cup in 2019?`.
    """
    if not before or len(before) > 200:
        return ""
    bare = _BARE.match(question)
    if bare:
        return _asked_why(bare.group("wh"), before)
    about = _ABOUT.match(question)
    if not about:
        return ""
    what = (about.group("what") or about.group("rest")).strip()
    return _exchanged(what, before)


def _asked_why(wh: str, before: str) -> str:
    opened = _OPENED.match(before)
    if opened:
        return f"{wh.capitalize()} {opened.group('rest')}"
    if _YES_NO.match(before):
        return f"{wh.capitalize()} {before[0].lower()}{before[1:]}"
    return ""


def _exchanged(what: str, before: str) -> str:
    """`before` with `what` in place of its like: a year for a year, a name for a name, a phrase for
    the phrase after the same preposition, or at its end."""
    body = before.rstrip("?!. ")
    year, years = _YEAR.search(what), _YEAR.findall(before)
    if year and len(what.split()) <= 2 and len(years) == 1:
        return _YEAR.sub(year.group(), before, count=1)
    if placed := _PLACED.match(what):
        start = re.search(rf"\s{placed.group('at')}\s[^?.!]{{2,40}}$", body, re.IGNORECASE)
        return f"{body[: start.start()] if start else body} {what}?"
    if len(what.split()) > MOST_EXCHANGED:
        return ""
    if what[0].isupper() and (named := names(before)):
        old = named[-1]
    elif ended := _AT_THE_END.search(body):
        return f"{body[: ended.start('old')]}{what}?"
    else:
        return ""
    return before[: old.start] + what + before[old.start + len(old.text) :]


def about(question: str, topic: Entity | None) -> str:
    """The question with the topic that it leaves out; empty if it names one or the topic is not
    certain enough."""
    if topic is None or not topic.proper or names(question):
        return ""
    if not topic.subject and topic.weight < CERTAIN:
        return ""
    words = len(question.split())
    if happened := _HAPPENED.search(question):
        return f"{question[: happened.end()]} to {topic.name}{question[happened.end() :]}"
    if group := _GROUP.search(question):
        return f"{question[: group.end()]} {topic.name}{question[group.end() :]}"
    if words <= FRAGMENT and not _VERB.search(question):
        return f"{topic.name}: {question}"
    if words <= SHORT and _THE.search(question):
        return f"{question.rstrip('?!. ')} of {topic.name}?"
    return ""


def named_only(question: str) -> str:
    """A question that only names something, as the question what that is; else empty."""
    bare = question.strip(" ?!.")
    found = mentions(bare)
    if len(found) != 1 or found[0].text != bare:
        return ""
    return f"What {'are' if found[0].kind == 'many' else 'is'} {bare}?"
