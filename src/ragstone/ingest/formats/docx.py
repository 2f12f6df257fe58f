"""DOCX: python-docx opens the package, and its XML is read in order as Word shows it.

Lists keep their numbers, insertions are kept and deletions are not; the table of contents (whose
headings follow anyway) is left out. Running heads and feet stand once, behind the title, a note or
a comment after the paragraph that it belongs to, the text of a box after the one that it is
anchored in.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE as RELATION
from docx.oxml.parser import parse_xml

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.docx_parts import (
    HIDES,
    MATH_SIGNS,
    STRIKES,
    ParagraphStyle,
    TableCell,
    attribute,
    cell_indent,
    column_span,
    field_state,
    fill_merged,
    find_formatting_styles,
    heading_level,
    is_enabled,
    is_formatted,
    is_layout_table,
    math_text,
    own_text,
    read_code_styles,
    read_styles,
    tidy_text,
)
from ragstone.ingest.formats.drawing import chart_blocks, diagram_blocks
from ragstone.ingest.formats.embedded import Pictures, read_package_picture, read_package_pictures
from ragstone.ingest.formats.furniture import COMMENT, add_running_heads, comment_block
from ragstone.ingest.formats.inline_text import (
    lower_text,
    mark_code,
    raise_text,
    restore_spans,
    strip_marks,
)
from ragstone.ingest.formats.numbering import BULLET, Numbering, W
from ragstone.ingest.formats.package import (
    core_properties,
    find_embedded_files,
    office_package,
    translate_library_errors,
)
from ragstone.ingest.formats.struck import hide, strike_out
from ragstone.ingest.formats.tables import INDENT, fill_down, header_rows, table_blocks
from ragstone.ingest.formats.types import ZIP, Format

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_PICTURES = {
    "{http://schemas.openxmlformats.org/drawingml/2006/main}blip",
    "{urn:schemas-microsoft-com:vml}imagedata",
}


_DROPPED = {
    f"{W}{name}"
    for name in (
        "del", "moveFrom", "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "sdtPr",
        "instrText", "delText", "rt",
    )
}  # fmt: skip
_DRAWN = {f"{W}drawing", f"{W}pict", f"{W}object"}
_NOTE_MARKS = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}

_CONTENTS_NAME = re.compile(r"(?:toc|table of figures|index)( ?\d| heading)?", re.IGNORECASE)
_CODE_NAME = re.compile(r"(?:html )?preformatted(?: text)?|(?:source )?code(?: block)?|verbatim|"
                        r"plain ?code|listing", re.IGNORECASE)  # fmt: skip
_QUOTE_NAMES = {"quote", "intense quote", "block text", "quotations"}
_MAX_DEPTH = 40
"""How deep tables and boxes may stand in each other; Word itself allows fewer."""


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
        recognised=pictures.recognition_count,
        notes=(*pictures.notes, *find_embedded_files(path)),
        last_notes=pictures.last_notes,
    )


class _Reader:
    """Walks the body of one document, with what counts on from paragraph to paragraph."""

    def __init__(self, path: Path, document: Any, pictures: Pictures) -> None:
        self._path, self._part, self._pictures = path, document.part, pictures
        self._body = document.element.body
        self._styles = read_styles(document.styles.element)
        self._code_styles = read_code_styles(document.styles.element)
        self._struck_styles = find_formatting_styles(document.styles.element, STRIKES)
        self._hidden_styles = find_formatting_styles(document.styles.element, HIDES)
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
        self._comments = _notes(self._read_related(RELATION.COMMENTS), "comment")
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
        """Return the texts of the headers or footers that a section shows."""
        shows_even = is_enabled(self._read_related(RELATION.SETTINGS), "evenAndOddHeaders")
        found: list[str] = []
        for reference in self._body.iter(f"{W}{kind}Reference"):
            page = reference.get(f"{W}type", "default")
            if page == "first" and not is_enabled(reference.getparent(), "titlePg"):
                continue
            if page == "even" and not shows_even:
                continue
            root = self._read_related_xml(reference.get(f"{_R}id"))
            if root is not None:
                found += (" ".join(block.text.split()) for block in self._children(root, 0))
        return found

    def _read_related(self, kind: str) -> Any:
        """Return the XML of a part that the document is related to, None without one."""
        for relation in self._part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                blob = relation.target_part.blob
                return parse_xml(blob) if blob else None
        return None

    def _children(self, parent: Any, depth: int) -> Iterator[Block]:
        """Yield the blocks of what holds paragraphs and tables: body, cell, box, note."""
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
        text = tidy_text("".join(found.parts))
        # The list counts on for empty paragraphs too, but not for one whose end a tracked change
        # deletes: it is one with the next.
        # A paragraph whose end is deleted has no number of its own.
        if text or not (properties is not None and properties.find(f"{W}rPr/{W}del") is not None):
            label, level = self._number(properties, style)
        # The headings follow anyway, and a question for one would find its line in the contents.
        if _CONTENTS_NAME.fullmatch(style.name):
            text = ""
        if text:
            heading = heading_level(properties, style)
            is_plain = heading or (not label and _CODE_NAME.fullmatch(style.name))
            text = strip_marks(text) if is_plain else restore_spans(text)
            yield _text_block(text, heading, style, label, level)
        yield from found.boxes
        for kind, number in found.notes:
            yield from self._note(kind, number, depth)
        for number in found.comments:
            yield from self._comment(number, depth)

    def _style(self, properties: Any) -> ParagraphStyle:
        name = self._default
        if properties is not None and (given := properties.find(f"{W}pStyle")) is not None:
            name = given.get(f"{W}val", "")
        return (
            self._styles.get(name)
            or self._styles.get(self._default)
            or ParagraphStyle("", 0, "", None)
        )

    def _number(self, properties: Any, style: ParagraphStyle) -> tuple[str | None, int]:
        """The paragraph's number or bullet, None for one that is not numbered, and its level."""
        list_id, level = style.list_id, style.list_level
        own = None if properties is None else properties.find(f"{W}numPr")
        if own is not None:
            list_id = attribute(own.find(f"{W}numId")) or list_id
            given = attribute(own.find(f"{W}ilvl"))
            level = int(given) if given.isdecimal() else level
        if list_id in ("", "0"):
            return None, 0
        return self._numbering.label(list_id, level or 0), (level or 0) + 1

    def _inline(self, parent: Any, found: "_Inline", depth: int) -> None:
        """Add what a reader sees of a paragraph or a part of it."""
        for child in parent.iterchildren():
            tag = child.tag
            if not isinstance(tag, str) or tag in _DROPPED:
                found.parts.append(strike_out(_deleted_text(child)))
                continue
            if tag == f"{W}fldChar":
                self._field(child.get(f"{W}fldCharType", ""))
                found.parts.append(field_state(child))
            # The code of a field ("PAGEREF _Toc1") is not shown; only notes and boxes within it
            # count.
            elif any(self._fields):
                self._inline(child, found, depth)
            elif tag in _DRAWN or tag == f"{_MC}AlternateContent":
                found.boxes += self._read_drawing(child, depth)
            elif tag == f"{W}commentReference":
                found.comments.append(child.get(f"{W}id", ""))
            elif tag in _NOTE_MARKS:
                found.notes.append((_NOTE_MARKS[tag], child.get(f"{W}id", "")))
            elif (text := own_text(child)) is not None:
                found.parts.append(text)
            else:
                self._read_part(child, found, depth)

    def _read_part(self, part: Any, found: "_Inline", depth: int) -> None:
        """Add what a run or a part of a formula says; its formats hold for all that is inside."""
        if part.tag == f"{W}r" and is_formatted(part, STRIKES, self._struck_styles):
            found.parts.append(strike_out(_run_text(part)))
        elif part.tag == f"{W}r" and is_formatted(part, HIDES, self._hidden_styles):
            hide(_run_text(part))
        else:
            before = len(found.parts)
            self._inline(part, found, depth)
            found.parts[before:] = [self._format_part(part, "".join(found.parts[before:]))]

    def _format_part(self, element: Any, text: str) -> str:
        """Return the text of a part of a paragraph as the part says that it is written."""
        if element.tag in MATH_SIGNS:
            return math_text(element.tag, text)
        if element.tag != f"{W}r" or not text.strip():
            return text
        kind = attribute(element.find(f"{W}rPr/{W}vertAlign"))
        if write := {"superscript": raise_text, "subscript": lower_text}.get(kind):
            return write(text)
        # Some writers move a run by half points instead of naming it raised.
        moved = attribute(element.find(f"{W}rPr/{W}position"))
        if re.fullmatch(r"-?[1-9]\d{0,3}", moved):
            return lower_text(text) if moved.startswith("-") else raise_text(text)
        return mark_code(text) if self._is_code(element) else text

    def _is_code(self, run: Any) -> bool:
        """Tell whether a run has a style for code inside a line."""
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
        """Return the text boxes, charts and diagrams of a drawing."""
        if depth > _MAX_DEPTH:
            return []
        found: list[Block] = []
        # A box has fields of its own, also where it stands in the code of one.
        outer, self._fields = self._fields, []
        for child in _choice(element).iterchildren():
            if child.tag == f"{W}txbxContent":
                found += self._children(child, depth + 1)
            elif child.tag == _CHART:
                found += chart_blocks(self._read_related_xml(child.get(f"{_R}id")))
            elif child.tag == _DIAGRAM:
                found += diagram_blocks(self._read_related_xml(child.get(f"{_R}dm")))
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
        """Yield the note that a paragraph refers to, with its number as Word counts it."""
        # A second reference to a note shows its number again, not its text.
        note = self._notes[kind].pop(number, None)
        if note is None:
            return
        self._note_count[kind] += 1
        lead = f"{kind.capitalize()} {self._note_count[kind]}: "
        for block in self._children(note, depth + 1):
            yield replace(block, text=lead + block.text) if block.kind == "paragraph" else block
            lead = ""

    def _comment(self, number: str, depth: int) -> Iterator[Block]:
        comment = self._comments.pop(number, None)
        if comment is None:
            return
        text = " ".join(block.text for block in self._children(comment, depth + 1))
        if text:
            yield comment_block(text, comment.get(f"{W}author", ""))

    def _table(self, table: Any, depth: int) -> Iterator[Block]:
        rows = [self._row(row, depth) for row in _rows(table)]
        rows = [row for row in rows if row]
        grid = fill_merged(rows)
        marked = 0
        for row in _rows(table):
            if not is_enabled(row.find(f"{W}trPr"), "tblHeader"):
                break
            marked += 1
        texts = [
            [
                INDENT * (cell.indent * (not at)) + cell.text if cell else ""
                for at, cell in enumerate(row)
            ]
            for row in grid
        ]
        header = marked or header_rows(texts)
        if is_layout_table(rows, has_names=bool(header)):
            for cell in (cell for row in rows for cell in row if not cell.repeated):
                yield from cell.blocks
            return
        yield from table_blocks(fill_down(texts, header), marked or None)
        for row in rows:
            # A table in a cell of data stands behind the one that it is in, with its row's name,
            # and comments do too.
            for block in (block for cell in row for block in cell.blocks):
                if block.kind == "table":
                    yield replace(block, label=block.label or row[0].text)
                elif block.label == COMMENT:
                    yield block

    def _row(self, row: Any, depth: int) -> list["TableCell"]:
        properties = row.find(f"{W}trPr")
        is_deleted = properties is not None and properties.find(f"{W}del") is not None
        cells = (
            [TableCell([], column_span(properties, "gridBefore"))]
            if column_span(properties, "gridBefore")
            else []
        )
        for cell in _iterate_nested(row, f"{W}tc"):
            style = cell.find(f"{W}tcPr")
            merge = None if style is None else style.find(f"{W}vMerge")
            goes_on = merge is not None and merge.get(f"{W}val", "continue") == "continue"
            blocks = list(_join_code(self._children(cell, depth + 1)))
            if is_deleted:
                blocks = [replace(block, text=strike_out(block.text)) for block in blocks]
            cells.append(
                TableCell(
                    blocks, max(column_span(style, "gridSpan"), 1), goes_on, cell_indent(cell)
                )
            )
        return cells


class _Inline:
    """What was found in a paragraph: its text, the boxes anchored in it, notes and comments."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.boxes: list[Block] = []
        self.notes: list[tuple[str, str]] = []
        self.comments: list[str] = []


def _text_block(
    text: str, heading: int, style: ParagraphStyle, label: str | None, level: int
) -> Block:
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


def _deleted_text(element: Any) -> str:
    """Return the text of a tracked deletion; empty for any other element."""
    texts = element.iter(f"{W}delText") if element.tag == f"{W}del" else ()
    return "".join(item.text or "" for item in texts)


def _run_text(run: Any) -> str:
    return "".join(own_text(item) or "" for item in run.iter() if isinstance(item.tag, str))


def _join_code(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield paragraphs of code that follow each other are one block."""
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
    """Return notes by their ids; separators are none."""
    if root is None:
        return {}
    return {
        item.get(f"{W}id", ""): item
        for item in root.iter(f"{W}{kind}")
        if item.get(f"{W}type", "normal") == "normal"
    }


def _rows(table: Any) -> Iterator[Any]:
    return _iterate_nested(table, f"{W}tr")


def _iterate_nested(parent: Any, tag: str) -> Iterator[Any]:
    """Yield the rows of a table or cells of a row, also where controls or insertions wrap them."""
    for child in parent.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag not in _DROPPED and child.tag not in (f"{W}tr", f"{W}tc", f"{W}p"):
            yield from _iterate_nested(child, tag)


def _choice(element: Any) -> Any:
    """Of alternative contents, the first one with text in it; else the element itself."""
    if element.tag != f"{_MC}AlternateContent":
        return element
    options = [item for item in element.iterchildren() if isinstance(item.tag, str)]
    for option in options:
        if next(option.iter(f"{W}t", f"{W}p", _CHART, _DIAGRAM), None) is not None:
            return option
    return options[0] if options else element


def _is_contents(element: Any) -> bool:
    """Tell whether a content control holds the generated table of contents."""
    gallery = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return attribute(gallery) == "Table of Contents"


DOCX = Format(
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    parse_docx,
    whole=True,
    magic=ZIP,
    picture=read_package_picture,
)
DOCM = replace(DOCX, media_type="application/vnd.ms-word.document.macroEnabled.12")
