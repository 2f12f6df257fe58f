"""XML of any kind: texts by their titles and paragraphs, data value by value, as in JSON.

A text is what has elements in the midst of sentences, or paragraphs by the names that DocBook,
DITA, TEI and JATS give them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.json import record_blocks
from ragstone.ingest.formats.types import Format

_TITLES = {"title", "head", "heading"}
_PARAGRAPHS = {"p", "para", "simpara"}
_ITEMS = {"li", "listitem", "item", "step"}
_CODE = {"codeblock", "programlisting", "screen", "code"}
_MAX_DEPTH = 200


def parse_xml(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole; entities that it declares are not expanded. Raises UnreadableDocument."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True,
        remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.parse(str(path), parser).getroot()
    except (etree.LxmlError, ValueError) as error:
        reason = str(error).split("\n")[0].split(" (<")[0].rstrip(".")
        raise UnreadableDocument(f"{path.name} is not valid XML ({reason}).") from error
    if root is None:
        raise UnreadableDocument(f"{path.name} is not valid XML: it has no element.")
    blocks = (
        _text_blocks(root, 0, "")
        if any(_name(item) in _PARAGRAPHS or _is_mixed(item) for item in root.iter(etree.Element))
        else record_blocks(path, _value(root), max_bytes)
    )
    return Parsed("", blocks)


def _is_mixed(element: Any) -> bool:
    """Tell whether words and elements stand beside each other in it."""
    own = (element.text, *(child.tail for child in element))
    return len(element) > 0 and any(text and text.strip() for text in own)


def _name(element: Any) -> str:
    return str(etree.QName(element).localname)


def _text_blocks(element: Any, level: int, marker: str) -> Iterator[Block]:
    """`level` is how many titled elements this one stands in, `marker` the bullet of the item."""
    name = _name(element)
    text = " ".join("".join(element.itertext()).split())
    if not text:
        return
    if name in _CODE:
        yield Block("".join(element.itertext()).strip("\n"), "code")
    elif name in _TITLES:
        yield Block(text, "heading", max(level, 1))
    elif not len(element) or _is_mixed(element) or name in _PARAGRAPHS:
        yield Block(f"- {text}", "item", 1, label="-") if marker else Block(text)
    else:
        titled = any(_name(child) in _TITLES for child in element.iterchildren(etree.Element))
        marker = "-" if name in _ITEMS else marker
        for child in element.iterchildren(etree.Element):
            inside = marker or ("-" if _name(child) in _ITEMS else "")
            yield from _text_blocks(child, level + titled, inside)


def _value(element: Any, depth: int = 0) -> Any:
    """Return the text of an element, or its attributes and elements by their names."""
    children = list(element.iterchildren(etree.Element)) if depth < _MAX_DEPTH else []
    text = " ".join((element.text or "").split())
    if not children and not element.attrib:
        return text
    values: dict[str, Any] = {
        str(etree.QName(key).localname): value for key, value in element.attrib.items()
    }
    groups: dict[str, list[Any]] = {}
    for child in children:
        groups.setdefault(_name(child), []).append(_value(child, depth + 1))
    values |= {key: items[0] if len(items) == 1 else items for key, items in groups.items()}
    if text:
        values["text"] = text
    return values


XML = Format("application/xml", parse_xml, whole=True)
