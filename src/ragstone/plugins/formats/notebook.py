"""Jupyter notebooks: the text and code of their cells in order, and what was printed."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.html import page_blocks
from ragstone.ingest.formats.markdown import markdown_blocks
from ragstone.ingest.formats.types import Format

OUTPUT_CHARS = 4_000
"""Characters of one output that are kept: some print without end."""


def parse_notebook(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the blocks of a notebook. Its title is its first heading of the first level.

    Raises UnreadableDocument.
    """
    try:
        book = json.loads(decode_file(path))
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{path.name} is not a valid notebook: it is not JSON.") from error
    sheets = _maps(_map(book).get("worksheets")) or [_map(book)]
    if not any("cells" in sheet for sheet in sheets):
        raise UnreadableDocument(f"{path.name} is not a valid notebook: it has no cells.")
    about = _map(_map(book).get("metadata"))
    language = _map(about.get("language_info")).get("name") or _map(about.get("kernelspec")).get(
        "language", ""
    )
    cells = [cell for sheet in sheets for cell in _maps(sheet.get("cells"))]
    blocks = [block for cell in cells for block in _cell(cell, str(language))]
    title = next((item.text for item in blocks if item.kind == "heading" and item.level == 1), "")
    return Parsed(title, iter(blocks))


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[Block]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source") or cell.get("input"))
    if kind == "markdown":
        yield from markdown_blocks(source)
    elif kind == "heading":
        level = cell.get("level")
        yield Block(source.strip(), "heading", level if isinstance(level, int) else 1)
    elif kind == "code":
        if code := source.strip("\n").rstrip():
            yield Block(code, "code", label=language)
        for output in _maps(cell.get("outputs")):
            yield from _output(output)
    elif kind == "raw" and source.strip():
        yield Block(source.strip())


def _output(output: Mapping[str, Any]) -> Iterator[Block]:
    """Yield a table that was shown, or what was printed; pictures and errors are left out."""
    data = _map(output.get("data")) or output
    tables = [block for block in page_blocks(_text(data.get("text/html"))) if block.kind == "table"]
    if tables:
        yield from tables
    elif text := _text(data.get("text/plain") or output.get("text")).strip("\n").rstrip():
        cut = text[:OUTPUT_CHARS]
        yield Block(cut if cut == text else f"{cut}\n…", "code", label="output")


def _text(value: Any) -> str:
    """Return a text, which may be a list of its lines."""
    if isinstance(value, list):
        return "".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


NOTEBOOK = Format("application/x-ipynb+json", parse_notebook, whole=True)
