"""The output of a parser: a title and the blocks of the document in reading order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragstone.core.document import BlockKind, Place

ADMONITIONS = {
    "note", "tip", "warning", "important", "caution", "danger", "attention", "error", "hint",
    "info", "abstract", "success", "question", "failure", "bug", "example", "quote", "seealso",
    "todo", "summary", "tldr", "help", "check", "done", "fail", "missing", "cite", "details",
    "deprecated", "admonition", "faq", "see",
}  # fmt: skip
"""What notes are called in the languages of documentation."""


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, item of a list, table, piece of code and so on.

    `text` is what a reader sees, without marks of the format. An item begins with its number or
    bullet ("2. ", "- "), which is its `label` too; rows of a table and lines of code stand on
    lines of their own. `level` is a heading's depth and an item's nesting, from 1, else 0. `label`
    is also the language of code, the kind of an admonition, and the caption of a table with its
    units. `page` counts from 1 (slides and sheets too), None where the format has no pages.
    `places` say it for the stretches of a block more exactly, with boxes where known; where they
    are empty, all of it is on `page`. `pictures` are the ids of those that the block is about
    (`core.document.picture_id`). `lead` are the lines that introduce it, outermost first, where
    they are known (`leads`). A caption without text is a picture of which nothing is said: it
    goes to the block beside it (`pictures.placed`).
    """

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    page: int | None = None
    label: str = ""
    places: tuple[Place, ...] = ()
    pictures: tuple[str, ...] = ()
    lead: str = ""

    @property
    def all_places(self) -> tuple[Place, ...]:
        """The places, or the one that `page` makes."""
        if self.places or self.page is None:
            return self.places
        return (Place(0, self.page),)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document being read. `blocks` can be iterated once and may raise a DocumentError.

    `pages` is how many there are, None where the format has none. `metadata` holds JSON values.
    `media_type` is the format's, unless the parser names another one. `recognised` is how many
    pages have no text but a picture, in which it is recognised. `notes` are sentences on what was
    left out of it, and `last_notes` gives those that are known once the blocks were read.
    """

    title: str
    blocks: Iterator[Block]
    pages: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    media_type: str = ""
    recognised: int = 0
    notes: tuple[str, ...] = ()
    last_notes: Callable[[], Sequence[str]] = tuple


MAX_TITLE_CHARS = 300


def cut_title(title: str) -> str:
    """The title as it is kept: each chunk of the document repeats it."""
    cut = title[: MAX_TITLE_CHARS - 1].rstrip()
    return title if len(title) <= MAX_TITLE_CHARS else f"{cut}…"


def gap(before: Block, block: Block) -> str:
    """Return what stands between two blocks in the document's text."""
    return "\n" if before.kind == block.kind == "item" else "\n\n"


def document_text(blocks: Iterable[Block]) -> str:
    """Return the text that all positions in a document count in."""
    parts: list[str] = []
    before: Block | None = None
    for block in blocks:
        parts += [gap(before, block) if before else "", block.text]
        before = block
    return "".join(parts)
