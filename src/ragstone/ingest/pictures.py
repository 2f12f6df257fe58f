"""What is added to blocks between parser and chunks: the lines that lead to them, and pictures.

"Damage to rented skis" below "The following are not covered:" says the opposite of what it says by
itself, so a lead stays with its block from here to the answer (`core.document.BlockSpan.lead`). A
picture of which something is said is a caption; one with text in it has that. Of any other there is
nothing to find: it goes to the block beside it, so that whoever is shown that sees it too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ragstone.core.document import announces
from ragstone.ingest.document import Block
from ragstone.language.sentences import sentences

MAX_LEAD_CHARS = 240
"""Of one line of a lead; a longer sentence is not an introduction."""

PROSE = frozenset({"paragraph", "quote", "admonition"})
"""Kinds of blocks that introduce others."""

LED = PROSE | {"table"}
"""Kinds of blocks that a line with a colon introduces, beside items."""

_NUMBER = re.compile(r"\d+")


def attach_leads(blocks: Iterable[Block]) -> Iterator[Block]:
    """Give each item, and each block behind a line with a colon, the lines that introduce it.

    A list is introduced by the last sentence before it. Text without a colon between two items may
    belong to the first or introduce the second: a number tells which, and bullets after such a text
    have no lead rather than a wrong one.
    """
    intro, between = "", ""
    in_list = False
    above: list[tuple[int, str]] = []
    for block in blocks:
        text = block.text.strip()
        if block.kind == "item":
            if between:
                number = _NUMBER.search(block.label)
                # After the text a list begins anew, unless its number goes on.
                if number is None or int(number[0]) == 1:
                    intro, above = between if number else "", []
                between = ""
            above = [(level, line) for level, line in above if level < block.level]
            lines = [intro, *(line for _, line in above)]
            yield replace(block, lead="\n".join(line for line in lines if line))
            above.append((block.level, _introduction(text.removeprefix(block.label).strip())))
            in_list = True
            continue
        lines = [intro, *(line for _, line in above)] if not between else [""]
        led = block.kind in LED and announces(lines[-1])
        yield replace(block, lead="\n".join(line for line in lines if line)) if led else block
        if block.kind == "heading":
            intro, between, in_list, above = "", "", False, []
        elif block.kind in PROSE and text:
            introduction = _introduction(text)
            if in_list and not announces(introduction):
                between = introduction
            else:
                intro, between, in_list, above = introduction, "", False, []


def _introduction(text: str) -> str:
    """Return the last sentence, in one line; none where it is too long to introduce anything."""
    spans = sentences(text)
    last = " ".join(text[spans[-1].start : spans[-1].end].split()) if spans else ""
    return last if len(last) <= MAX_LEAD_CHARS else ""


_FIGURE = re.compile(
    r"(?:Figure|Fig\.?|Illustration|Image|Photo|Abbildung|Abb\.?|Bild|Figura|Ilustraci[oó]n"
    r"|Рис\.?|Рисунок|图|圖|図)\s?\d"
)
_MAX_CAPTION_CHARS = 400

DESCRIBED = "described by a model"
"""The label of a caption that no author of the document wrote."""


def is_figure_caption(block: Block) -> bool:
    """Tell whether a block says what a picture shows: "Figure 3: The pump"."""
    if block.kind not in ("caption", "paragraph") or len(block.text) > _MAX_CAPTION_CHARS:
        return False
    return _FIGURE.match(block.text) is not None


def add_captions(blocks: Iterable[Block], captions: Mapping[str, str]) -> Iterator[Block]:
    """The blocks, and behind the first of each picture what a model said of it, by its digest."""
    told: set[str] = set()
    for block in blocks:
        yield block
        for id in block.pictures:
            digest = id.partition("/")[0]
            if digest in captions and digest not in told:
                told.add(digest)
                page = block.all_places[0].page if block.all_places else None
                yield Block(captions[digest], "caption", 0, page, DESCRIBED, (), (id,))


def drop_bare_pictures(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks without those that are pictures alone.

    Such a picture goes to the caption right after it or before it; else to the block before it,
    unless that is a heading; else to the one after it. A caption beside a described picture has
    it too.
    """
    held: Block | None = None
    loose: tuple[str, ...] = ()
    for block in blocks:
        if not block.text.strip():
            if block.pictures:
                loose = (*loose, *block.pictures)
                continue
        elif held is not None:
            held, block = _place_pictures(held, loose, block)
            loose = ()
        elif loose:
            block, loose = _attach_pictures(block, loose), ()
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield _attach_pictures(held, loose)


def _place_pictures(held: Block, loose: tuple[str, ...], block: Block) -> tuple[Block, Block]:
    """Return two blocks that follow each other, with the pictures between them."""
    told = _says(block) and not block.pictures
    if loose:
        onward = told or (held.kind == "heading" and block.kind != "heading")
        # A picture belongs to its caption, above or below it; a heading is not what it shows.
        if not _says(held) and onward:
            return held, _attach_pictures(block, loose)
        return _attach_pictures(held, loose), block
    if told and held.pictures and held.kind == "caption":
        return held, _attach_pictures(block, held.pictures)
    if _says(held) and not held.pictures and block.pictures and block.kind == "caption":
        return _attach_pictures(held, block.pictures), block
    return held, block


def _says(block: Block) -> bool:
    return block.kind == "caption" or is_figure_caption(block)


def _attach_pictures(block: Block, pictures: tuple[str, ...]) -> Block:
    if not pictures:
        return block
    return replace(block, pictures=tuple(dict.fromkeys((*block.pictures, *pictures))))
