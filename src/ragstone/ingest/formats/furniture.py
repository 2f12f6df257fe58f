"""What stands around the text of a document: page numbers, running heads, and comments."""

import re
from collections.abc import Iterable, Iterator

from ragstone.ingest.document import Block

_OF = "/|of|von|van|de|di|sur|av|af|из"
OF_PAGES = re.compile(rf"(?<!\S)[(\[]?\d{{1,4}}\s?(?:{_OF})\s?\d{{1,4}}[)\]]?(?!\S)", re.IGNORECASE)
_PAGE = r"(?:pages?|pag\.?|p\.|seite|s\.|página|pagina|sida|side|strona|стр(?:аница|\.)?)"
_PAGE_NUMBER = re.compile(
    rf"(?<!\S){_PAGE}\s*[-–—|]?\s*[\d#]{{1,4}}(?:\s*(?:{_OF})\s*[\d#]{{1,4}})?(?!\S)", re.IGNORECASE
)
_PAGE_WORD = re.compile(_PAGE, re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")


COMMENT = "comment"
"""The label of comments."""


def comment_block(text: str, author: str = "", place: str = "", page: int | None = None) -> Block:
    """Return what a reader noted at a place of a document, in one line that says so."""
    by = f" by {author}" if author.strip() else ""
    at = f" on {place}" if place else ""
    return Block(f"Comment{by}{at}: {' '.join(text.split())}", "admonition", 0, page, COMMENT)


def is_page_number(text: str) -> bool:
    """Tell whether a line holds no word but those of a page number: "- 3 -", "Page # of #"."""
    return not _WORD.search(strip_page_number(text))


def strip_page_number(text: str) -> str:
    """Return a line without the page number in it."""
    return " ".join(OF_PAGES.sub(" ", _PAGE_NUMBER.sub(" ", text)).split())


def add_running_heads(
    blocks: Iterable[Block], headers: Iterable[str], footers: Iterable[str]
) -> Iterator[Block]:
    """Yield the blocks, and behind the first one, which is the title of most documents, each text
    of the running heads and feet once: they say number, approval and classification."""
    texts = [
        f"{kind}: {text}"
        for kind, lines in (("Header", headers), ("Footer", footers))
        for text in dict.fromkeys(map(strip_page_number, lines))
        if _WORD.search(text) and not _PAGE_WORD.fullmatch(text)
    ]
    rest = iter(blocks)
    if first := next(rest, None):
        yield first
        yield from (Block(text, page=first.page) for text in texts)
        yield from rest
