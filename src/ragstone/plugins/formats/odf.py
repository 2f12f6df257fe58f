"""ODT, ODS and ODP (LibreOffice, OpenOffice), read from their XML.

Lists have their numbers, notes and comments follow their paragraph, merged cells repeat their
value; deleted text and tables of contents are left out. A sheet or a slide is a page.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ragstone.core.errors import EncryptedDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.embedded import Pictures, read_package_picture, read_package_pictures
from ragstone.ingest.formats.furniture import add_running_heads, comment_block
from ragstone.ingest.formats.inline_text import lower_text, raise_text
from ragstone.ingest.formats.metadata import keyword_list
from ragstone.ingest.formats.numbering import BULLET, numeral
from ragstone.ingest.formats.package import (
    bomb_error,
    iso_date,
    safe_tree,
    tell_embedded,
    translate_library_errors,
    xml_parts,
)
from ragstone.ingest.formats.sheets import add_sheet_heading, mark_cells, sheet_blocks
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import ZIP, Format

_NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns"
_OFFICE = f"{{{_NAMESPACE}:office:1.0}}"
_TEXT = f"{{{_NAMESPACE}:text:1.0}}"
_TABLE = f"{{{_NAMESPACE}:table:1.0}}"
_DRAW = f"{{{_NAMESPACE}:drawing:1.0}}"
_STYLE = f"{{{_NAMESPACE}:style:1.0}}"
_META = f"{{{_NAMESPACE}:meta:1.0}}"
_PRESENTATION = f"{{{_NAMESPACE}:presentation:1.0}}"
_SVG = f"{{{_NAMESPACE}:svg-compatible:1.0}}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_HREF = "{http://www.w3.org/1999/xlink}href"

_DROPPED = {
    *(f"{_OFFICE}{name}" for name in ("annotation-end", "forms")),
    *(
        f"{_TEXT}{name}"
        for name in (
            "tracked-changes", "table-of-content", "illustration-index", "table-index",
            "alphabetical-index", "sequence-decls", "variable-decls", "ruby-text", "number",
            "note-citation",
        )
    ),
    f"{_TABLE}shapes",
    f"{_PRESENTATION}notes",
    f"{_STYLE}header",
    f"{_STYLE}footer",
}  # fmt: skip
_MARKS = {f"{_TEXT}tab": " ", f"{_TEXT}line-break": "\n"}
_NUMBERS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman",
            "I": "upperRoman"}  # fmt: skip
_TITLES = {"title"}
_FURNITURE = {"header", "footer", "date-time", "page-number"}
_MAX_DEPTH = 60
_CHANGE_ID = f"{_TEXT}change-id"
_COVERED = f"{_TABLE}covered-table-cell"
_VISIBILITY = f"{_TABLE}visibility"
_INVISIBLE = ("collapse", "filter")
_MAX_REPEATED = 1000
"""So often at most a cell that is said to repeat is repeated, and a row as often as makes so many
cells."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a list style; `format` is None for bullets."""

    format: str | None
    before: str = ""
    after: str = ""
    start: int = 1
    shown: int = 1


@dataclass(slots=True)
class _List:
    """The list that is being read: its style, and the counts of its levels."""

    style: str = ""
    counts: list[int] = field(default_factory=list)


def parse_odf(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole, if its parts unpack to at most `max_bytes`.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    names = ("content.xml", "styles.xml", "meta.xml")
    parts = xml_parts(path, ending, max_bytes, names)
    if not parts["content.xml"].lstrip().startswith(b"<"):
        raise EncryptedDocument(
            f"{path.name} is protected by a password. Save a copy without one and ingest that."
        )
    with translate_library_errors(path):
        roots = {name: safe_tree(path, parts[name]) for name in names if parts.get(name)}
        pictures = read_package_pictures(path, max_bytes)
        reader = _Reader(path, roots, max_bytes, pictures)
        title, metadata = _properties(roots.get("meta.xml"))
        body = next(roots["content.xml"].iter(f"{_OFFICE}body"))
        count: int | None = None
        sheets, slides = body.find(f"{_OFFICE}spreadsheet"), body.find(f"{_OFFICE}presentation")
        if sheets is not None:
            tables = list(sheets.iterchildren(f"{_TABLE}table"))
            title = title or (path.stem if len(tables) > 1 else "")
            blocks, count = reader.sheets(tables), len(tables)
        elif slides is not None:
            pages = list(slides.iterchildren(f"{_DRAW}page"))
            blocks, count = reader.slides(pages), len(pages)
        else:
            blocks = reader.text(body)
    return Parsed(
        title,
        blocks,
        count,
        metadata | pictures.metadata,
        recognised=pictures.recognition_count,
        notes=(*pictures.notes, *tell_embedded(path, _embedded_objects(body))),
        last_notes=pictures.last_notes,
    )


def _embedded_objects(body: Any) -> list[str]:
    """The names of the files that a document embeds, but for charts of a sheet's own cells."""
    return [
        (element.getparent().get(f"{_DRAW}name") or element.get(_HREF)).removeprefix("./")
        for element in body.iter(f"{_DRAW}object", f"{_DRAW}object-ole")
        if element.get(_HREF) and not element.get(f"{_DRAW}notify-on-update-of-ranges")
    ]


def _properties(meta: Any | None) -> tuple[str, dict[str, Any]]:
    """Return the title and the other properties as JSON values."""
    if meta is None:
        return "", {}

    def text(*tags: str) -> str:
        found = (" ".join((item.text or "").split()) for tag in tags for item in meta.iter(tag))
        return next((item for item in found if item), "")

    keywords = [
        word for item in meta.iter(f"{_META}keyword") for word in keyword_list(item.text or "")
    ]
    values = {
        "author": text(f"{_META}initial-creator", f"{_DC}creator"),
        "created": iso_date(text(f"{_META}creation-date")),
        "modified": iso_date(text(f"{_DC}date")),
        "language": text(f"{_DC}language"),
        "subject": text(f"{_DC}subject"),
        "description": text(f"{_DC}description"),
        "keywords": keywords,
    }
    return text(f"{_DC}title"), {name: value for name, value in values.items() if value}


class _Reader:
    """Reads the body of one document."""

    def __init__(
        self, path: Path, roots: dict[str, Any], max_bytes: int, pictures: Pictures
    ) -> None:
        self._path, self._max, self._pictures = path, max_bytes, pictures
        self._cells, self._held = 0, list[Any]()
        self._page: int | None = None
        trees = list(roots.values())
        self._lists = {
            item.get(f"{_STYLE}name", ""): _levels(item)
            for root in trees
            for item in root.iter(f"{_TEXT}list-style")
        }
        self._outline = next(
            (_levels(item) for root in trees for item in root.iter(f"{_TEXT}outline-style")), {}
        )
        self._styles = {
            item.get(f"{_STYLE}name", ""): item
            for root in trees
            for item in root.iter(f"{_STYLE}style")
        }
        self._struck = {name: self._strikes(name) for name in self._styles}
        """Whether styles strike text out, None for one that does not say."""
        self._deleted = {
            region.get(f"{_TEXT}id", ""): " ".join(
                "".join(text.itertext()) for text in region.iterfind(f"{_TEXT}deletion/{{*}}*")
                if text.tag in (f"{_TEXT}p", f"{_TEXT}h")
            )
            for root in trees for region in root.iter(f"{_TEXT}changed-region")
        }  # fmt: skip
        """What tracked changes delete, by their ids."""
        self._masters = [item for root in trees for item in root.iter(f"{_STYLE}master-page")]
        self._headings = _List()
        self._numbered = 0
        self._counts: dict[str, _List] = {}

    def text(self, body: Any) -> Iterator[Block]:
        with translate_library_errors(self._path):
            headers, footers = (
                self._read_running_texts("header"),
                self._read_running_texts("footer"),
            )
            yield from add_running_heads(self._children(body, 0), headers, footers)

    def _read_running_texts(self, kind: str) -> list[str]:
        """Return the texts of the headers or footers that pages show, first and left ones too."""
        tags = [f"{{*}}{kind}{page}" for page in ("", "-first", "-left")]
        shown = [tag for page in self._masters for tag in page.iter(*tags)
                 if tag.get(f"{_STYLE}display") != "false"]  # fmt: skip
        return [" ".join(block.text.split()) for item in shown for block in self._children(item, 0)]

    def slides(self, pages: Sequence[Any]) -> Iterator[Block]:
        with translate_library_errors(self._path):
            headers, footers = (
                [
                    "".join(item.itertext())
                    for page in pages[:1]
                    for item in page.getparent().iterchildren(f"{_PRESENTATION}{kind}-decl")
                ]
                for kind in ("header", "footer")
            )
            yield from add_running_heads(self._slides(pages), headers, footers)

    def _slides(self, pages: Sequence[Any]) -> Iterator[Block]:
        with translate_library_errors(self._path):
            for number, page in enumerate(pages, 1):
                self._page = number
                yield from self._slide(page, number)

    def sheets(self, tables: Sequence[Any]) -> Iterator[Block]:
        with translate_library_errors(self._path):
            headers, footers = (
                self._read_running_texts("header"),
                self._read_running_texts("footer"),
            )
            yield from add_running_heads(self._sheets(tables), headers, footers)

    def _sheets(self, tables: Sequence[Any]) -> Iterator[Block]:
        with translate_library_errors(self._path):
            numbered = enumerate(tables, 1)
            for number, table in sorted(numbered, key=lambda pair: self._is_hidden(pair[1])):
                self._page = number
                merged = set[str]()
                rows = self._limit_rows(_grid(table, self._cell_text, merged))
                found = sheet_blocks(rows, number, merged)
                shapes = (self._children(item, 0) for item in table.iter(f"{_TABLE}shapes"))
                found = chain(found, self._from_cells(), *shapes)
                name = table.get(f"{_TABLE}name", "")
                yield from add_sheet_heading(name, found, number, is_hidden=self._is_hidden(table))

    def _is_hidden(self, table: Any) -> bool:
        style = self._styles.get(table.get(f"{_TABLE}style-name", ""))
        properties = None if style is None else style.find(f"{_STYLE}table-properties")
        return properties is not None and properties.get(f"{_TABLE}display") == "false"

    def _limit_rows(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        size = 0
        for row in rows:
            size += sum(map(len, row)) + len(row)
            if size > self._max:
                raise bomb_error(self._path, self._max)
            yield row

    def _slide(self, page: Any, number: int) -> Iterator[Block]:
        title = ""
        body: list[Block] = []
        for shape in page.iterchildren():
            kind = shape.get(f"{_PRESENTATION}class", "")
            if kind in _FURNITURE or not isinstance(shape.tag, str) or shape.tag in _DROPPED:
                continue
            found = list(self._children(shape, 1))
            if kind in _TITLES and not title:
                title = " ".join(" ".join(block.text for block in found).split())
            else:
                body += found
        notes = [
            block
            for item in page.iterchildren(f"{_PRESENTATION}notes")
            for frame in item.iterchildren()
            if frame.get(f"{_PRESENTATION}class", "") not in _FURNITURE
            and isinstance(frame.tag, str)
            and frame.tag not in _DROPPED
            for block in self._children(frame, 1)
        ]
        if title or body or notes:
            yield Block(title or f"Slide {number}", "heading", 1 if number == 1 else 2, number)
        yield from body
        for place, block in enumerate(notes):
            text = block.text if place else f"Notes: {block.text}"
            yield Block(text, page=number, label="notes")

    def _children(self, parent: Any, depth: int) -> Iterator[Block]:
        if depth > _MAX_DEPTH:
            return
        for child in parent.iterchildren():
            tag = child.tag
            if not isinstance(tag, str) or tag in _DROPPED:
                continue
            if tag in (f"{_TEXT}p", f"{_TEXT}h"):
                yield from self._paragraph(child, depth)
            elif tag == f"{_TEXT}list":
                yield from self._list(child, self._count_list(child), 1, depth)
            elif tag == f"{_TABLE}table":
                yield from self._table(child, depth)
            elif tag == f"{_DRAW}image":
                yield from self._picture(child)
            elif tag == f"{_OFFICE}annotation":
                yield from self._comment(child, depth)
            else:
                yield from self._children(child, depth + 1)

    def _picture(self, image: Any) -> Iterator[Block]:
        """What is said of a picture and the text in it; one in a cell waits for the table's end."""
        if self._cells:
            self._held.append(image)
            return
        frame = image.getparent()
        said = (
            " ".join("".join(item.itertext()).split())
            for name in ("desc", "title")
            for item in frame.iterchildren(f"{_SVG}{name}")
        )
        name = image.get(_HREF, "").removeprefix("./")
        yield from self._pictures.blocks(name, next(filter(None, said), ""), self._page)

    def _from_cells(self) -> Iterator[Block]:
        """Yield the pictures and comments in the cells of a table that has been read, once it is in
        no other one."""
        if not self._cells:
            held, self._held = self._held, []
            for item in held:
                yield from (item,) if isinstance(item, Block) else self._picture(item)

    def _paragraph(
        self, element: Any, depth: int, label: str = "", level: int = 0
    ) -> Iterator[Block]:
        found = self._read_inline(element, depth)
        text = "\n".join(
            " ".join(line.split()) for line in "".join(found.parts).split("\n")
        ).strip()
        if element.tag == f"{_TEXT}h" and text:
            yield self._heading(element, " ".join(text.split()), label)
        elif text and label:
            yield Block(f"{label} {text}", "item", level, self._page, label)
        elif text:
            names = self._style_names(element.get(f"{_TEXT}style-name", ""))
            if "Title" in names:
                yield Block(" ".join(text.split()), "heading", 1, self._page)
            elif names.keys() & {"Caption", "Table", "Illustration", "Figure"}:
                yield Block(" ".join(text.split()), "caption", page=self._page)
            elif "Preformatted_20_Text" in names:
                yield Block("".join(found.parts).strip("\n"), "code", page=self._page)
            else:
                kind = "quote" if "Quotations" in names else "paragraph"
                yield Block(text, kind, page=self._page)  # type: ignore[arg-type]
        for child in found.boxes:
            yield from self._children(child, depth + 1)
        for note in found.notes:
            yield from self._note(note, depth)
        for comment in found.comments:
            yield from self._comment(comment, depth)

    def _read_inline(self, paragraph: Any, depth: int) -> "_Inline":
        """Return what is in a paragraph; of a struck-out one a mark and the spans that are not."""
        found = _Inline()
        self._inline(paragraph, found, depth)
        if self._struck.get(paragraph.get(f"{_TEXT}style-name", "")):
            kept = [
                "".join(span.itertext())
                for span in paragraph.iterchildren(f"{_TEXT}span")
                if self._struck.get(span.get(f"{_TEXT}style-name", "")) is False
            ]
            struck = "".join(found.parts)
            for text in kept:
                struck = struck.replace(text, " ", 1)
            found.parts = [strike_out(struck), " ", *kept]
        return found

    def _comment(self, comment: Any, depth: int) -> Iterator[Block]:
        """Yield what a reader noted; of a cell it is held until its table ends."""
        if text := " ".join(block.text for block in self._children(comment, depth + 1)):
            block = comment_block(text, comment.findtext(f"{_DC}creator") or "", page=self._page)
            if self._cells:
                self._held.append(block)
            else:
                yield block

    def _heading(self, element: Any, text: str, label: str) -> Block:
        given = element.get(f"{_TEXT}outline-level", "1")
        level = int(given) if given.isdecimal() and given != "0" else 1
        shown = next((item.text for item in element.iterchildren(f"{_TEXT}number")), None)
        if not label or label == BULLET:
            label = " ".join((shown or "").split())
        if not label and element.get(f"{_TEXT}is-list-header") != "true":
            label = _next_label(self._outline, self._headings, level)
        numbered = label and label != BULLET
        return Block(f"{label} {text}" if numbered else text, "heading", level, self._page)

    def _note(self, note: Any, depth: int) -> Iterator[Block]:
        body = note.find(f"{_TEXT}note-body")
        if body is None:
            return
        citation = next((item.text for item in note.iterchildren(f"{_TEXT}note-citation")), None)
        kind = note.get(f"{_TEXT}note-class", "footnote").capitalize()
        lead = f"{kind} {(citation or '').strip()}".strip() + ": "
        for block in self._children(body, depth + 1):
            text = lead + block.text if block.kind == "paragraph" else block.text
            yield Block(text, block.kind, block.level, block.page, block.label)
            lead = ""

    def _count_list(self, element: Any) -> _List:
        """Return the list that an element begins, or goes on with."""
        style = element.get(f"{_TEXT}style-name", "")
        earlier = element.get(f"{_TEXT}continue-list", "")
        goes_on = element.get(f"{_TEXT}continue-numbering") == "true"
        known = self._counts.get(earlier) or (self._counts.get(style) if goes_on else None)
        counted = _List(style, list(known.counts) if known else [])
        self._counts[style] = counted
        if name := element.get("{http://www.w3.org/XML/1998/namespace}id"):
            self._counts[name] = counted
        return counted

    def _list(self, element: Any, counted: _List, level: int, depth: int) -> Iterator[Block]:
        if depth > _MAX_DEPTH:
            return
        style = element.get(f"{_TEXT}style-name", "") or counted.style
        levels = self._lists.get(style, {})
        del counted.counts[level:]
        for item in element.iterchildren(f"{_TEXT}list-item", f"{_TEXT}list-header"):
            label = ""
            start = item.get(f"{_TEXT}start-value", "")
            if start.isdecimal() and len(counted.counts) >= level:
                counted.counts[level - 1] = int(start) - 1
            for child in item.iterchildren():
                if child.tag == f"{_TEXT}list":
                    yield from self._list(child, counted, level + 1, depth + 1)
                elif child.tag in (f"{_TEXT}p", f"{_TEXT}h"):
                    first = not label and item.tag == f"{_TEXT}list-item"
                    label = _next_label(levels, counted, level) or BULLET if first else label
                    yield from self._paragraph(child, depth, label if first else "", level)
                else:
                    yield from self._children(item, depth + 1)
                    break

    def _table(self, table: Any, depth: int) -> Iterator[Block]:
        merged, held = set[str](), len(self._held)
        rows = list(_grid(table, self._cell_text, merged))
        if all(len(row) <= 1 for row in rows):
            del self._held[held:]
            for cell in table.iter(f"{_TABLE}table-cell"):
                yield from self._children(cell, depth + 1)
            return
        marked = [
            row for item in table.iterchildren(f"{_TABLE}table-header-rows")
            for row in item.iter(f"{_TABLE}table-row")
        ]  # fmt: skip
        yield from table_blocks(rows, len(marked) or None, page=self._page, merged=merged)
        yield from self._from_cells()

    def _cell_text(self, cell: Any) -> str:
        text = self._read_cell(cell)
        return strike_out(text) if self._struck.get(cell.get(f"{_TABLE}style-name", "")) else text

    def _read_cell(self, cell: Any) -> str:
        if cell.get(f"{_OFFICE}value-type") == "date" and self._page is not None:
            date = cell.get(f"{_OFFICE}date-value", "")
            return str(date[:16].replace("T", " ") if "T" in date else date)
        if not len(cell) and (formula := cell.get(f"{_TABLE}formula")):
            # LibreOffice saves a value with each formula; other programs leave it to the reader.
            shown = re.sub(r"\[\.?([^\]]*)\]", r"\1", formula.partition("=")[2]).replace(":.", ":")
            is_text = cell.get(f"{_OFFICE}value-type") == "string"
            return "" if is_text else f"not calculated (={shown})"
        if all(
            not len(item)
            and item.tag == f"{_TEXT}p"
            and not self._struck.get(item.get(f"{_TEXT}style-name", ""))
            for item in cell
        ):
            return " ".join(" ".join((item.text or "").split()) for item in cell).strip()
        self._cells += 1
        text = " ".join(" ".join(block.text.split()) for block in self._children(cell, 1))
        self._cells -= 1
        return text

    def _inline(self, parent: Any, found: "_Inline", depth: int) -> None:
        found.parts.append(parent.text or "")
        for child in parent.iterchildren():
            tag = child.tag
            if tag == f"{_TEXT}s":
                count = child.get(f"{_TEXT}c", "1")
                found.parts.append(" " * min(int(count) if count.isdecimal() else 1, 100))
            elif tag == f"{_TEXT}note":
                found.notes.append(child)
            elif tag == f"{_OFFICE}annotation":
                found.comments.append(child)
            elif tag in _MARKS:
                found.parts.append(_MARKS[tag])
            elif tag == f"{_TEXT}change":
                found.parts.append(strike_out(self._deleted.get(child.get(_CHANGE_ID, ""), "")))
            elif isinstance(tag, str) and tag.startswith(_DRAW) and tag != f"{_DRAW}a":
                found.boxes.append(child)
            elif isinstance(tag, str) and tag not in _DROPPED and depth <= _MAX_DEPTH:
                before = len(found.parts)
                self._inline(child, found, depth + 1)
                if tag == f"{_TEXT}span":
                    found.parts[before:] = [self._span_text(child, "".join(found.parts[before:]))]
            found.parts.append(child.tail or "")

    def _span_text(self, span: Any, text: str) -> str:
        """Return the text as raised or lowered, if it is; a mark for what is struck out."""
        name = span.get(f"{_TEXT}style-name", "")
        if self._struck.get(name):
            return strike_out(text)
        style = self._styles.get(name)
        properties = None if style is None else style.find(f"{_STYLE}text-properties")
        if properties is None:
            return text
        position = properties.get(f"{_STYLE}text-position", "").split()
        if not position or position[0] in ("0", "0%"):
            return text
        return lower_text(text) if position[0].startswith(("-", "sub")) else raise_text(text)

    def _strikes(self, name: str) -> bool | None:
        """Whether a style, or the nearest that it is derived from and that says so, strikes out."""
        for key in self._style_names(name):
            style = self._styles.get(key)
            for properties in (
                () if style is None else style.iterchildren(f"{_STYLE}text-properties")
            ):
                for kind in ("style", "type"):
                    if said := properties.get(f"{_STYLE}text-line-through-{kind}"):
                        return bool(said != "none")
        return None

    def _style_names(self, name: str) -> dict[str, None]:
        """The style of a paragraph and those it is derived from, nearest first."""
        found: dict[str, None] = {}
        while name and name not in found:
            found[name] = None
            style = self._styles.get(name)
            name = "" if style is None else style.get(f"{_STYLE}parent-style-name", "")
        return found


class _Inline:
    """What was found in a paragraph: its text, what is drawn in it, and notes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.boxes: list[Any] = []
        self.notes: list[Any] = []
        self.comments: list[Any] = []


def _levels(style: Any) -> dict[int, _Level]:
    found = {}
    for item in style.iterchildren():
        level = item.get(f"{_TEXT}level", "")
        if not isinstance(item.tag, str) or not level.isdecimal():
            continue
        bullet = item.tag.endswith(("-bullet", "-image"))
        start, shown = item.get(f"{_TEXT}start-value", "1"), item.get(f"{_TEXT}display-levels", "1")
        found[int(level)] = _Level(
            None if bullet else item.get(f"{_STYLE}num-format", ""),
            item.get(f"{_STYLE}num-prefix", ""),
            item.get(f"{_STYLE}num-suffix", ""),
            int(start) if start.isdecimal() else 1,
            int(shown) if shown.isdecimal() else 1,
        )
    return found


def _next_label(levels: dict[int, _Level], counted: _List, level: int) -> str:
    """Return the number of the next item, counted on; a bullet; "" for none."""
    while len(counted.counts) < level:
        other = levels.get(len(counted.counts) + 1, _Level(None))
        own = len(counted.counts) + 1 == level
        counted.counts.append(other.start - 1 if own else other.start)
    del counted.counts[level:]
    counted.counts[level - 1] += 1
    here = levels.get(level)
    if here is None or here.format == "":
        return ""
    if here.format is None:
        return BULLET
    parts = []
    for number in range(max(level - here.shown + 1, 1), level + 1):
        style = levels.get(number, here).format
        if style:
            parts.append(numeral(counted.counts[number - 1], _NUMBERS.get(style, "decimal")))
    return f"{here.before}{'.'.join(parts)}{here.after}".strip()


def _grid(table: Any, text: Any, merged: set[str]) -> Iterator[list[str]]:
    """Yield the rows of a table; cells that are covered by a merged one repeat its value. Some
    programs leave them out. What is in cells that reach over columns is put into `merged`."""
    spans: dict[int, tuple[int, str]] = {}
    left_out = next(table.iter(_COVERED), None) is None
    unmarked = _find_hidden_columns(table)
    for row in _own_rows(table):
        cells: list[str] = []
        empty = 0
        for cell in row.iterchildren(f"{_TABLE}table-cell", _COVERED):
            if left_out:
                _cover(cells, spans)
            column = len(cells) + empty
            said = text(cell)
            down, above = spans.get(column, (0, ""))
            if cell.tag == _COVERED and down:
                said = above
                spans[column] = down - 1, above
            if _reach(cell, column, said, spans) > 1:
                merged.add(said)
            repeated = min(_count(cell, "number-columns-repeated"), _MAX_REPEATED)
            if said:
                cells += [""] * empty + [said] * repeated
            empty = 0 if said else empty + repeated
        if left_out and not empty:
            _cover(cells, spans)
        is_hidden = row.get(_VISIBILITY) in _INVISIBLE
        if unmarked or is_hidden:
            mark_cells(cells, unmarked, is_row_hidden=is_hidden)
        repeated = _count(row, "number-rows-repeated") if cells else 1
        for _ in range(min(repeated, max(1, _MAX_REPEATED // max(1, len(cells))))):
            yield list(cells)


def _find_hidden_columns(table: Any) -> set[int]:
    """Return the columns of a table that are hidden; they count from 1."""
    hidden: set[int] = set()
    column = 1
    for item in table.iter(f"{_TABLE}table-column"):
        repeated = _count(item, "number-columns-repeated")
        if item.get(_VISIBILITY) in _INVISIBLE:
            hidden.update(range(column, column + min(repeated, _MAX_REPEATED)))
        column += repeated
    return hidden


def _reach(cell: Any, column: int, said: str, spans: dict[int, tuple[int, str]]) -> int:
    """Note what a cell covers below and beside it; over how many columns it reaches."""
    rows, columns = (_count(cell, f"number-{item}-spanned") for item in ("rows", "columns"))
    if rows > 1 or columns > 1:
        for place in range(column, column + min(columns, _MAX_REPEATED)):
            spans[place] = rows - 1 if place == column else rows, said
    return columns


def _own_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table that are in no other one inside it."""
    for row in table.iter(f"{_TABLE}table-row"):
        if next(row.iterancestors(f"{_TABLE}table")) is table:
            yield row


def _cover(cells: list[str], spans: dict[int, tuple[int, str]]) -> None:
    """Add to a row what merged cells before it or above it say in its next columns."""
    while (span := spans.get(len(cells), (0, "")))[0]:
        spans[len(cells)] = span[0] - 1, span[1]
        cells.append(span[1])


def _count(element: Any, name: str) -> int:
    given = element.get(f"{_TABLE}{name}", "1")
    return max(int(given), 1) if given.isdecimal() else 1


_MEDIA = "application/vnd.oasis.opendocument"


def _format(kind: str) -> Format:
    return Format(
        f"{_MEDIA}.{kind}", parse_odf, whole=True, magic=ZIP, picture=read_package_picture
    )


ODT = _format("text")
ODS = _format("spreadsheet")
ODP = _format("presentation")
