"""Cutting a document into pieces, streaming.

A piece is a span of the document's text (`document.document_text`). That text is first taken apart
into units (sentences, rows, lines, or less where those are long), which are then packed: a piece
ends at a paragraph if it is half full there, else at a sentence, else between words. A heading
starts a new section; pieces never span two, except that neighbouring sections of under a quarter of
the size go together under the headings that they share.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ragstone.core.document import STRUCK, BlockSpan, cut_blocks, find_page
from ragstone.ingest.document import Block, gap
from ragstone.ingest.kinds import chunk_kind
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


def cut_block(
    block: Block, position: int, lead: str, size: int, length: Length
) -> Iterator[ChunkUnit]:
    """Take a block apart that starts at `position` in the document, after white space `lead`.

    Units measure at most a quarter of `size`, so that pieces fill well and overlap finely; but a
    table stays whole up to twice the size, code up to the size.
    """
    text, table = block.text, block.kind == "table"
    measured = length(text.strip()) if table or block.kind == "code" else 0
    # Rows without the head of their table mean little, so a table may be twice as long.
    whole = table and measured <= 2 * size
    if whole or (block.kind == "code" and measured <= size):
        spans: Iterator[Span] = iter([(0, len(text), BLOCK)])
    else:
        spans = _spans(block, max(size // 4, 1), length)
    places = tuple(replace(place, start=position + place.start) for place in block.all_places)
    end = position + len(text)
    label = block.label[:_LABEL_CHARS]
    span = BlockSpan(
        block.kind, position, end, block.level, label, places, block.pictures, block.lead
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
    """Yield where sentences end; in a table and in code lines, in a list items."""
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
    """Return the end of the longest prefix within the limit, found by shrinking a first guess."""
    count = end - start
    if length is len:
        count = min(count, limit)
    else:
        # A token has seldom more than 16 characters, so that the first guess is not the whole text.
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


_HEADING_CHARS, _LABEL_CHARS, _MAX_HEADINGS = 200, 1_000, 20
"""Characters of a heading and of a label that each chunk below it repeats, and headings of which it
does: a document must not become a thousand times its size."""

_CUTS = ((BLOCK, 0.5), (SENTENCE, 0.35), (WORD, 0.2))
"""Where a piece may end, best first, and how full it must be there."""

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A span of the document's text, from `start` to before `end` in characters.

    `page` is where it starts, `section` the headings above it, `blocks` what it consists of,
    counted in its text. `kind` is table (nothing else in it), toc, glossary, faq, credits,
    struck or normal.
    """

    text: str
    start: int
    end: int
    page: int | None
    section: Section
    kind: str
    blocks: tuple[BlockSpan, ...] = ()


def chunk(
    blocks: Iterable[Block], size: int, overlap: int, length: Length = len
) -> Iterator[TextPiece]:
    """Cut a document into pieces of at most `size`, measured by `length`.

    Pieces of one section share up to `overlap` with the one before. A table of up to twice the
    size stays whole. Memory is bounded by the largest block, not by the document.
    """
    packer = _Packer(size, overlap, length)
    position, lead = 0, ""
    before: Block | None = None
    path: list[tuple[int, str]] = []
    for block in blocks:
        if before:
            between = gap(before, block)
            lead, position = lead + between, position + len(between)
        before = block
        if block.kind == "heading" and block.text.strip():
            level = block.level or 1
            path = [item for item in path if item[0] < level][: _MAX_HEADINGS - 1]
            path.append((level, " ".join(block.text.split())[:_HEADING_CHARS]))
            yield from packer.heading(tuple(text for _, text in path))
        for unit in cut_block(block, position, lead, size, length):
            yield from packer.add(unit)
        rest = len(block.text.rstrip())
        # Units have no white space at their ends, but positions count it.
        lead = ("" if rest else lead) + block.text[rest:]
        position += len(block.text)
    yield from packer.end()


class _Packer:
    """Units wait here until a piece is full. `held` are small sections that may still merge."""

    def __init__(self, size: int, overlap: int, length: Length) -> None:
        self._size, self._overlap, self._length = size, overlap, length
        self._held: list[ChunkUnit] = []
        self._held_section: Section = ()
        self._units: list[ChunkUnit] = []
        self._section: Section = ()
        self._fresh = 0
        """Where the units begin that no piece has yet."""
        self._cut = False
        """Whether this section has already given a piece."""

    def heading(self, section: Section) -> Iterator[TextPiece]:
        """Close the current section and open another."""
        fresh = self._units[self._fresh :]
        if any(not unit.heading for unit in fresh):
            yield from self._close()
        else:
            self._start(fresh)
        self._section = section

    def add(self, unit: ChunkUnit) -> Iterator[TextPiece]:
        # A table over the size goes out by itself rather than being torn between two pieces.
        if unit.whole and self._is_large(unit):
            yield from self._large_table(unit)
            return
        self._units.append(unit)
        while self._measure(self._units) > self._size and len(self._units) > 1:
            yield from self._release()
            yield self._first_piece()

    def end(self) -> Iterator[TextPiece]:
        yield from self._close()
        yield from self._release()

    def _close(self) -> Iterator[TextPiece]:
        """The section is complete: hold it if it is small, else give its last piece."""
        if self._fresh >= len(self._units):
            self._start()
            return
        # A section that was cut has given a full piece: its rest is no small section.
        small = not self._cut and self._measure(self._units) * 4 < self._size
        if small and self._merges():
            self._held_section = _common_section(self._held_section, self._section)
            self._held += self._units
        else:
            yield from self._release()
            if small:
                self._held, self._held_section = self._units, self._section
            else:
                yield self._piece(self._units, self._section)
        self._start()

    def _merges(self) -> bool:
        """Only neighbours below the same heading, or a heading's short text and its first child,
        and only into a piece that fits."""
        if (
            not self._held
            or _is_struck(self._units)
            or self._measure(self._held + self._units) > self._size
        ):
            return False
        depth = max(len(self._held_section) - 1, 0)
        siblings = self._held_section[:depth] == self._section[:depth]
        return siblings and len(self._section) >= len(self._held_section)

    def _is_large(self, table: ChunkUnit) -> bool:
        """Whether the table has no room in a piece, with the headings right above it if any."""
        headings = [] if self._cut or not all(u.heading for u in self._units) else self._units
        return self._measure([*headings, table]) > self._size

    def _large_table(self, table: ChunkUnit) -> Iterator[TextPiece]:
        """Yield a table over the size as one piece, with its heading if both fit twice the size."""
        yield from self._release()
        waiting = self._units[self._fresh :]
        titled = [*waiting, table]
        if all(unit.heading for unit in waiting) and self._measure(titled) <= 2 * self._size:
            yield self._piece(titled, self._section)
        else:
            if waiting:
                yield self._piece(self._units, self._section)
            yield self._piece([table], self._section)
        self._start()
        self._cut = True

    def _release(self) -> Iterator[TextPiece]:
        if self._held:
            yield self._piece(self._held, self._held_section)
            self._held = []

    def _first_piece(self) -> TextPiece:
        """Cut one piece off the front; what follows keeps its last units as overlap."""
        cut = self._best_cut()
        piece = self._piece(self._units[:cut], self._section)
        start = cut
        # From 1, as a piece that began where the last one did would never end.
        while start > 1 and self._fits_overlap(start - 1, cut):
            start -= 1
        start = self._at_sentence(start, cut)
        self._units = self._units[start:]
        self._fresh = cut - start
        self._cut = True
        return piece

    def _fits_overlap(self, start: int, cut: int) -> bool:
        units = self._units
        if units[start].heading or units[start].whole:
            return False
        return (
            self._measure(units[start:cut]) <= self._overlap
            and self._measure(units[start : cut + 1]) <= self._size
        )

    def _at_sentence(self, start: int, cut: int) -> int:
        """Begin the overlap at its first sentence, if a sentence begins in it."""
        for i in range(start, cut):
            if self._units[i].strength >= SENTENCE:
                return i
        return start

    def _best_cut(self) -> int:
        """Return the end of a piece among the units that fit: at a paragraph if the piece is half
        full there, else at a sentence, else between words, else anywhere."""
        last = len(self._units) - 1
        # A piece of overlap or of headings alone would say nothing new.
        lowest = max(self._fresh + 1, self._after_headings())
        for strength, share in _CUTS:
            for cut in range(last, lowest - 1, -1):
                if self._units[cut].strength < strength:
                    continue
                if self._measure(self._units[:cut]) >= share * self._size:
                    return cut
                break
        return max(last, 1)

    def _after_headings(self) -> int:
        """Return the first place where a piece would hold more than headings."""
        place = 0
        while place < len(self._units) - 1 and self._units[place].heading:
            place += 1
        return place + 1

    def _start(self, units: list[ChunkUnit] | None = None) -> None:
        self._units, self._fresh, self._cut = units or [], 0, False

    def _measure(self, units: list[ChunkUnit]) -> int:
        return self._length(_text(units)) if units else 0

    def _piece(self, units: list[ChunkUnit], section: Section) -> TextPiece:
        text = _text(units)
        first, last = units[0], units[-1]
        content = [unit for unit in units if not unit.heading]
        tables = bool(content) and all(unit.block.kind == "table" for unit in content)
        kind = STRUCK if _is_struck(content) else chunk_kind(text, section, tables)
        own = [first.block, *(b.block for a, b in pairwise(units) if b.block is not a.block)]
        blocks = cut_blocks(own, first.start, last.end)
        page = find_page(blocks, 0)
        return TextPiece(text, first.start, last.end, page, section, kind, blocks)


def _is_struck(units: list[ChunkUnit]) -> bool:
    """Tell whether units are of what a document strikes out, below its heading."""
    return any(unit.block.label == STRUCK for unit in units)


def _text(units: list[ChunkUnit]) -> str:
    """Return the document's text over these units, which follow each other."""
    return units[0].text + "".join(unit.lead + unit.text for unit in units[1:])


def _common_section(one: Section, other: Section) -> Section:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]
