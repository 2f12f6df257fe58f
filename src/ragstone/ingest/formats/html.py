"""HTML: the main part as marked, or as trafilatura finds it, or every visible text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trafilatura
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decoded
from ragstone.ingest.formats.tables import piped
from ragstone.ingest.formats.types import Format

_SILENT = {"script", "style", "noscript", "template", "svg", "iframe", "object", "head", "button"}
_FURNITURE = {"nav", "footer", "aside", "form"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = {"ul", "ol", "dl", "list"}
_CODE = {"pre", "code"}
_LEAVES = {"p", "blockquote", "quote", "figcaption", "address", "summary", "caption", "ab"}
_INLINE = {
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "hi", "i",
    "img", "ins", "kbd", "label", "lb", "br", "mark", "q", "ref", "s", "samp", "small", "span",
    "strong", "sub", "sup", "time", "u", "var", "wbr",
}  # fmt: skip
_BREAKS = {"br", "lb"}
_ENOUGH = 0.25
"""Below this share of the page's visible text, the main part has been missed."""


def parse_html(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a page whole. Scripts and styles are dropped, entities outside never fetched.

    Raises UnreadableDocument.
    """
    source = decoded(path)
    try:
        tree = lxml_html.document_fromstring(source.encode("utf-8", "replace"), _parser())
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(f"{path.name} holds no HTML that can be read.") from error
    title = _text(next(iter(tree.xpath("//title")), None))
    blocks = _chosen(tree, source)
    language = tree.get("lang", "")
    metadata = {"language": language} if language else {}
    return Parsed(title, iter(blocks), metadata=metadata)


def _chosen(tree: Any, source: str) -> list[Block]:
    """What the page itself marks as its main part, else what trafilatura finds, else all.

    trafilatura guesses well where nothing is marked, but it drops code and some headings.
    """
    visible = list(_blocks(tree))
    marked = tree.xpath("//main | //*[@role='main']") or tree.xpath("//article")
    enough = max(_ENOUGH * _size(visible), 1)
    if len(marked) == 1 and _size(own := list(_blocks(marked[0]))) >= enough:
        return own
    main = list(_main(source))
    return main if _size(main) >= enough else visible


def _parser() -> Any:
    return lxml_html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)


def _main(source: str) -> Iterator[Block]:
    found: Any = trafilatura.bare_extraction(
        source, include_comments=False, include_formatting=True, favor_recall=True
    )
    if found is not None and found.body is not None:
        yield from _blocks(found.body)


def _size(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _blocks(element: Any) -> Iterator[Block]:
    """The blocks of an element in order. Text between block elements is a paragraph."""
    loose = [element.text or ""]
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in _INLINE and not _holds_blocks(child):
            loose.append("\n" if tag in _BREAKS else _raw(child))
        elif tag and tag not in _SILENT and tag not in _FURNITURE:
            yield from _paragraph("".join(loose))
            loose = []
            yield from _element(child, tag)
        loose.append(child.tail or "")
    yield from _paragraph("".join(loose))


def _holds_blocks(element: Any) -> bool:
    return any(isinstance(item.tag, str) and item.tag not in _INLINE for item in element.iter())


def _element(element: Any, tag: str) -> Iterator[Block]:
    if tag in _HEADINGS or tag == "head":
        level = _HEADINGS.get(tag) or _HEADINGS.get(element.get("rend") or "", 2)
        if text := _text(element):
            yield Block(text, "heading", level)
    elif tag in _LISTS:
        if text := "\n".join(_items(element, "")):
            yield Block(text, "list")
    elif tag == "table" and not _is_layout(element):
        if text := piped(_rows(element)):
            yield Block(text, "table")
    elif tag in _CODE:
        if text := _raw(element).strip("\n"):
            yield Block(text, "code")
    elif tag in _LEAVES and not _holds_other_blocks(element):
        yield from _paragraph(_raw(element))
    else:
        yield from _blocks(element)


def _holds_other_blocks(element: Any) -> bool:
    return any(child.tag in _LISTS | {"table", "pre", "p", "div"} for child in element.iter()
               if child is not element)  # fmt: skip


def _is_layout(table: Any) -> bool:
    """A table that holds another table or headings arranges a page; it is no data."""
    inside = {child.tag for child in table.iter() if child is not table}
    return bool(inside & ({"table"} | set(_HEADINGS)))


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter("tr", "row"):
        yield [_text(cell) for cell in row if cell.tag in ("td", "th", "cell")]


def _items(element: Any, indent: str) -> Iterator[str]:
    for item in element:
        if item.tag in _LISTS:
            yield from _items(item, indent + "  ")
        elif isinstance(item.tag, str) and item.tag not in _SILENT:
            own = [item.text or ""]
            nested: list[str] = []
            for child in item:
                if child.tag in _LISTS:
                    nested += _items(child, indent + "  ")
                else:
                    own.append(_raw(child))
                own.append(child.tail or "")
            if text := " ".join("".join(own).split()):
                yield f"{indent}- {text}"
            yield from nested


def _paragraph(text: str) -> Iterator[Block]:
    if flat := " ".join(text.split()):
        yield Block(flat)


def _raw(element: Any) -> str:
    """All text below an element except of silent ones, with line breaks where it has them."""
    if not isinstance(element.tag, str) or element.tag in _SILENT - {"head"}:
        return ""
    parts = ["\n" if element.tag in _BREAKS else element.text or ""]
    for child in element:
        inside = _raw(child)
        parts.append(inside if child.tag in _INLINE else f" {inside} ")
        parts.append(child.tail or "")
    return "".join(parts)


def _text(element: Any) -> str:
    return "" if element is None else " ".join(_raw(element).split())


HTML = Format("text/html", parse_html, whole=True)
