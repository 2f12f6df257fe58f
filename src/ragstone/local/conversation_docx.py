"""Markdown as a Word file: what a conversation's export consists of, and nothing that is loaded."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

MAX_LEVEL = 9
"""Levels of headings that Word has."""

MAX_INDENT = 3
"""Levels of lists that the template has styles for."""

UNSAFE = ["autolink", "html_block", "html_inline", "image", "link", "reference"]
"""What would leave the file, or is no text; it stays as it is written."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_docx(markdown: str) -> bytes:
    """Return the text as a Word file. Links and images stay text."""
    # Loads in a quarter of a second.
    import docx

    document = docx.Document()
    _write_blocks(document, SyntaxTreeNode(_parser().parse(_NOT_IN_XML.sub("", markdown))).children)
    file = BytesIO()
    document.save(file)
    return file.getvalue()


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable(UNSAFE)


def _write_blocks(
    document: "Document", nodes: Sequence[SyntaxTreeNode], style: str | None = None, label: str = ""
) -> None:
    """Write blocks in a style; the first paragraph begins with the label."""
    for node in nodes:
        if node.type == "heading":
            _add_inline(document.add_heading("", min(int(node.tag[1:]), MAX_LEVEL)), node)
        elif node.type in ("bullet_list", "ordered_list"):
            _write_list(document, node, 1)
        elif node.type == "table":
            _write_table(document, node)
        elif node.type == "blockquote":
            _write_blocks(document, node.children, "Intense Quote")
        elif node.type == "hr":
            document.add_paragraph("⁂")
        elif node.children:
            _add_inline(document.add_paragraph(label, style), node)
        else:
            _add_code(document.add_paragraph(style=style), node.content.rstrip("\n"))


def _write_list(document: "Document", node: SyntaxTreeNode, depth: int) -> None:
    """A list; each of its items may hold further ones."""
    # Word counts on from one list to the next: the numbers are text.
    ordered = node.type == "ordered_list"
    name = "List Continue" if ordered else "List Bullet"
    style = name if depth == 1 else f"{name} {min(depth, MAX_INDENT)}"
    for number, item in enumerate(node.children, int(node.attrs.get("start", 1))):
        label = f"{number}. " if ordered else ""
        for child in item.children:
            if child.type in ("bullet_list", "ordered_list"):
                _write_list(document, child, depth + 1)
            else:
                _write_blocks(document, [child], style, label)
                label = ""


def _write_table(document: "Document", node: SyntaxTreeNode) -> None:
    rows = [row for part in node.children for row in part.children]
    table = document.add_table(len(rows), max(len(row.children) for row in rows), "Table Grid")
    for row, cells in zip(rows, table.rows, strict=True):
        for given, cell in zip(row.children, cells.cells, strict=False):
            _add_inline(cell.paragraphs[0], given, bold=given.type == "th")


def _add_inline(paragraph: "Paragraph", node: SyntaxTreeNode, bold: bool = False) -> None:
    for text, marks in _runs(node, ("strong",) if bold else ()):
        if "code_inline" in marks:
            _add_code(paragraph, text)
            continue
        run = paragraph.add_run(text)
        run.bold, run.italic = "strong" in marks or None, "em" in marks or None
    _set_direction(paragraph)


def _add_code(paragraph: "Paragraph", text: str) -> None:
    paragraph.add_run(text).font.name = "Courier New"


def _runs(node: SyntaxTreeNode, marks: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the texts below a node, each with the marks that it stands in."""
    for child in node.children:
        if child.children:
            yield from _runs(child, (*marks, child.type))
        elif child.type in ("softbreak", "hardbreak"):
            yield ("\n" if child.type == "hardbreak" else " "), marks
        elif child.content:
            yield child.content, (*marks, child.type)


def _set_direction(paragraph: "Paragraph") -> None:
    """Let a paragraph run from right to left where its first letter does."""
    strong = (unicodedata.bidirectional(character) for character in paragraph.text)
    if next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L":
        from docx.oxml.ns import qn

        properties: Any = paragraph._p.get_or_add_pPr()
        properties.append(properties.makeelement(qn("w:bidi"), {}))
        for run in paragraph.runs:
            run.font.rtl = True
