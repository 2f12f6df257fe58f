"""XLSX through openpyxl: a page per sheet, its name as heading, its tables row by row.

Cells are shown as their number format shows them, formulas as the value that was saved with them.
What is hidden is read too, as what is looked up often stands there: hidden sheets, rows and columns
are marked, and the sheets come last.
"""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree  # type: ignore[import-untyped]
from openpyxl.reader.excel import load_workbook
from openpyxl.utils.cell import range_boundaries

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.furniture import add_running_heads, comment_block
from ragstone.ingest.formats.inline_text import lower_text, raise_text
from ragstone.ingest.formats.package import (
    bomb_error,
    core_properties,
    find_embedded_files,
    office_package,
    safe_tree,
    translate_library_errors,
)
from ragstone.ingest.formats.sheets import add_sheet_heading, format_cell, mark_cells, sheet_blocks
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import INDENT
from ragstone.ingest.formats.types import ZIP, Format

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?\bref=[\"']([A-Z]+\d+:[A-Z]+\d+)[\"']")
_PROTECTION = re.compile(rb"<(?:\w+:)?sheetProtection\b[^<>]*/>")
_RICH = re.compile(rb"<(?:\w+:)?(?:vertAlign|strike)\b")
_UNCALCULATED = re.compile(
    rb"<((?:\w+:)?)c\b([^<>]*)><\1f\b[^<>]*(?:/>|>([^<>]*)</\1f>)"
    rb"\s*(?:<\1v\s*/>|<\1v>\s*</\1v>)?\s*</\1c>"
)
"""A cell with a formula and no value, or an empty text."""

_TYPE = re.compile(rb"\bt=[\"'](\w*)[\"']")

_RUNNING = re.compile(rb"<(?:\w+:)?(odd|even|first)(Header|Footer)\b[^<>]*>([^<]*)</(?:\w+:)?\1\2>")
_SHOWN_HEADS = re.compile(rb"<(?:\w+:)?headerFooter\b([^<>]*)>")
_HEAD_CODE = re.compile(
    r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|(&)|([PN])|([LCR])|.)'
)
"""In a header: fonts, colours, sizes and places, an "&" itself, and numbers of pages."""
_COLUMN = re.compile(rb"<(?:\w+:)?col\s[^<>]*>")
_ROW = re.compile(rb"<(?:\w+:)?row\s[^<>]*>")
_ATTRIBUTE = re.compile(rb"\b(hidden|min|max|r)=[\"'](\d+|true)[\"']")
_TRUE = (b"1", b"true")
_STRUCK_FONT = 1
_MAX_COLUMNS = 16_384
_MAX_FILLED = 256
"""Over so many columns at most a merged value is repeated."""


def parse_xlsx(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whose parts unpack to at most `max_bytes`; the rows are read lazily.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    package = office_package(path, ending, max_bytes, partial(_plain_part, path))
    with translate_library_errors(path):
        book: Any = load_workbook(  # type: ignore[no-untyped-call]
            package, read_only=True, data_only=True, keep_links=False
        )
        title, metadata = core_properties(path, package)
        names = book.sheetnames
    title = title or (path.stem if len(names) > 1 else "")
    return Parsed(
        title,
        _blocks(path, book, package, max_bytes),
        len(names),
        metadata,
        notes=find_embedded_files(path),
    )


def _blocks(path: Path, book: Any, package: BinaryIO, max_bytes: int) -> Iterator[Block]:
    with translate_library_errors(path):
        parts = _Parts(path, package)
        headers, footers = (
            parts.read_running_heads(book.sheetnames, kind) for kind in ("Header", "Footer")
        )
        yield from add_running_heads(_sheets(path, book, parts, max_bytes), headers, footers)


def _sheets(path: Path, book: Any, parts: "_Parts", max_bytes: int) -> Iterator[Block]:
    with translate_library_errors(path):
        numbered = [(page, book[name]) for page, name in enumerate(book.sheetnames, 1)]
        for page, sheet in sorted(numbered, key=lambda pair: _is_hidden(pair[1])):
            name = sheet.title
            found: Iterator[Block] = iter(())
            if hasattr(sheet, "iter_rows"):
                sheet.reset_dimensions()
                said = set[str]()
                rows = _limit_rows(path, _rows(sheet, parts.layout(name), said), max_bytes)
                found = sheet_blocks(rows, page, said)
            found = chain(found, parts.read_drawing(name, page), parts.read_comments(name, page))
            yield from add_sheet_heading(name, found, page, is_hidden=_is_hidden(sheet))


def _plain_part(path: Path, name: str, data: bytes) -> bytes:
    """Return a part without what is not read and openpyxl is strict about: all of the styles but
    number formats and struck out text, and how sheets are protected. Raised digits are written as
    such, and formulas without a saved value say so."""
    is_sheet = "/worksheets/" in name
    if is_sheet:
        data = _UNCALCULATED.sub(_say_uncalculated, _PROTECTION.sub(b"", data))
    if (is_sheet or name.endswith("sharedStrings.xml")) and _RICH.search(data):
        return _expand(path, data)
    is_styles = posixpath.basename(name) == "styles.xml" and data
    return _plain_styles(path, data) if is_styles else data


def _plain_styles(path: Path, data: bytes) -> bytes:
    """Return the number formats of a part with styles, and whether they strike text out:
    `_STRUCK_FONT` is the font that does."""
    root = safe_tree(path, data)
    made = etree.Element(f"{_S}styleSheet", nsmap={None: _S[1:-1]})
    formats = etree.SubElement(made, f"{_S}numFmts")
    struck = [
        str(number)
        for number, font in enumerate(root.iterfind("{*}fonts/{*}font"))
        if _is_struck(font)
    ]
    for item in root.iterfind("{*}numFmts/{*}numFmt"):
        number, code = item.get("numFmtId", ""), item.get("formatCode", "")
        if number.isdecimal() and code:
            etree.SubElement(formats, f"{_S}numFmt", numFmtId=number, formatCode=code)
    for place in ("fonts/font", "fills/fill/patternFill", "borders/border", "cellStyleXfs/xf"):
        parent = made
        for tag in place.split("/"):
            parent = etree.SubElement(parent, f"{_S}{tag}")
    font = etree.SubElement(made.find(f"{_S}fonts"), f"{_S}font")
    etree.SubElement(font, f"{_S}strike")
    cells = etree.SubElement(made, f"{_S}cellXfs")
    for item in root.iterfind("{*}cellXfs/*"):
        given = item if item.get("numFmtId") else next(item.iter("{*}xf"), item)
        number = given.get("numFmtId", "0")
        etree.SubElement(
            cells,
            f"{_S}xf",
            numFmtId=number if number.isdecimal() else "0",
            fontId=str(_STRUCK_FONT if item.get("fontId") in struck else 0),
        )
    if not len(cells):
        etree.SubElement(cells, f"{_S}xf", numFmtId="0")
    names = etree.SubElement(made, f"{_S}cellStyles")
    etree.SubElement(names, f"{_S}cellStyle", name="Normal", xfId="0", builtinId="0")
    return bytes(etree.tostring(made))


def _say_uncalculated(cell: re.Match[bytes]) -> bytes:
    """Return a cell whose text says that its formula was not calculated, and the formula."""
    prefix, attributes, formula = cell.groups()
    kind = _TYPE.search(attributes)
    if kind and kind[1] == b"str":
        return cell[0]
    text = b"not calculated" + (b" (=%b)" % formula if formula else b"")
    return b'<%bc%b t="inlineStr"><%bis><%bt>%b</%bt></%bis></%bc>' % (
        prefix, _TYPE.sub(b"", attributes), prefix, prefix, text, prefix, prefix, prefix,
    )  # fmt: skip


def _expand(path: Path, data: bytes) -> bytes:
    """Return a part with rich text as plain text that means the same: with marks for what is struck
    out, and with raised and lowered digits."""
    root = safe_tree(path, data)
    for run in root.iter("{*}r"):
        text, properties = run.find("{*}t"), run.find("{*}rPr")
        if text is None or properties is None or not text.text:
            continue
        raised = properties.find("{*}vertAlign")
        place = "" if raised is None else raised.get("val")
        if _is_struck(properties):
            text.text = strike_out(text.text)
        elif place == "superscript":
            text.text = raise_text(text.text)
        elif place == "subscript":
            text.text = lower_text(text.text)
    return bytes(etree.tostring(root))


def _is_struck(font: Any) -> bool:
    strike = font.find("{*}strike")
    return strike is not None and strike.get("val", "1") not in ("0", "false")


def _limit_rows(
    path: Path, rows: Iterator[Sequence[str]], max_bytes: int
) -> Iterator[Sequence[str]]:
    """Yield the rows, as long as their text is no more than a file may unpack to: cells may share a
    long text, and merged ones repeat theirs."""
    size = 0
    for row in rows:
        size += sum(map(len, row)) + len(row)
        if size > max_bytes:
            raise bomb_error(path, max_bytes)
        yield row


def _is_hidden(sheet: Any) -> bool:
    return getattr(sheet, "sheet_state", "visible") != "visible"


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a sheet says of its cells; rows and columns count from 1."""

    merged: Mapping[int, Sequence[tuple[int, int, int, int]]]
    """By their first row: the columns and rows of merged cells."""
    hidden_rows: Set[int]
    hidden_columns: Set[int]


def _rows(sheet: Any, layout: _Layout, said: set[str]) -> Iterator[Sequence[str]]:
    """Yield the rows as texts; merged cells repeat their value where the row holds anything. What
    is in cells that reach over columns is put into `said`. The first cells of hidden rows and
    columns are marked."""
    open_ones: list[tuple[int, int, int, str]] = []
    unmarked = set(layout.hidden_columns)
    for number, cells in enumerate(sheet.iter_rows(), 1):
        row = _row_texts(cells)
        open_ones = [item for item in open_ones if item[2] >= number]
        for left, _, right, bottom in layout.merged.get(number, ()):
            value = row[left - 1] if left <= len(row) else ""
            if value:
                open_ones.append((left, min(right, left + _MAX_FILLED), bottom, value))
                if right > left:
                    said.add(value)
        if row and open_ones:
            _fill(row, open_ones)
        if unmarked or number in layout.hidden_rows:
            mark_cells(row, unmarked, is_row_hidden=number in layout.hidden_rows)
        yield row


def _row_texts(cells: Sequence[Any]) -> list[str]:
    """Return the texts of the cells up to the last one that has any."""
    row = [format_cell(cell.value, cell.number_format) if cell.value is not None else ""
           for cell in cells]  # fmt: skip
    for place, cell in enumerate(cells):
        if row[place] and cell.style_array.fontId == _STRUCK_FONT:
            row[place] = strike_out(row[place])
    first = row[0] if row else ""
    row = [" ".join(cell.split()) for cell in row]
    if row and row[0] and (spaces := len(first) - len(first.lstrip(" \u00a0"))) > 1:
        row[0] = INDENT * spaces + row[0]
    while row and not row[-1]:
        row.pop()
    return row


def _fill(row: list[str], merged: list[tuple[int, int, int, str]]) -> None:
    for left, right, _, value in merged:
        row += [""] * (right - len(row))
        for column in range(left - 1, right):
            row[column] = row[column] or value


def _head_text(code: re.Match[str]) -> str:
    return "&" if code[1] else "#" if code[2] else "\n" if code[3] else ""


class _Parts:
    """What openpyxl leaves out where it streams: merged cells and the text of drawn shapes."""

    def __init__(self, path: Path, package: BinaryIO) -> None:
        self._path = path
        self._archive = zipfile.ZipFile(package)
        self._names = set(self._archive.namelist())
        self._sheets = self._sheet_parts()

    def layout(self, name: str) -> _Layout:
        """Found in the source of the part, so that its rows are not parsed twice."""
        merged: dict[int, list[tuple[int, int, int, int]]] = {}
        data = self._read(self._sheets.get(name, ""))
        rows = re.search(rb"<(?:\w+:)?sheetData\b", data)
        for match in _MERGED.finditer(data, max(data.rfind(b"sheetData"), 0)):
            edges = range_boundaries(match[1].decode())  # type: ignore[no-untyped-call]
            left, top, right, bottom = edges
            merged.setdefault(top or 1, []).append((left or 1, top or 1, right or 1, bottom or 1))
        columns: set[int] = set()
        for tag in _COLUMN.findall(data, 0, rows.start() if rows else len(data)):
            said = dict(_ATTRIBUTE.findall(tag))
            if said.get(b"hidden") in _TRUE:
                first, last = (int(said.get(edge, b"")[:9] or 1) for edge in (b"min", b"max"))
                columns.update(range(first, min(last, _MAX_COLUMNS) + 1))
        hidden_rows = {
            int(said[b"r"][:9])
            for tag in _ROW.finditer(data)
            if b"hidden" in tag[0]
            if (said := dict(_ATTRIBUTE.findall(tag[0]))).get(b"hidden") in _TRUE and b"r" in said
        }
        return _Layout(merged, hidden_rows, columns)

    def read_running_heads(self, names: Sequence[str], kind: str) -> Iterator[str]:
        """Yield the headers or footers that sheets print, each part of them as a text."""
        for name in names:
            data = self._read(self._sheets.get(name, ""))
            start = max(data.rfind(b"sheetData"), 0)
            if (shown := _SHOWN_HEADS.search(data, start)) is None:
                continue
            for match in _RUNNING.finditer(data, start):
                setting = {b"even": b"differentOddEven", b"first": b"differentFirst"}.get(match[1])
                if match[2].decode() != kind or not (
                    setting is None or re.search(setting + rb"=[\"'](?:1|true)", shown[1])
                ):
                    continue
                text = html.unescape(match[3].decode("utf-8", "replace"))
                for part in _HEAD_CODE.sub(_head_text, text).split("\n"):
                    yield " ".join(part.split())

    def read_drawing(self, name: str, page: int) -> Iterator[Block]:
        """Yield the text of boxes and shapes on a sheet."""
        for kind, part in self._read_relations(self._sheets.get(name, "")).values():
            if not kind.endswith("/drawing"):
                continue
            for paragraph in safe_tree(self._path, self._read(part)).iter(f"{_A}p"):
                text = " ".join(
                    "".join(item.text or "" for item in paragraph.iter(f"{_A}t")).split()
                )
                if text:
                    yield Block(text, page=page)

    def read_comments(self, name: str, page: int) -> Iterator[Block]:
        """Yield what readers noted at cells of a sheet, and what others answered."""
        relations = self._read_relations(self._sheets.get(name, "")).values()
        threads = [part for kind, part in relations if kind.endswith("/threadedComment")]
        # What is in threads stands in a part of old notes too, below a sentence on Excel's version.
        for part in threads or [part for kind, part in relations if kind.endswith("/comments")]:
            root = safe_tree(self._path, self._read(part) or b"<comments/>")
            authors = [author.text or "" for author in root.iterfind("{*}authors/{*}author")]
            for comment in root.iter("{*}comment", "{*}threadedComment"):
                text = "".join(item.text or "" for item in comment.iter("{*}t", "{*}text"))
                number = comment.get("authorId", "")
                said = authors[int(number)] if number in map(str, range(len(authors))) else ""
                author = self._persons.get(comment.get("personId", ""), said)
                if text.strip():
                    # Excel writes the author into the note too.
                    text = text.strip().removeprefix(f"{author}:")
                    yield comment_block(text, author, f"cell {comment.get('ref', '')}", page)

    @cached_property
    def _persons(self) -> dict[str, str]:
        """The names of those who write in threads, by their ids."""
        return {
            person.get("id", ""): person.get("displayName", "")
            for name in self._names
            if name.startswith("xl/persons/")
            for person in safe_tree(self._path, self._read(name)).iter("{*}person")
        }

    def _sheet_parts(self) -> dict[str, str]:
        book = next(
            (
                part
                for kind, part in self._read_relations("").values()
                if kind.endswith("/officeDocument")
            ),
            "xl/workbook.xml",
        )
        relations = self._read_relations(book)
        data = self._read(book)
        return {
            sheet.get("name", ""): relations.get(sheet.get(f"{_R}id", ""), ("", ""))[1]
            for sheet in (safe_tree(self._path, data).iter("{*}sheet") if data else ())
        }

    def _read_relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the kinds and names of the parts that a part is related to, by their ids."""
        folder, name = posixpath.split(part)
        data = self._read(posixpath.join(folder, "_rels", f"{name}.rels"))
        return {
            item.get("Id", ""): (item.get("Type", ""), item.get("Target", "").lstrip("/"))
            for item in (safe_tree(self._path, data).iter("{*}Relationship") if data else ())
        }

    def _read(self, name: str) -> bytes:
        return self._archive.read(name) if name in self._names else b""


XLSX = Format(
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    parse_xlsx,
    whole=True,
    magic=ZIP,
)
XLSM = replace(XLSX, media_type="application/vnd.ms-excel.sheet.macroEnabled.12")
