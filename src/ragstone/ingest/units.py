"""The smallest spans that pieces are packed from: sentences, rows, lines, or parts of them."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ragstone.core.document import BlockSpan
from ragstone.ingest.document import Block
from ragstone.language.sentences import sentences

_LINE_END = re.compile(r"\n\s*")
_WORD_END = re.compile(r"\s+|[、，,;；：/]+\s*|(?<=\w)-(?=\w)")
_JOINERS = "\u200d\ufe0e\ufe0f"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")

BLOCK, SENTENCE, WORD, ANYWHERE = 3, 2, 1, 0
"""How good it is to cut before a unit."""

Length = Callable[[str], int]
Span = tuple[int, int, int]
"""Start, end and the strength of the cut before it."""


@dataclass(frozen=True, slots=True)
class ChunkUnit:
    """A span of the document without white space around it.

    `lead` is the white space between the unit before and this one. `strength` says how good it
    is to cut before it. `block` is the block that it is of, in the document's text. `whole` marks
    a table that is not taken apart.
    """

    text: str
    start: int
    lead: str
    strength: int
    block: BlockSpan
    whole: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def heading(self) -> bool:
        return self.block.kind == "heading"


def split_block(
    block: Block, position: int, lead: str, size: int, length: Length
) -> Iterator[ChunkUnit]:
    """Take a block apart that starts at `position` in the document, after white space `lead`.

    Units measure at most a quarter of `size`, so that pieces fill well and overlap finely; but a
    table stays whole up to twice the size, code up to the size.
    """
    text, table = block.text, block.kind == "table"
    measured = length(text.strip()) if table or block.kind == "code" else 0
    whole = table and measured <= 2 * size
    if whole or (block.kind == "code" and measured <= size):
        spans: Iterator[Span] = iter([(0, len(text), BLOCK)])
    else:
        spans = _spans(block, max(size // 4, 1), length)
    places = tuple(replace(place, start=position + place.start) for place in block.all_places)
    end = position + len(text)
    span = BlockSpan(
        block.kind, position, end, block.level, block.label, places, block.pictures, block.lead
    )
    unit = ChunkUnit("", position, "", BLOCK, span, whole)
    before = 0
    for start, end, strength in spans:
        inner = text[start:end].strip()
        if not inner:
            continue
        start = text.index(inner[0], start)
        gap = lead + text[:start] if not before else text[before:start]
        strength = strength if before else BLOCK
        yield replace(unit, text=inner, start=position + start, lead=gap, strength=strength)
        before = start + len(inner)


def _spans(block: Block, limit: int, length: Length) -> Iterator[Span]:
    start = 0
    for end in _sentence_ends(block):
        if length(block.text[start:end].strip()) <= limit:
            yield start, end, SENTENCE
        else:
            yield from _cut_sentence(block.text, start, end, limit, length)
        start = end


def _sentence_ends(block: Block) -> Iterator[int]:
    """Where sentences end; in a table and in code lines, in a list items."""
    text = block.text
    if block.kind in ("table", "code"):
        ends = [match.end() for match in _LINE_END.finditer(text)]
    elif block.kind == "item":
        ends = []
    else:
        ends = [span.start for span in sentences(text)[1:]]
    yield from ends
    if not ends or ends[-1] < len(text):
        yield len(text)


def _cut_sentence(text: str, start: int, end: int, limit: int, length: Length) -> Iterator[Span]:
    """Cut a long sentence between words, and a long word between characters."""
    strength = SENTENCE
    while start < end:
        room = _longest_prefix(text, start, end, limit, length)
        if room >= end:
            yield start, end, strength
            return
        cut = _word_end(text, start, room)
        yield start, cut or room, strength
        start, strength = cut or room, WORD if cut else ANYWHERE


def _longest_prefix(text: str, start: int, end: int, limit: int, length: Length) -> int:
    """The end of the longest prefix within the limit, found by shrinking a first guess."""
    count = end - start
    if length is len:
        count = min(count, limit)
    else:
        count = min(count, limit * 16)
        while count > 1 and (measured := length(text[start : start + count])) > limit:
            count = max(1, min(count - 1, count * limit // measured))
    return _whole_character(text, start, start + count) if start + count < end else end


def _word_end(text: str, start: int, room: int) -> int:
    """The last end of a word in the second half of the span, 0 if there is none."""
    cut = 0
    for match in _WORD_END.finditer(text, start + (room - start) // 2, room):
        cut = match.end()
    return cut


def _whole_character(text: str, start: int, cut: int) -> int:
    """Move a cut back so that marks, joiners and skin tones stay with their character."""
    place = cut
    while place > start and _continues(text, place):
        place -= 1
    return place if place > start else cut


def _continues(text: str, place: int) -> bool:
    char = text[place]
    return (
        unicodedata.category(char).startswith("M")
        or char in _JOINERS
        or text[place - 1] == "\u200d"
        or _SKIN_TONES[0] <= char <= _SKIN_TONES[1]
    )
