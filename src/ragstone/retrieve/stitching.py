"""Widening and narrowing a chunk: the text stays the document's, from start to end."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.language.sentences import Span

WIDEST_GAP = 200
"""Characters between two chunks that can only be space; more means that something lies between."""

_BREAK = re.compile(
    r"""\n[^\S\n]*\n\s*            # a blank line
    |(?<=[.!?:;。！？：；।])\s*\n    # the end of a sentence that is the end of a line
    |\n(?=\s*(?:[-*+•|>#]|\d+[.)]\s))  # an item of a list, a row of a table, a heading
    """,
    re.VERBOSE,
)
_HEADING_CHARACTERS = 80


def stitched(chunks: Sequence[Chunk], around: Chunk) -> Chunk:
    """`around`, with the text of the chunks that adjoin it on either side in the same document."""
    ordered = sorted({c.chunk_index: c for c in (*chunks, around)}.items())
    place = [index for index, _ in ordered].index(around.chunk_index)
    wide = around
    for _, chunk in ordered[place + 1 :]:
        if chunk.start - wide.end > WIDEST_GAP:
            break
        wide = _joined(wide, chunk)
    for _, chunk in reversed(ordered[:place]):
        if wide.start - chunk.end > WIDEST_GAP:
            break
        wide = _joined(chunk, wide)
    return replace(around, text=wide.text, start=wide.start, end=wide.end, page=wide.page)


def paragraphs(text: str) -> Iterator[Span]:
    """The paragraphs of `text`, each heading with what it stands over."""
    start = end = 0
    for match in (*_BREAK.finditer(text), None):
        end = match.start() if match else len(text)
        part = text[start:end].strip()
        if part and not (match and _is_heading(part)):
            yield Span(start, end)
            start = match.end() if match else end


def _is_heading(text: str) -> bool:
    """Whether `text` is one short line that ends without a full stop."""
    return (
        len(text) <= _HEADING_CHARACTERS
        and "\n" not in text
        and text[-1].isalnum()
        and not text.startswith(("-", "*", "+", "•", "|", ">"))
    )


def narrowed(chunk: Chunk, span: Span) -> Chunk:
    """The part of `chunk` that `span` names."""
    return replace(
        chunk,
        text=chunk.text[span.start : span.end],
        start=chunk.start + span.start,
        end=chunk.start + span.end,
    )


def _joined(first: Chunk, second: Chunk) -> Chunk:
    """Both as one; what they share stands once, and the space between them becomes line ends."""
    if second.end <= first.end:
        return first
    gap = "\n" * max(0, second.start - first.end)
    rest = second.text[max(0, first.end - second.start) :]
    return replace(first, text=first.text + gap + rest, end=second.end)
