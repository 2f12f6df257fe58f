"""The text of a Plone object as one HTML page: title, description, blocks, other fields."""

import html
from collections.abc import Iterator, Mapping
from typing import Any

Item = Mapping[str, Any]

DEEPEST = 40

_ABOUT = {
    "@components", "@id", "@type", "UID", "allow_discussion", "allowedRolesAndUsers",
    "allowed_roles_and_users", "blocks", "blocks_layout", "changeNote", "contributors", "created",
    "creators", "description", "effective", "exclude_from_nav", "expires", "file", "getURL", "id",
    "image", "image_caption", "is_folderish", "items", "items_total", "language", "layout", "lock",
    "modified", "next_item", "parent", "portal_type", "preview_image", "previous_item",
    "review_state", "rights", "subjects", "title", "type_title", "version", "versioning_enabled",
    "working_copy", "working_copy_of",
}  # fmt: skip
"""Fields that say something about an object, or that are read otherwise."""

_TAGS = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "table", "tbody",
    "thead", "tr", "td", "th", "pre", "code", "strong", "em", "b", "i", "sub", "sup",
}  # fmt: skip
_SAME = {"headline": "h2", "heading": "h2"}
_SAYING = ("title", "heading", "headline", "description", "plaintext", "text", "html", "caption",
           "alt", "question", "answer", "preview")  # fmt: skip
_OWN = {"title", "description"}
"""Blocks that repeat fields of the object."""


def page(item: Item) -> str:
    """Return the object as HTML; what cannot be text is left out."""
    title = html.escape(_plain(item.get("title")))
    parts = [f"<h1>{title}</h1>"] if title else []
    if about := _plain(item.get("description")):
        parts.append(f"<p>{html.escape(about)}</p>")
    parts += _blocks(item, 0)
    for name, value in item.items():
        if name not in _ABOUT and not name.startswith("@"):
            parts += _field(name, value)
    body = "\n".join(parts)
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><main>{body}</main></body></html>"
    )


def _field(name: str, value: Any) -> Iterator[str]:
    """Yield a rich text as it is, a plain one with its name; nothing of other kinds."""
    if isinstance(value, Mapping) and isinstance(value.get("data"), str):
        if "html" in str(value.get("content-type", "text/html")):
            yield f"<div>{value['data']}</div>"
        else:
            yield _paragraph(value["data"])
    elif isinstance(value, str) and value.strip() and "://" not in value:
        label = name.replace("_", " ").strip().capitalize()
        yield f"<p>{html.escape(label)}: {html.escape(value)}</p>"
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield from _field(name, ", ".join(value))


def _blocks(item: Item, depth: int) -> Iterator[str]:
    """Yield the blocks of Volto in their order; blocks missing from the layout come last."""
    blocks = item.get("blocks")
    if not isinstance(blocks, Mapping) or depth > DEEPEST:
        return
    layout = item.get("blocks_layout")
    order = layout.get("items") if isinstance(layout, Mapping) else None
    named = [key for key in order if isinstance(key, str)] if isinstance(order, list) else []
    for key in dict.fromkeys((*named, *blocks)):
        block = blocks.get(key)
        if isinstance(block, Mapping) and not (depth == 0 and str(block.get("@type")) in _OWN):
            yield from _block(block, depth + 1)


def _block(block: Item, depth: int) -> Iterator[str]:
    """Yield the text of a block: its rich text, else its words, and its inner blocks."""
    if depth > DEEPEST:
        return
    rich = _slate(block.get("value"), depth)
    yield rich
    for name in _SAYING:
        if not (rich.strip() and name == "plaintext"):
            yield from _field_text(name, block.get(name), depth)
    yield from _blocks(block, depth)
    for value in block.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                yield from _inside(item, depth)


def _field_text(name: str, said: Any, depth: int) -> Iterator[str]:
    """Yield one text of a block, in whatever shape the block keeps it."""
    if isinstance(said, str) and said.strip():
        yield said if name == "html" else _paragraph(said)
    elif isinstance(said, Mapping):
        yield from _words(said)
    elif isinstance(said, list):
        yield _slate(said, depth)


def _inside(item: Item, depth: int) -> Iterator[str]:
    """Yield a table, or a part that has its own text: a card, a column, a tab."""
    if item.get("rows"):
        yield _table(item, depth)
    elif "@type" in item or "blocks" in item or "title" in item:
        yield from _block(item, depth + 1)


def _words(text: Item) -> Iterator[str]:
    """Rich text, or the older editor's, which has its paragraphs in a list."""
    if isinstance(text.get("data"), str):
        yield f"<div>{text['data']}</div>"
    blocks = text.get("blocks")
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield _paragraph(block["text"])


def _slate(value: Any, depth: int) -> str:
    """Write Slate's tree of nodes as HTML."""
    if depth > DEEPEST:
        return ""
    if isinstance(value, list):
        return "".join(_slate(item, depth + 1) for item in value)
    if not isinstance(value, Mapping):
        return ""
    if isinstance(value.get("text"), str):
        return html.escape(value["text"])
    inside = _slate(value.get("children"), depth + 1)
    kind = str(value.get("type", ""))
    tag = _SAME.get(kind, kind)
    return f"<{tag}>{inside}</{tag}>" if tag in _TAGS else inside


def _table(table: Item, depth: int) -> str:
    rows = [_cells(row, depth) for row in _maps(table.get("rows"))]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _cells(row: Item, depth: int) -> str:
    cells = (_slate(cell.get("value"), depth) for cell in _maps(row.get("cells")))
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _maps(value: Any) -> list[Item]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>" if text.strip() else ""


def _plain(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
