"""Where the pictures of a document stand in its text.

A picture of which something is said is a caption; one with text in it has that. Of any other there
is nothing to find: it goes to the block beside it, so that whoever is shown that sees it too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ragstone.ingest.document import Block

_FIGURE = re.compile(
    r"(?:Figure|Fig\.?|Illustration|Image|Photo|Abbildung|Abb\.?|Bild|Figura|Ilustraci[oó]n"
    r"|Рис\.?|Рисунок|图|圖|図)\s?\d",
)
_LONGEST_CAPTION = 400

DESCRIBED = "described by a model"
"""The label of a caption that no author of the document wrote."""


def is_figure_caption(block: Block) -> bool:
    """Whether a block says what a picture shows: "Figure 3: The pump"."""
    if block.kind not in ("caption", "paragraph") or len(block.text) > _LONGEST_CAPTION:
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
    """The blocks without those that are pictures alone.

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
    """Two blocks that follow each other, with the pictures between them."""
    told = _says(block) and not block.pictures
    if loose:
        onward = told or (held.kind == "heading" and block.kind != "heading")
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
