"""The blocks that a document consists of, and where they stand on its pages."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

BlockKind = Literal[
    "heading", "paragraph", "item", "table", "code", "caption", "admonition", "quote", "header"
]
"""`item` is one item of a list with its number or bullet, `header` the head of a mail or other
facts about a document, `admonition` a paragraph of a note or warning."""

_KINDS: tuple[BlockKind, ...] = get_args(BlockKind)


HIDDEN = "(hidden)"
"""Ends the name of what its author hides: a sheet of a workbook, a row, a column."""

STRUCK = "struck"
"""The label of what a document strikes out, which stands behind all else that it says, and the kind
of chunks of it."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in points from its left and top edge."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where the characters of a block from `start` on stand, up to the next place.

    `page` counts from 1; it is the slide of a presentation and the sheet of a workbook.
    """

    start: int
    page: int
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class BlockSpan:
    """A block, or the part of one, in a longer text: from `start` to before `end`.

    `level` is a heading's depth and an item's nesting, from 1. `label` is an item's number, the
    term that a paragraph defines, the language of code, the kind of an admonition, or the caption
    of a table. `places` count in the longer text too. `pictures` are the ids (`picture_id`) of
    those that the block is about: it is their caption or the text in them, or stands where they do.
    `lead` are the lines that introduce the block, outermost first, wherever they stand: the
    sentence before a list and the items above this one.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    label: str = ""
    places: tuple[Place, ...] = ()
    pictures: tuple[str, ...] = ()
    lead: str = ""


_ANNOUNCES = re.compile(r"[:：](?:\s*(?:[\[(「【]\d{1,4}[\])」】]|[⁰¹²³⁴-⁹*†‡]))*\s*$")


def announces(line: str) -> bool:
    """Tell whether a line announces the next ones: it ends with a colon, and the marks of notes."""
    return _ANNOUNCES.search(line) is not None


def find_missing_lead(text: str, blocks: Sequence[BlockSpan], start: int, end: int) -> str:
    """Find the lines that introduce what begins at `start` in `text`, without those that stand
    between `start` and `end` themselves. Empty where nothing is missing."""
    block = next((block for block in blocks if block.start <= start < block.end), None)
    if block is None or not block.lead:
        return ""
    part = " ".join(text[start:end].split())
    return "\n".join(line for line in block.lead.split("\n") if line not in part)


DIGEST_CHARS = 32
"""Hexadecimal digits that name a picture's content."""

_PICTURE_ID = re.compile(rf"([0-9a-f]{{{DIGEST_CHARS}}})/(.{{1,300}})", re.DOTALL)


def picture_id(content: bytes, name: str) -> str:
    """Return the id of a picture in a document: a digest of its content, and its name in the file,
    by which it is found there."""
    return f"{hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]}/{name}"


def picture_parts(id: str) -> tuple[str, str] | None:
    """Return the digest and the name in an id; None for what is not an id."""
    match = _PICTURE_ID.fullmatch(id)
    return (match[1], match[2]) if match else None


def find_page(blocks: Sequence[BlockSpan], position: int) -> int | None:
    """The page on which the character at `position` stands, None where pages are not known."""
    page = None
    for block in blocks:
        if block.start > position:
            break
        for place in block.places:
            if place.start > position:
                break
            page = place.page
    return page


def cut_blocks(
    blocks: Sequence[BlockSpan], start: int, end: int, shift: int = 0
) -> tuple[BlockSpan, ...]:
    """The blocks between two positions, counted anew: what stood at `start` stands at `shift`."""
    kept = []
    for block in blocks:
        first, last = max(block.start, start), min(block.end, end)
        if first >= last:
            continue
        by = shift - start
        places = cut_places(block.places, first, last, first + by)
        kept.append(replace(block, start=first + by, end=last + by, places=places))
    return tuple(kept)


def cut_places(places: Sequence[Place], start: int, end: int, shift: int = 0) -> tuple[Place, ...]:
    """Return the places of what stands between two positions, counted anew as `cut_blocks` does."""
    before = [place for place in places if place.start <= start][-1:]
    within = [place for place in places if start < place.start < end]
    return tuple(
        replace(place, start=max(place.start, start) - start + shift)
        for place in (*before, *within)
    )


def join_blocks(first: Sequence[BlockSpan], second: Sequence[BlockSpan]) -> tuple[BlockSpan, ...]:
    """The blocks of two texts that follow each other; the two parts of one block become one."""
    if not first or not second:
        return (*first, *second)
    last, following = first[-1], second[0]
    same = (last.kind, last.level, last.label, last.lead) == (
        following.kind,
        following.level,
        following.label,
        following.lead,
    )
    if last.end < following.start or not same:
        return (*first, *second)
    places = (*last.places, *following.places)
    pictures = tuple(dict.fromkeys((*last.pictures, *following.pictures)))
    whole = replace(last, end=following.end, places=places, pictures=pictures)
    return (*first[:-1], whole, *second[1:])


def encode_blocks(blocks: Sequence[BlockSpan]) -> str:
    """Return the blocks as compact JSON, for an index; see `decode_blocks`."""
    rows = [
        [
            _KINDS.index(block.kind),
            block.start,
            block.end - block.start,
            block.level,
            block.label,
            [[place.start - block.start, place.page, *_edges(place)] for place in block.places],
            *([list(block.pictures)] if block.pictures or block.lead else ()),
            # The items of a list share their lead, which is written once.
            *([0 if block.lead == before else block.lead] if block.lead else ()),
        ]
        for block, before in zip(blocks, ["", *(block.lead for block in blocks)], strict=False)
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) if rows else ""


def _edges(place: Place) -> list[float]:
    return [round(item, 1) for item in astuple(place.box)] if place.box else []


@lru_cache(2048)
def decode_blocks(text: str) -> tuple[BlockSpan, ...]:
    """Return the inverse of `encode_blocks`, but for tenths of a point."""
    found: list[BlockSpan] = []
    for kind, start, length, level, label, rows, *more in json.loads(text) if text else ():
        places = tuple(
            Place(start + offset, page, Box(*edges) if edges else None)
            for offset, page, *edges in rows
        )
        pictures = tuple(more[0]) if more else ()
        end = start + length
        lead = more[1] or found[-1].lead if len(more) > 1 else ""
        found.append(BlockSpan(_KINDS[kind], start, end, level, label, places, pictures, lead))
    return tuple(found)
