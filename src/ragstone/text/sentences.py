"""Splitting text into sentences by rules, for many languages."""

import re
from dataclasses import dataclass

_SHORT = (
    "mr mrs ms dr prof st jr sr vs etc e.g i.e no fig vol pp approx inc ltd co corp dept est "
    "jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b d.h u.a ca usw nr abs art hr fr "
    "bspw ggf inkl m mme mlle p.ex cf env av sra srta ud uds "
)

_ABBREVIATIONS = frozenset(_SHORT.split())
_END = re.compile(
    r"[。！？]++[」』”’）)]*+"
    # No start inside a run, and none given up: a row of dots must not cost its length squared.
    r"|(?<![.!?؟।…])[.!?؟।…]++[\"'“”‘’«»)\]]*+(?:[ \u00a0\u202f]»)?"
    r"(?:\[\^?\d[\d, ]{0,12}\])*+(?=\s|$)"
    r"|\n\s*+"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""A name of letters, as in U.S. or p.m.: its last full stop may end the sentence too."""

_STARTER = re.compile(
    r"(?:the|this|that|these|those|an?|he|she|it|they|we|you|his|her|its|their|our|in|on|at|by|for|"
    r"from|as|but|and|or|if|when|while|after|before|however|there|some|many|most)\b",
    re.IGNORECASE,
)
_OF_ORDINAL = re.compile(
    r"(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|"
    r"jahrhundert|jahrtausend|weltkrieg)",
    re.IGNORECASE,
)
"""What a German ordinal ("3. Mai", "19. Jahrhundert") stands before."""

_WORD_BEFORE = re.compile(r"([^\s(\[\"'“]+)$")

_ITEM = re.compile(r"\s*(?:[-*+•·▪|#]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")
_ROW = re.compile(r"\||\S: [^;]*; \S[^;:]*: ")
"""A row of a table: cells between bars, or named ones."""

ROW_CHARS = 1000
"""How far a line is looked at to see whether it is a table's row."""

FULL_LINE = 60
"""A line of so many characters may have been wrapped; a shorter one ended on purpose."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text, from `start` to before `end`."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The sentences of `text` in order, without the space around them.

    Lines are boundaries, so list items and table rows are sentences of their own. The spans do
    not overlap, and cover every character that is not space.
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        if _goes_on(text, start, match) or _is_wrap(text, match):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    stripped = piece.strip()
    if stripped:
        spans.append(Span(start + lead, start + lead + len(stripped)))


def _goes_on(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a full stop is part of an abbreviation, an initial, an ordinal or a list number."""
    if match.group() != ".":
        return False
    before = _WORD_BEFORE.search(text[max(0, match.start() - 30) : match.start()])
    word = before.group(1) if before else ""
    after = text[match.end() : match.end() + 40].lstrip(" ")
    if word.casefold() in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper()):
        return True
    if _INITIALS.fullmatch(word):
        return bool(after) and not after.startswith("\n") and not _STARTER.match(after)
    if word.isdigit() and len(word) <= 2:
        listed = not text[start : match.start() - len(word)].strip()
        return listed or after[:1].islower() or bool(_OF_ORDINAL.match(after))
    return after[:1].islower()


def _is_wrap(text: str, match: re.Match[str]) -> bool:
    """Whether a line end is only where the line was full, not where something ended."""
    if not match.group().startswith("\n") or match.group().count("\n") > 1:
        return False
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].rstrip()
    after = text[match.end() : match.end() + 40]
    if (
        _ITEM.match(after)
        or _ROW.search(before[:ROW_CHARS])
        or before.endswith((":", ";", "：", "；"))
    ):
        return False
    return after[:1].islower() or len(before) >= FULL_LINE
