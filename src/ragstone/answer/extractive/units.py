"""What an extractive answer can be made of: sentences, whole lists, table rows, FAQ answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragstone.language.sentences import Span, sentences

Form = Literal["sentence", "list", "row", "answer", "heading", "fragment"]

LONGEST = 1000
"""Characters of a sentence in an answer; a longer one is divided."""

LIST_ITEMS, LIST_CHARS = 20, 2000
"""How much of a list is said."""

LED_CHARS = 400
"""Characters that are said of what a line with a colon leads to, where that is no list."""

ANSWER_SENTENCES = 3
"""Sentences of a FAQ answer that are said."""

BULLETS = "[-*+•·▪‣–○●]"
"""A pattern of what list items begin with."""

_ITEM = re.compile(rf"\s{{0,8}}(?:{BULLETS}|\(?\d{{1,3}}[.)、]|\(?[a-zA-Z][.)])\s+\S|[・①-⑳]")
_LEADS = re.compile(r"[:：]\s*$")
_QUESTION = re.compile(r"[?？؟]['\"”’»」』)\]*_]*$")
_SAYS = re.compile(r"[.!?。！？।؟…:：;]['\"”’»」』）)\]*_]*$|\||\S: ")
_ANSWERS = re.compile(
    r"(?:[*_]{0,2}(?:a|answer|antwort|réponse|respuesta|答案?|回答|답변?)[*_]{0,2} ?[:：.)]|答|답)"
    r"\s*",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")
_CELLS = re.compile(r"[^\s|][^|]*\||\|[^|]*[^\s|]")
_RECORD = re.compile(r"[^\s:;|][^:;|]{0,60}: [^;]*; [^;:]{1,60}: ")
_BREAK = re.compile(r"[;；。,，、](?=\s|[^\x00-\x7f])|\s")
_FIGURE = re.compile(r"\d")
_NUMBERED = re.compile(r"(?:§\s?)?\d{1,3}(?:\.\d{1,3})*[.)]?\s+(?=\S)")
_WORD = re.compile(r"[^\W_]+")
TITLE_WORDS = 12
LITTLE = 3
"""Letters of a word that has no capital in a heading."""


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """A stretch of a passage that is compared with the question (`start` to `end`), and what is
    `said` if it is chosen. `context` is read with it: a row's header."""

    start: int
    end: int
    said: tuple[Span, ...]
    form: Form = "sentence"
    context: str = ""


def units(text: str) -> list[AnswerUnit]:
    """The units of a passage in order; those that are compared do not overlap.

    A line that leads in a list stands for the list, a row of a table brings its header along, and
    a question stands for its answer. A numbered heading is one also where it ends with a full stop,
    and a first sentence without its beginning is a fragment.
    """
    spans = _divide_spans(text, sentences(text))
    headers = _headers(text, spans)
    found: list[AnswerUnit] = []
    for position, span in enumerate(spans):
        line = text[span.start : span.end]
        if position in headers:
            header = headers[position]
            if header is None:
                continue
            shown = (header, span) if header.end > header.start else (span,)
            context = text[header.start : header.end]
            found.append(AnswerUnit(span.start, span.end, shown, "row", context))
        else:
            found.append(_unit(text, spans, position, line))
    return found


def _unit(text: str, spans: Sequence[Span], position: int, line: str) -> AnswerUnit:
    span = spans[position]
    if _QUESTION.search(line):
        said = _answer(text, spans, position)
        return AnswerUnit(span.start, span.end, said or (span,), "answer" if said else "heading")
    last = _list_end(text, spans, position, line)
    if last is not None:
        return AnswerUnit(span.start, span.end, (Span(span.start, last),), "list")
    if (not _SAYS.search(line) and _is_own_line(text, span)) or _is_title(text, spans, position):
        return AnswerUnit(span.start, span.end, (span,), "heading")
    if not position and _is_torn(text, spans):
        return AnswerUnit(span.start, span.end, (span,), "fragment")
    led = _introduced_spans(text, spans, position) if _LEADS.search(line) else []
    return AnswerUnit(span.start, span.end, (span, *led))


def _introduced_spans(text: str, spans: Sequence[Span], position: int) -> list[Span]:
    """What a line leads to that ends with a colon: the rest of its paragraph, or the next one."""
    found: list[Span] = []
    for span in spans[position + 1 :]:
        before = found[-1] if found else spans[position]
        lines = text[before.end : span.start].count("\n")
        if lines > (1 if found else 2) or span.end - spans[position].end > LED_CHARS:
            break
        found.append(span)
    return found


def _is_title(text: str, spans: Sequence[Span], position: int) -> bool:
    """Whether a span is "3. Grant of License.": numbered, all but its little words in capitals, and
    not one of several such items."""
    line = text[spans[position].start : spans[position].end]
    number = _NUMBERED.match(line)
    if number is None or position + 1 == len(spans):
        return False
    words = _WORD.findall(line, number.end())
    large = [word for word in words if len(word) > LITTLE]
    following = spans[position + 1]
    return (
        1 < len(words) <= TITLE_WORDS
        and bool(large)
        and all(word[0].isupper() for word in large)
        and not any(_FIGURE.search(word) for word in words)
        and not _NUMBERED.match(text, following.start, following.end)
    )


def _is_torn(text: str, spans: Sequence[Span]) -> bool:
    """Whether the text begins inside a sentence: small, where a later one begins with a capital."""
    first, *later = (text[span.start] for span in spans)
    return first.islower() and any(letter.isupper() for letter in later)


def _is_own_line(text: str, span: Span) -> bool:
    """Whether the span is a line of its own, and no item of a list."""
    begins = not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip()
    ends = not text[span.end : span.end + 200].partition("\n")[0].strip()
    return begins and ends and not _ITEM.match(text, span.start, span.end)


def _divide_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of at most LONGEST characters, divided where a clause or a word ends."""
    pieces: list[Span] = []
    for span in spans:
        start = span.start
        while span.end - start > LONGEST:
            end = _break(text, start)
            pieces.append(Span(start, end))
            start = end + len(text[end : span.end]) - len(text[end : span.end].lstrip())
        if start < span.end:
            pieces.append(Span(start, span.end))
    return pieces


def _break(text: str, start: int) -> int:
    """Where a piece that begins at `start` ends: behind a mark or a word, no more than LONGEST."""
    half = start + LONGEST // 2
    window = text[half : start + LONGEST]
    marks = [m.end() for m in _BREAK.finditer(window) if not m.group().isspace()]
    gaps = [m.start() for m in _BREAK.finditer(window) if m.group().isspace()]
    return half + (marks or gaps or [len(window)])[-1]


def _list_end(text: str, spans: Sequence[Span], position: int, line: str) -> int | None:
    """Where the list ends that this line leads in, None if it leads in none."""
    leads = _LEADS.search(line) or (not _SAYS.search(line) and not _ITEM.match(line))
    end, items = None, 0
    for span in spans[position + 1 :] if leads else ():
        gap = text[spans[position].end : span.start] if not items else ""
        if span.end - spans[position].start > LIST_CHARS or gap.count("\n") > 2:
            break
        if _ITEM.match(text, span.start, span.end) and _begins_line(text, span):
            items += 1
        elif not items or _begins_line(text, span):
            break
        if items > LIST_ITEMS:
            break
        end = span.end
    return end if items > 1 else None


def _begins_line(text: str, span: Span) -> bool:
    return not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip()


def _answer(text: str, spans: Sequence[Span], position: int) -> tuple[Span, ...]:
    """What follows a question up to the next one, without an "A:" before it."""
    said: list[Span] = []
    for span in spans[position + 1 :]:
        line = text[span.start : span.end]
        heads = bool(said) and not _SAYS.search(line) and _is_own_line(text, span)
        if _QUESTION.search(line) or heads or len(said) == ANSWER_SENTENCES:
            break
        lead = _ANSWERS.match(line)
        start = span.start + (lead.end() if lead and not said else 0)
        if start < span.end:
            said.append(Span(start, span.end))
    return tuple(said)


def _headers(text: str, spans: Sequence[Span]) -> dict[int, Span | None]:
    """The header of every row of a table (an empty span if it has none) by the row's place; None
    for a line that is a header or a rule itself."""
    found: dict[int, Span | None] = {}
    header: Span | None = None
    for place, span in enumerate(spans):
        line = text[span.start : span.end]
        barred = "|" in line
        if not (barred and (_CELLS.search(line) or _RULE.fullmatch(line))):
            header = None
            if ";" in line and _RECORD.search(line[:LONGEST]):
                found[place] = Span(span.start, span.start)
        elif _RULE.fullmatch(line):
            found[place] = None
        elif header is None:
            following = spans[place + 1] if place + 1 < len(spans) else None
            heads = following is not None and _is_header_row(
                line, text[following.start : following.end]
            )
            header = span if heads else Span(span.start, span.start)
            found[place] = None if heads else header
        else:
            found[place] = header if header.end > header.start else Span(span.start, span.start)
    return found


def _is_header_row(line: str, following: str) -> bool:
    """Whether a row names the columns of the rows after it."""
    if _RULE.fullmatch(following):
        return True
    return "|" in following and not _FIGURE.search(line)
