"""Plain text and logs, read in bounded memory."""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from ragstone.core.document import BlockSpan
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import Format
from ragstone.language.outline import outline

MAX_BLOCK_CHARS = 8000
"""Where a paragraph without an end is cut, so that memory stays bounded."""

_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_·–—])(?:\s?\1){2,}")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_LEADER = re.compile(r"(?:\.\s?){4,}|…+\s*\d|(?:·\s?){3,}")
_GAP = re.compile(r"\s{3,}|\t+")
_PART_CHARS = 1 << 19
_DIVIDING = "\u2010\u00ad"
"""Hyphens that nobody types: `man` and others divide words by them."""

_WRAPPED = 0.6
"""How full a line is, of the longest, where the next one goes on with it."""

_PAGE_END = re.compile(
    r"(?P<before>\S)[ \t]*\n\s*\S[^\n]*\[[Pp]age \w{1,5}\][ \t]*\n[\s\f]*"
    r"(?:\S[^\n]*\S[ \t]{2,}\S[^\n]*(?:19|20)\d\d[ \t]*\n\s*?\n)?(?:[ \t]*\n)*"
    r"(?P<indent>[ \t]*)(?P<after>\S)"
)
"""A foot with the page's number, and a head with a year in columns."""

_PAGE_FEED = re.compile(r"\f")


def parse_text(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return headings, paragraphs, items and so on, as the lines of a text show them."""
    return Parsed("", _text_blocks(path))


def outline_text(text: str) -> Iterator[Block]:
    """Yield the blocks of a plain text. Rules, page numbers and running heads are left out."""
    text = _without_pages(text)
    for span in outline(text):
        yield from _block(text[span.start : span.end], span)


def _block(text: str, span: BlockSpan) -> Iterator[Block]:
    if span.kind == "code":
        lines = [line for line in dedent(text.expandtabs(8)).split("\n") if not _FENCE.match(line)]
        yield from _cut("\n".join(lines).strip("\n").rstrip(), span)
    elif span.kind == "heading":
        lines = [line.strip() for line in text.split("\n")]
        shown = " ".join(line for line in lines if line and not _UNDERLINE.fullmatch(line))
        if shown := " ".join(shown.lstrip("# ").split()):
            yield Block(shown, "heading", span.level)
    elif span.kind == "table":
        yield from _table(text, span)
    elif span.kind == "quote":
        yield from _cut(_join_wrapped([line.lstrip("> ") for line in text.split("\n")]), span)
    elif span.kind != "header" or not _UNDERLINE.fullmatch(text.strip()):
        keeps = span.kind == "header"
        lines = [" ".join(line.split()) for line in text.split("\n")]
        yield from _cut("\n".join(filter(None, lines)) if keeps else _join_wrapped(lines), span)


def _cut(text: str, span: BlockSpan) -> Iterator[Block]:
    """Yield the text as one block; one without an end is cut between words."""
    while len(text) > MAX_BLOCK_CHARS:
        at = max(text.rfind("\n", 0, MAX_BLOCK_CHARS), text.rfind(" ", 0, MAX_BLOCK_CHARS))
        at = at if at > 0 else MAX_BLOCK_CHARS
        yield Block(text[:at], span.kind, span.level, label=span.label)
        text = text[at:].lstrip()
    if text.strip():
        yield Block(text, span.kind, span.level, label=span.label)


def _table(text: str, span: BlockSpan) -> Iterator[Block]:
    """Cells between bars, or columns parted by wide gaps; a table of contents stays as it is."""
    lines = [line for line in text.split("\n") if line.strip()]
    if all(line.strip().startswith("|") for line in lines):
        rows = [line.strip().strip("|").split("|") for line in lines]
        filled = (row for row in rows if any(cell.strip(" :-") for cell in row))
        yield from table_blocks(filled, merged=())
    elif any(_LEADER.search(line) for line in lines):
        yield from _cut("\n".join(" ".join(line.split()) for line in lines), span)
    else:
        yield from _columns(lines, span)


def _columns(lines: list[str], span: BlockSpan) -> Iterator[Block]:
    rows = [_GAP.split(line.strip()) for line in lines if not _UNDERLINE.fullmatch(line.strip())]
    if len({len(row) for row in rows}) == 1:
        yield from table_blocks(rows, merged=())
    else:
        yield from _cut("\n".join(" | ".join(row) for row in rows), span)


def _join_wrapped(lines: list[str]) -> str:
    """Return lines that were wrapped become one; short ones stay lines. A hyphen that is typed is
    kept at an end, one that only a program puts there to divide a word is not."""
    kept = [line for line in (" ".join(line.split()) for line in lines) if line]
    width = max(map(len, kept), default=0)
    parts: list[str] = []
    for at, line in enumerate(kept):
        before = kept[at - 1] if at else ""
        if at == 0:
            parts.append(line)
        elif len(before) >= width * _WRAPPED or line[0].islower() or len(kept) == 2:
            if before[-1] in _DIVIDING and _is_one_word(before[-2:-1], line[0]):
                parts[-1] = parts[-1][:-1]
                parts.append(line)
                continue
            cjk = _is_cjk(before[-1]) and _is_cjk(line[0])
            joint = "" if cjk or (before.endswith("-") and before[-2:-1].isalpha()) else " "
            parts.append(f"{joint}{line}")
        else:
            parts.append(f"\n{line}")
    return "".join(parts)


def _is_one_word(end: str, start: str) -> bool:
    """Tell whether a word that ends with one letter may go on with the other."""
    return end.isalpha() and (start.islower() or (end.isupper() and start.isupper()))


def _is_cjk(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"


def _without_pages(text: str) -> str:
    """The text without the feet and heads of its pages. A paragraph goes on over a page's end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _PAGE_FEED.sub("\n\n", _PAGE_END.sub(_page_joint, text))


def _page_joint(match: re.Match[str]) -> str:
    """Return a paragraph that goes on is joined; else the pages are parted by an empty line."""
    goes_on = match["before"] not in ".:;!?)" and match["after"].islower()
    return f"{match['before']}\n{'' if goes_on else chr(10)}{match['indent']}{match['after']}"


def _text_blocks(path: Path) -> Iterator[Block]:
    """The blocks of a file, read in parts of half a million characters that end at empty lines."""
    with open_text(path) as file:
        held = ""
        while part := file.read(_PART_CHARS):
            held += part.replace("\x00", "")
            # In the second half, so that parts do not become ever smaller.
            cut = held.rfind("\n\n", len(held) // 2) + 2
            cut = cut if cut > 1 else held.rfind("\n", len(held) // 2) + 1
            cut = cut or len(held)
            if len(part) == _PART_CHARS:
                yield from outline_text(held[:cut])
                held = held[cut:]
        yield from outline_text(held)


TEXT = Format("text/plain", parse_text)
