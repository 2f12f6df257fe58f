"""DOCX: python-docx opens the package, and its XML is read in order as Word shows it.

Lists keep their numbers, insertions are kept and deletions are not; comments and the table of
contents (whose headings follow anyway) are left out. Running heads and feet stand once, behind the
title, a note after the paragraph that refers to it, the text of a box after the one that it is
anchored in.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE as RELATION
from docx.oxml.parser import parse_xml

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.drawing import chart_blocks, diagram_lines
from ragstone.ingest.formats.embedded import Pictures, read_package_picture, read_package_pictures
from ragstone.ingest.formats.furniture import add_running_heads
from ragstone.ingest.formats.inline_code import mark_code, restore_spans, strip_marks
from ragstone.ingest.formats.numbering import BULLET, Numbering, W
from ragstone.ingest.formats.package import office_package
from ragstone.ingest.formats.picture_signs import PICTURE_SIGNS
from ragstone.ingest.formats.properties import core_properties, translate_library_errors
from ragstone.ingest.formats.raised import lower_text, raise_text
from ragstone.ingest.formats.tables import INDENT, fill_down, header_rows, table_blocks
from ragstone.ingest.formats.types import ZIP, Format

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_PICTURES = {
    "{http://schemas.openxmlformats.org/drawingml/2006/main}blip",
    "{urn:schemas-microsoft-com:vml}imagedata",
}

_MATH_SIGNS = {
    f"{_MATH}{name}": sign
    for name, sign in (
        ("num", ""),
        ("den", "/"),
        ("sup", "^"),
        ("sub", "_"),
        ("rad", "√"),
        ("d", ""),
    )
}
"""What is written before a part of a formula in a line of text."""

_DROPPED = {
    f"{W}{name}"
    for name in (
        "del", "moveFrom", "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "sdtPr",
        "instrText", "delText", "rt",
    )
}  # fmt: skip
_DRAWN = {f"{W}drawing", f"{W}pict", f"{W}object"}
_MARKS = {f"{W}tab": " ", f"{W}ptab": " ", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_NOTE_MARKS = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}
_SYMBOL_FONTS = ("wingdings", "webdings", "symbol")
_SYMBOLS = dict(zip(
    (*range(0x61, 0x7B), 0xA3, 0xA5, 0xB0, 0xB1, 0xB3, 0xB4, 0xB8, 0xB9, 0xBB, 0xD6),
    "αβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞°±≥×÷≠≈√", strict=True,
))  # fmt: skip
"""What people insert of Adobe's Symbol font, by its codes."""

_BODY_TEXT = 9
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"(?:toc|table of figures|index)( ?\d| heading)?", re.IGNORECASE)
_CODE_NAME = re.compile(r"(?:html )?preformatted(?: text)?|(?:source )?code(?: block)?|verbatim|"
                        r"plain ?code|listing", re.IGNORECASE)  # fmt: skip
_INLINE_CODE_NAMES = {
    "html code", "html sample", "html typewriter", "verbatim char", "inline code", "code",
    "code char", "source text", "code in text", "macro text char", "html preformatted char",
}  # fmt: skip
_QUOTE_NAMES = {"quote", "intense quote", "block text", "quotations"}
_MAX_DEPTH = 40
"""How deep tables and boxes may stand in each other; Word itself allows fewer."""
_LAYOUT_CHARS = 600


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style says, with what it inherits: `level` from 1, 0 for body text."""

    name: str
    level: int
    list_id: str
    list_level: int | None


def parse_docx(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole, if it unpacks to at most `max_bytes`.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    package = office_package(path, ending, max_bytes)
    with translate_library_errors(path):
        document = docx.Document(package)
        title, metadata = core_properties(path, package)
        pictures = read_package_pictures(path, max_bytes)
        blocks = _Reader(path, document, pictures).blocks()
    return Parsed(
        title,
        blocks,
        metadata=metadata | pictures.metadata,
        recognised=pictures.recognised,
        notes=pictures.notes,
        last_notes=pictures.last_notes,
    )


class _Reader:
    """Walks the body of one document, with what counts on from paragraph to paragraph."""

    def __init__(self, path: Path, document: Any, pictures: Pictures) -> None:
        self._path, self._part, self._pictures = path, document.part, pictures
        self._body = document.element.body
        self._styles = _styles(document.styles.element)
        self._code_styles = _code_styles(document.styles.element)
        self._default = next(
            (key for key, style in self._styles.items() if style.name == "normal"), ""
        )
        numbering = self._read_related(RELATION.NUMBERING)
        self._numbering = Numbering(numbering)
        self._notes = {
            "footnote": _notes(self._read_related(RELATION.FOOTNOTES), "footnote"),
            "endnote": _notes(self._read_related(RELATION.ENDNOTES), "endnote"),
        }
        self._note_count = dict.fromkeys(self._notes, 0)
        self._fields: list[bool] = []
        """The fields that are open; whether their code, which is not shown, still goes on."""

    def blocks(self) -> Iterator[Block]:
        with translate_library_errors(self._path):
            headers, footers = (
                self._read_running_texts("header"),
                self._read_running_texts("footer"),
            )
            body = _attach_captions(_join_code(self._children(self._body, 0)))
            yield from add_running_heads(body, headers, footers)

    def _read_running_texts(self, kind: str) -> list[str]:
        """The texts of the headers or footers that a section shows."""
        shows_even = _is_on(self._read_related(RELATION.SETTINGS), "evenAndOddHeaders")
        found: list[str] = []
        for reference in self._body.iter(f"{W}{kind}Reference"):
            page = reference.get(f"{W}type", "default")
            if page == "first" and not _is_on(reference.getparent(), "titlePg"):
                continue
            if page == "even" and not shows_even:
                continue
            root = self._read_related_xml(reference.get(f"{_R}id"))
            if root is not None:
                found += (" ".join(block.text.split()) for block in self._children(root, 0))
        return found

    def _read_related(self, kind: str) -> Any:
        """The XML of a part that the document is related to, None without one."""
        for relation in self._part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                blob = relation.target_part.blob
                return parse_xml(blob) if blob else None
        return None

    def _children(self, parent: Any, depth: int) -> Iterator[Block]:
        """The blocks of what holds paragraphs and tables: body, cell, box, note."""
        if depth > _MAX_DEPTH:
            return
        for child in parent.iterchildren():
            if child.tag == f"{W}p":
                yield from self._paragraph(child, depth)
            elif child.tag == f"{W}tbl":
                yield from self._table(child, depth)
            elif child.tag == f"{_MC}AlternateContent":
                yield from self._children(_choice(child), depth + 1)
            elif child.tag not in _DROPPED and not _is_contents(child):
                yield from self._children(child, depth + 1)

    def _paragraph(self, paragraph: Any, depth: int) -> Iterator[Block]:
        found = _Inline()
        self._inline(paragraph, found, depth)
        properties = paragraph.find(f"{W}pPr")
        style = self._style(properties)
        text = _tidy("".join(found.parts))
        if text or not _is_deleted(properties):
            label, level = self._number(properties, style)
        if _CONTENTS_NAME.fullmatch(style.name):
            text = ""
        if text:
            heading = _level(properties, style)
            is_plain = heading or (not label and _CODE_NAME.fullmatch(style.name))
            text = strip_marks(text) if is_plain else restore_spans(text)
            yield _text_block(text, heading, style, label, level)
        yield from found.boxes
        for kind, number in found.notes:
            yield from self._note(kind, number, depth)

    def _style(self, properties: Any) -> _Style:
        name = self._default
        if properties is not None and (given := properties.find(f"{W}pStyle")) is not None:
            name = given.get(f"{W}val", "")
        return self._styles.get(name) or self._styles.get(self._default) or _Style("", 0, "", None)

    def _number(self, properties: Any, style: _Style) -> tuple[str | None, int]:
        """The paragraph's number or bullet, None for one that is not numbered, and its level."""
        list_id, level = style.list_id, style.list_level
        own = None if properties is None else properties.find(f"{W}numPr")
        if own is not None:
            list_id = _attribute(own.find(f"{W}numId")) or list_id
            given = _attribute(own.find(f"{W}ilvl"))
            level = int(given) if given.isdecimal() else level
        if list_id in ("", "0"):
            return None, 0
        return self._numbering.label(list_id, level or 0), (level or 0) + 1

    def _inline(self, parent: Any, found: "_Inline", depth: int) -> None:
        """Add what a reader sees of a paragraph or a part of it."""
        for child in parent.iterchildren():
            tag = child.tag
            if not isinstance(tag, str) or tag in _DROPPED:
                continue
            if tag == f"{W}fldChar":
                self._field(child.get(f"{W}fldCharType", ""))
                found.parts.append(_field_state(child))
            elif any(self._fields):
                self._inline(child, found, depth)
            elif tag in _DRAWN or tag == f"{_MC}AlternateContent":
                found.boxes += self._read_drawing(child, depth)
            elif tag in _NOTE_MARKS:
                found.notes.append((_NOTE_MARKS[tag], child.get(f"{W}id", "")))
            elif (text := _own_text(child)) is not None:
                found.parts.append(text)
            elif tag != f"{W}r" or not _is_unseen(child):
                before = len(found.parts)
                self._inline(child, found, depth)
                found.parts[before:] = [self._format_part(child, "".join(found.parts[before:]))]

    def _format_part(self, element: Any, text: str) -> str:
        """Return the text of a part of a paragraph as the part says that it is written."""
        if element.tag in _MATH_SIGNS:
            return _math_text(element.tag, text)
        if element.tag != f"{W}r" or not text.strip():
            return text
        kind = _attribute(element.find(f"{W}rPr/{W}vertAlign"))
        if write := {"superscript": raise_text, "subscript": lower_text}.get(kind):
            return write(text)
        return mark_code(text) if self._is_code(element) else text

    def _is_code(self, run: Any) -> bool:
        """Whether a run has a style for code inside a line."""
        style = run.find(f"{W}rPr/{W}rStyle") if self._code_styles else None
        return style is not None and style.get(f"{W}val", "") in self._code_styles

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append(True)
        elif kind == "separate" and self._fields:
            self._fields[-1] = False
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _read_drawing(self, element: Any, depth: int) -> list[Block]:
        """The text boxes, charts and diagrams of a drawing."""
        if depth > _MAX_DEPTH:
            return []
        found: list[Block] = []
        outer, self._fields = self._fields, []
        for child in _choice(element).iterchildren():
            if child.tag == f"{W}txbxContent":
                found += self._children(child, depth + 1)
            elif child.tag == _CHART:
                found += chart_blocks(self._read_related_xml(child.get(f"{_R}id")))
            elif child.tag == _DIAGRAM:
                found += [
                    Block(line)
                    for line in diagram_lines(self._read_related_xml(child.get(f"{_R}dm")))
                ]
            elif child.tag in _PICTURES:
                found += self._picture(child)
            elif isinstance(child.tag, str):
                found += self._read_drawing(child, depth + 1)
        self._fields = outer
        return found

    def _picture(self, element: Any) -> Iterator[Block]:
        """A picture by its relation; what is said of it stands in the drawing that it is in."""
        relation = element.get(f"{_R}embed") or element.get(f"{_R}id")
        part = self._part.related_parts.get(relation) if relation else None
        around = next(element.iterancestors(f"{_WP}inline", f"{_WP}anchor"), None)
        about = None if around is None else around.find(f"{_WP}docPr")
        said = "" if about is None else about.get("descr", "") or about.get("title", "")
        if part is not None:
            yield from self._pictures.blocks(str(part.partname).lstrip("/"), said)

    def _read_related_xml(self, relation: str | None) -> Any:
        part = self._part.related_parts.get(relation) if relation else None
        return parse_xml(part.blob) if part is not None and part.blob else None

    def _note(self, kind: str, number: str, depth: int) -> Iterator[Block]:
        """The note that a paragraph refers to, with its number as Word counts it."""
        note = self._notes[kind].pop(number, None)
        if note is None:
            return
        self._note_count[kind] += 1
        lead = f"{kind.capitalize()} {self._note_count[kind]}: "
        for block in self._children(note, depth + 1):
            yield replace(block, text=lead + block.text) if block.kind == "paragraph" else block
            lead = ""

    def _table(self, table: Any, depth: int) -> Iterator[Block]:
        rows = [self._row(row, depth) for row in _rows(table)]
        rows = [row for row in rows if row]
        cells = [cell for row in rows for cell in row]
        if _is_layout(rows):
            for cell in cells:
                if not cell.repeated:
                    yield from cell.blocks
            return
        grid = _fill_merged(rows)
        marked = 0
        for row in _rows(table):
            if not _is_on(row.find(f"{W}trPr"), "tblHeader"):
                break
            marked += 1
        texts = [
            [
                INDENT * (cell.indent * (not at)) + cell.text if cell else ""
                for at, cell in enumerate(row)
            ]
            for row in grid
        ]
        texts = fill_down(texts, marked or header_rows(texts))
        yield from table_blocks(texts, marked or None)
        for cell in cells:
            yield from (block for block in cell.blocks if block.kind == "table")

    def _row(self, row: Any, depth: int) -> list["_Cell"]:
        properties = row.find(f"{W}trPr")
        if properties is not None and properties.find(f"{W}del") is not None:
            return []
        cells = (
            [_Cell([], _span(properties, "gridBefore"))] if _span(properties, "gridBefore") else []
        )
        for cell in _inside(row, f"{W}tc"):
            style = cell.find(f"{W}tcPr")
            merge = None if style is None else style.find(f"{W}vMerge")
            goes_on = merge is not None and merge.get(f"{W}val", "continue") == "continue"
            blocks = list(_join_code(self._children(cell, depth + 1)))
            cells.append(_Cell(blocks, max(_span(style, "gridSpan"), 1), goes_on, _indent(cell)))
        return cells


def _indent(cell: Any) -> int:
    """How many points the first paragraph of a cell is indented."""
    found = next(cell.iter(f"{W}ind"), None)
    first = next(cell.iter(f"{W}p"), None)
    if found is None or first is None or found.getparent().getparent() is not first:
        return 0
    said = found.get(f"{W}left") or found.get(f"{W}start") or ""
    return min(int(said) // 20, 40) if said.isdecimal() else 0


@dataclass(slots=True)
class _Cell:
    """A cell over `span` columns; `repeated` if it only goes on with the one above. `indent` is how
    far its text is indented, in points."""

    blocks: list[Block]
    span: int = 1
    repeated: bool = False
    indent: int = 0

    @property
    def text(self) -> str:
        parts = [" ".join(block.text.split()) for block in self.blocks if block.kind != "table"]
        return " ".join(parts)


class _Inline:
    """What was found in a paragraph: its text, the boxes anchored in it, and notes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.boxes: list[Block] = []
        self.notes: list[tuple[str, str]] = []


def _text_block(text: str, heading: int, style: _Style, label: str | None, level: int) -> Block:
    if heading:
        text = " ".join(text.split())
        numbered = label and label != BULLET
        return Block(f"{label} {text}" if numbered else text, "heading", heading)
    if label:
        return Block(f"{label} {text}", "item", level, label=label)
    name = style.name
    if name == "caption":
        return Block(" ".join(text.split()), "caption")
    if _CODE_NAME.fullmatch(name):
        return Block(text, "code")
    return Block(text, "quote" if name in _QUOTE_NAMES else "paragraph")


def _level(properties: Any, style: _Style) -> int:
    """The heading level of a paragraph: its own, else its style's; 0 for body text."""
    own = "" if properties is None else _attribute(properties.find(f"{W}outlineLvl"))
    if own.isdecimal():
        return int(own) + 1 if int(own) < _BODY_TEXT else 0
    return style.level


def _styles(root: Any) -> dict[str, _Style]:
    """The paragraph styles by their ids; each inherits from what it is based on."""
    elements = {item.get(f"{W}styleId", ""): item for item in root.iterchildren(f"{W}style")
                if item.get(f"{W}type", "paragraph") == "paragraph"}  # fmt: skip
    found: dict[str, _Style] = {}
    for key in elements:
        chain = []
        name = key
        while name in elements and name not in chain:
            chain.append(name)
            name = _attribute(elements[name].find(f"{W}basedOn"))
        outline, list_id, list_level = "", "", ""
        for item in chain:
            properties = elements[item].find(f"{W}pPr")
            if properties is None:
                continue
            outline = outline or _attribute(properties.find(f"{W}outlineLvl"))
            number = properties.find(f"{W}numPr")
            if number is not None:
                list_id = list_id or _attribute(number.find(f"{W}numId"))
                list_level = list_level or _attribute(number.find(f"{W}ilvl"))
        names = [_attribute(elements[item].find(f"{W}name")).lower() for item in chain]
        level = int(outline) + 1 if outline.isdecimal() else _level_by_name(names)
        found[key] = _Style(
            names[0],
            level if level <= _BODY_TEXT else 0,
            list_id,
            int(list_level) if list_level.isdecimal() else None,
        )
    return found


def _code_styles(root: Any) -> frozenset[str]:
    """The ids of the styles for code inside a line, and of those that are based on one."""
    elements = {item.get(f"{W}styleId", ""): item for item in root.iterchildren(f"{W}style")
                if item.get(f"{W}type") == "character"}  # fmt: skip
    found = set[str]()
    for key in elements:
        chain = []
        name = key
        while name in elements and name not in chain:
            chain.append(name)
            name = _attribute(elements[name].find(f"{W}basedOn"))
        names = {_attribute(elements[item].find(f"{W}name")).lower() for item in chain}
        if names & _INLINE_CODE_NAMES:
            found.add(key)
    return frozenset(found)


def _level_by_name(names: Iterable[str]) -> int:
    """The level that the names of a style and those it is based on say; they are never
    translated for Word's own styles."""
    for name in names:
        if name == "title":
            return 1
        if match := _HEADING_NAME.fullmatch(name):
            return int(match[1])
    return 0


def _join_code(blocks: Iterable[Block]) -> Iterator[Block]:
    """Paragraphs of code that follow each other are one block."""
    held: Block | None = None
    for block in blocks:
        if held and block.kind == "code":
            held = replace(held, text=f"{held.text}\n{block.text}")
            continue
        if held:
            yield held
        held = block if block.kind == "code" else None
        if held is None:
            yield block
    if held:
        yield held


def _attach_captions(blocks: Iterable[Block]) -> Iterator[Block]:
    """A caption right above a table is its label too."""
    caption = ""
    for block in blocks:
        if block.kind == "table" and caption:
            label = f"{caption}. {block.label}" if block.label else caption
            yield replace(block, label=label)
            continue
        caption = block.text if block.kind == "caption" else ""
        yield block


def _notes(root: Any, kind: str) -> dict[str, Any]:
    """Notes by their ids; separators are none."""
    if root is None:
        return {}
    return {
        item.get(f"{W}id", ""): item
        for item in root.iter(f"{W}{kind}")
        if item.get(f"{W}type", "normal") == "normal"
    }


def _rows(table: Any) -> Iterator[Any]:
    return _inside(table, f"{W}tr")


def _inside(parent: Any, tag: str) -> Iterator[Any]:
    """The rows of a table or cells of a row, also where controls or insertions wrap them."""
    for child in parent.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag not in _DROPPED and child.tag not in (f"{W}tr", f"{W}tc", f"{W}p"):
            yield from _inside(child, tag)


def _is_layout(rows: list[list[_Cell]]) -> bool:
    """Whether a table only arranges text: one cell a row, or cells with headings, tables, or long
    text of several blocks."""
    if all(len(row) <= 1 for row in rows):
        return True
    for row in rows:
        for cell in row:
            kinds = {block.kind for block in cell.blocks}
            size = sum(len(block.text) for block in cell.blocks)
            if "code" in kinds or (len(cell.blocks) > 1 and kinds & {"heading", "table"}):
                return True
            if len(cell.blocks) > 2 and size > _LAYOUT_CHARS:
                return True
    return False


def _fill_merged(rows: list[list[_Cell]]) -> list[list[_Cell | None]]:
    """The rows with a cell for each column: merged ones stand in each column and row."""
    grid: list[list[_Cell | None]] = []
    for row in rows:
        line: list[_Cell | None] = []
        above = grid[-1] if grid else []
        for cell in row:
            start = len(line)
            shown = above[start] if cell.repeated and start < len(above) else cell
            line += [shown] * min(cell.span, 200)
        grid.append(line)
    return grid


def _choice(element: Any) -> Any:
    """Of alternative contents, the first one with text in it; else the element itself."""
    if element.tag != f"{_MC}AlternateContent":
        return element
    options = [item for item in element.iterchildren() if isinstance(item.tag, str)]
    for option in options:
        if next(option.iter(f"{W}t", f"{W}p", _CHART, _DIAGRAM), None) is not None:
            return option
    return options[0] if options else element


def _own_text(element: Any) -> str | None:
    """The text that an element stands for, None for one that may hold others."""
    tag = element.tag
    if tag in (f"{W}t", f"{_MATH}t"):
        return element.text or ""
    if tag == f"{W}br":
        return "\n" if element.get(f"{W}type", "textWrapping") == "textWrapping" else " "
    if tag == f"{W}sym":
        return _symbol(element)
    return _MARKS.get(tag)


def _field_state(field: Any) -> str:
    """Return what a box or a list of an old form is set to; the text of other fields stands
    behind them."""
    box, choice = field.find(f"{W}ffData/{W}checkBox"), field.find(f"{W}ffData/{W}ddList")
    if box is not None:
        state = "checked" if box.find(f"{W}checked") is not None else "default"
        return "☒ " if _is_on(box, state) else "☐ "
    if choice is None:
        return ""
    chosen = _attribute(choice.find(f"{W}result")) or _attribute(choice.find(f"{W}default")) or "0"
    entries = [_attribute(entry) for entry in choice.iterchildren(f"{W}listEntry")]
    return "".join(entries[int(chosen[:4]) :][:1]) if chosen.isdecimal() else ""


def _math_text(tag: str, text: str) -> str:
    """Return a part of a formula as it is written in a line of text: 3/16, x^2, (a+b)/c."""
    if not text:
        return ""
    is_term = tag != f"{_MATH}d" and re.fullmatch(r"[^\s+\-\u2212±×·*/=]+", text)
    return _MATH_SIGNS[tag] + (text if is_term else f"({text})")


def _is_contents(element: Any) -> bool:
    """Whether a content control holds the generated table of contents."""
    gallery = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return _attribute(gallery) == "Table of Contents"


def _is_unseen(run: Any) -> bool:
    """Whether a run is hidden, or struck out: then it is no longer said."""
    properties = run.find(f"{W}rPr")
    return any(_is_on(properties, name) for name in ("vanish", "strike", "dstrike"))


def _is_deleted(properties: Any) -> bool:
    """Whether the end of the paragraph is deleted, so that it has no number of its own."""
    return properties is not None and properties.find(f"{W}rPr/{W}del") is not None


def _is_on(properties: Any, name: str) -> bool:
    found = None if properties is None else properties.find(f"{W}{name}")
    return found is not None and found.get(f"{W}val", "true") not in ("0", "false", "off")


def _symbol(element: Any) -> str:
    """A character by its number; those of symbol fonts mean pictures."""
    font = element.get(f"{W}font", "").lower()
    code = element.get(f"{W}char", "")
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    if font == "symbol" and number & 0xFF in _SYMBOLS:
        return _SYMBOLS[number & 0xFF]
    if sign := PICTURE_SIGNS.get(font.replace(" ", "").encode(), {}).get(chr(number & 0xFF)):
        return sign
    if font.startswith(_SYMBOL_FONTS) or 0xE000 <= number <= 0xF8FF or number > 0xFFFF:
        return ""
    return chr(number)


def _span(properties: Any, name: str) -> int:
    given = "" if properties is None else _attribute(properties.find(f"{W}{name}"))
    return int(given) if given.isdecimal() else 0


def _attribute(element: Any) -> str:
    return "" if element is None else element.get(f"{W}val", "")


def _tidy(text: str) -> str:
    """The text without white space at the ends of its lines."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.replace("\xad", "").split("\n"))
    return "\n".join(lines).strip()


DOCX = Format(
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    parse_docx,
    whole=True,
    magic=ZIP,
    picture=read_package_picture,
)
DOCM = replace(DOCX, media_type="application/vnd.ms-word.document.macroEnabled.12")
