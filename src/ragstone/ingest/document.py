"""What a parser makes of a file: a title and a stream of blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

BlockKind = Literal["heading", "paragraph", "table", "list", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, table, list or piece of code, in reading order.

    Rows of a table, items of a list and lines of code stand on lines of their own. `level` is a
    heading's depth from 1, else 0. `page` counts from 1 (slides of a presentation too), None
    where the format has no pages.
    """

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document being read. `blocks` can be iterated once and may raise a DocumentError.

    `pages` is how many there are, None where the format has none. `metadata` holds JSON values.
    `media_type` is the format's, unless the parser names another one.
    """

    title: str
    blocks: Iterator[Block]
    pages: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    media_type: str = ""
