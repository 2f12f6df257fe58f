"""What an extractive answer can be made of: sentences, whole lists, table rows, code, FAQ answers.

The blocks of a passage say what is a heading, an item, a row or code; nothing is told from looks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragstone.core.document import BlockKind, BlockSpan, announces
from ragstone.language.outline import outline
from ragstone.language.sentences import Span, ends_sentence, sentences

Form = Literal["sentence", "list", "row", "code", "answer", "heading", "fragment"]

LED: frozenset[Form] = frozenset({"sentence", "list"})
"""Forms that are read and said with the lines that introduce them."""

UNANSWERING: frozenset[Form] = frozenset({"heading", "fragment"})
"""Forms that no answer is made of where there is another."""

MAX_SENTENCE_CHARS = 1000
"""Characters of a sentence in an answer; a longer one is divided."""

LIST_ITEMS, LIST_CHARS = 20, 2000
"""How much of a list is said."""

CODE_CHARS = 2000
"""Characters of the longest code that is said; a longer one is cut after a line."""

LED_CHARS = 400
"""Characters that are said of what a line with a colon leads to, where that is not a list."""

ANSWER_SENTENCES = 3
"""Sentences of a FAQ answer that are said."""

SECTION_SENTENCES = 3
"""Sentences of a section that are said where its heading is what was asked."""

_QUESTION = re.compile(r"[?？؟]['\"”’»」』)\]*_]*$")
_ANSWERS = re.compile(
    r"(?:[*_]{0,2}(?:a|answer|antwort|réponse|respuesta|答案?|回答|답변?)[*_]{0,2} ?[:：.)]|答|답)"
    r"\s*",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")
_BREAK = re.compile(r"[;；。,，、](?=\s|[^\x00-\x7f])|\s")
_FIGURE = re.compile(r"\d")

_PROSE = frozenset({"paragraph", "admonition", "quote", "item"})
_BESIDE = frozenset({"caption", "header"})
"""Blocks that tell of a document or a picture: they answer little by themselves."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A sentence, a row, an item, or a whole heading or code, with the block that it is of."""

    start: int
    end: int
    block: BlockSpan

    @property
    def kind(self) -> BlockKind:
        return self.block.kind

    @property
    def begins(self) -> bool:
        """Whether the block begins here."""
        return self.start == self.block.start


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """A stretch of a passage that is compared with the question (`start` to `end`), and what is
    `said` if it is chosen. `context` is read with it: a row's header, or the lines that introduce
    the list that it is in."""

    start: int
    end: int
    said: tuple[Excerpt, ...]
    form: Form = "sentence"
    context: str = ""


def units(text: str, blocks: Sequence[BlockSpan] = ()) -> list[AnswerUnit]:
    """Return the units of a passage in order; those that are compared do not overlap.

    A line that leads in a list or code stands for that too, a heading for the beginning of its
    section, a row of a table brings its header along, and a question stands for its answer.
    Where no blocks are known, `outline` finds them.
    """
    pieces = [p for block in blocks or outline(text) for p in _pieces(text, block)]
    headers = _headers(text, pieces)
    found: list[AnswerUnit] = []
    for place, piece in enumerate(pieces):
        if place not in headers:
            unit = _unit(text, pieces, place)
            lead = piece.block.lead if unit.form in LED else ""
            found.append(replace(unit, context=lead) if lead else unit)
        elif (header := headers[place]) is not None:
            shown = (header, piece) if header.end > header.start else (piece,)
            context = text[header.start : header.end] or piece.block.label
            found.append(AnswerUnit(piece.start, piece.end, shown, "row", context))
    return found


def _pieces(text: str, block: BlockSpan) -> list[Excerpt]:
    own = text[block.start : block.end]
    if block.kind == "code":
        lead = len(own) - len(own.lstrip("\n"))
        spans = [Span(lead, len(own.rstrip()))]
    elif block.kind in ("table", *_BESIDE):
        spans = _divide_spans(own, _lines(own))
    elif block.kind == "heading":
        lead = len(own) - len(own.lstrip())
        spans = [Span(lead, len(own.rstrip()))]
    else:
        spans = _divide_spans(own, sentences(own))
    by = block.start
    return [Excerpt(s.start + by, s.end + by, block) for s in spans if s.end > s.start]


def _lines(text: str) -> list[Span]:
    spans, start = [], 0
    for line in text.splitlines(keepends=True):
        if bare := line.strip():
            first = start + line.index(bare[0])
            spans.append(Span(first, first + len(bare)))
        start += len(line)
    return spans


def _unit(text: str, pieces: Sequence[Excerpt], place: int) -> AnswerUnit:
    piece = pieces[place]
    start, end = piece.start, piece.end
    line = text[start:end]
    if piece.kind == "code":
        leading = _lead_line(text, pieces, place)
        label = " ".join(
            text[excerpt.start : excerpt.end] for excerpt in leading if excerpt.kind == "caption"
        )
        return AnswerUnit(start, end, (*leading, _code(text, piece)), "code", label)
    if piece.kind in _BESIDE:
        return AnswerUnit(start, end, (piece,), "fragment")
    if _QUESTION.search(line):
        said = _answer(text, pieces, place)
        return AnswerUnit(start, end, said or (piece,), "answer" if said else "heading")
    if listed := _find_introduced_list(text, pieces, place):
        return AnswerUnit(start, end, (piece, *listed), "list")
    if piece.kind == "heading":
        said = tuple(_section(text, pieces[place + 1 :]))
        return AnswerUnit(start, end, said or (piece,), "heading")
    return AnswerUnit(start, end, (piece, *_find_introduced(text, pieces, place)))


def _section(text: str, pieces: Sequence[Excerpt]) -> Iterator[Excerpt]:
    """Yield what is said of a heading's section: its first sentences, up to the first code."""
    said = 0
    for piece in pieces:
        if piece.kind == "heading":
            return
        if piece.kind == "code":
            yield _code(text, piece)
            return
        said += piece.kind not in _BESIDE
        if said <= SECTION_SENTENCES and piece.kind not in _BESIDE:
            yield piece


def _code(text: str, code: Excerpt) -> Excerpt:
    """Return the code, or the lines of it that are said."""
    if code.end - code.start <= CODE_CHARS:
        return code
    end = text.rfind("\n", code.start, code.start + CODE_CHARS)
    return replace(code, end=end if end > code.start else code.start + CODE_CHARS)


def _lead_line(text: str, pieces: Sequence[Excerpt], place: int) -> list[Excerpt]:
    """Return the sentence before code that leads it in, or its caption: the name of a tab."""
    before = pieces[place - 1] if place else None
    if before is None:
        return []
    leads = before.kind in _PROSE and announces(text[before.start : before.end])
    return [before] if leads or before.kind == "caption" else []


def _find_introduced(text: str, pieces: Sequence[Excerpt], place: int) -> list[Excerpt]:
    """Return what a sentence leads to: the code right after it; where it ends with a colon, also
    the rest of its paragraph, the next one, or the table."""
    piece, found = pieces[place], list[Excerpt]()
    leads = announces(text[piece.start : piece.end])
    for following in pieces[place + 1 :]:
        if following.kind == "code":
            return [*found, _code(text, following)] if leads or not found else found
        near = following.block in (piece.block, pieces[place + 1].block)
        if not leads or not near or following.end - piece.end > LED_CHARS:
            break
        if following.kind not in ("paragraph", "admonition", "quote", "table"):
            break
        found.append(following)
    return found


def _divide_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Divide spans of over MAX_SENTENCE_CHARS where a clause or a word ends."""
    pieces: list[Span] = []
    for span in spans:
        start = span.start
        while span.end - start > MAX_SENTENCE_CHARS:
            end = _break(text, start)
            pieces.append(Span(start, end))
            start = end + len(text[end : span.end]) - len(text[end : span.end].lstrip())
        if start < span.end:
            pieces.append(Span(start, span.end))
    return pieces


def _break(text: str, start: int) -> int:
    """Find where a piece from `start` on ends: behind a mark or a word, if that is near enough."""
    half = start + MAX_SENTENCE_CHARS // 2
    window = text[half : start + MAX_SENTENCE_CHARS]
    marks = [m.end() for m in _BREAK.finditer(window) if not m.group().isspace()]
    gaps = [m.start() for m in _BREAK.finditer(window) if m.group().isspace()]
    return half + (marks or gaps or [len(window)])[-1]


def _find_introduced_list(text: str, pieces: Sequence[Excerpt], place: int) -> list[Excerpt]:
    """Return the items, with their code, of the list that this line leads in: a sentence with a
    colon, or a heading."""
    piece = pieces[place]
    leads = piece.kind == "heading" or announces(text[piece.start : piece.end])
    found: list[Excerpt] = []
    items = 0
    for following in pieces[place + 1 :] if leads else ():
        if following.kind == "caption" and not items:
            continue
        if following.kind not in ("item", "code") or (following.kind == "code" and not items):
            break
        items += following.kind == "item" and following.begins
        too_long = following.end - piece.start > LIST_CHARS
        if items > LIST_ITEMS or too_long or _is_above(following, piece):
            break
        if found and following.block is found[-1].block:
            following = replace(following, start=found.pop().start)
        found.append(following)
    return found if items > 1 else []


def _is_above(item: Excerpt, lead: Excerpt) -> bool:
    """Tell whether an item belongs to a list that the leading item is itself in."""
    return item.kind == lead.kind == "item" and item.block.level <= lead.block.level


def _answer(text: str, pieces: Sequence[Excerpt], place: int) -> tuple[Excerpt, ...]:
    """Return what follows a question up to the next one or a heading, without an "A:" before it."""
    said: list[Excerpt] = []
    for piece in pieces[place + 1 :]:
        line = text[piece.start : piece.end]
        if piece.kind == "heading" or _QUESTION.search(line) or len(said) == ANSWER_SENTENCES:
            break
        lead = _ANSWERS.match(line)
        start = piece.start + (lead.end() if lead and not said else 0)
        if start < piece.end:
            said.append(replace(piece, start=start))
    return tuple(said)


def _headers(text: str, pieces: Sequence[Excerpt]) -> dict[int, Excerpt | None]:
    """Return the header of every row of a table (an empty one if it has none) by the row's place;
    None for a line that is a header or a rule itself."""
    found: dict[int, Excerpt | None] = {}
    header: Excerpt | None = None
    for place, piece in enumerate(pieces):
        if piece.kind != "table":
            continue
        if header and header.block is not piece.block:
            header = None
        line = text[piece.start : piece.end]
        none = replace(piece, end=piece.start)
        if "|" not in line:
            found[place] = none
        elif _RULE.fullmatch(line):
            found[place] = None
        elif header is None:
            heads = _heads(text, pieces, place)
            header = piece if heads else none
            found[place] = None if heads else none
        else:
            found[place] = header if header.end > header.start else none
    return found


def _heads(text: str, pieces: Sequence[Excerpt], place: int) -> bool:
    """Tell whether a row names the columns of the next one."""
    following = pieces[place + 1] if place + 1 < len(pieces) else None
    if following is None or following.block is not pieces[place].block:
        return False
    line, after = (text[item.start : item.end] for item in (pieces[place], following))
    if _RULE.fullmatch(after):
        return True
    # Two rows that end a sentence are both data.
    data = _FIGURE.search(line) or all(ends_sentence(row.rstrip(" |")) for row in (line, after))
    return "|" in after and not data
