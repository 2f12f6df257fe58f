"""XLSX through openpyxl: a page per sheet, its name as heading, its tables row by row.

Cells are shown as their number format shows them, formulas as the value that was saved with them.
Hidden sheets, rows and columns are read like others: what is looked up often stands there.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree  # type: ignore[import-untyped]
from openpyxl.reader.excel import load_workbook
from openpyxl.utils.cell import range_boundaries

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.number_format import shown
from ragstone.ingest.formats.package import bomb_error, office_package, safe_tree
from ragstone.ingest.formats.properties import core_properties, opened
from ragstone.ingest.formats.sheets import sheet_blocks
from ragstone.ingest.formats.tables import INDENT
from ragstone.ingest.formats.types import ZIP, Format

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?\bref=[\"']([A-Z]+\d+:[A-Z]+\d+)[\"']")
_PROTECTION = re.compile(rb"<(?:\w+:)?sheetProtection\b[^<>]*/>")
_MAX_FILLED = 256
"""Over so many columns at most a merged value is repeated."""


def parse_xlsx(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whose parts unpack to at most `max_bytes`; the rows are read lazily.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    package = office_package(path, ending, max_bytes, partial(_plain_part, path))
    with opened(path):
        book: Any = load_workbook(  # type: ignore[no-untyped-call]
            package, read_only=True, data_only=True, keep_links=False
        )
        title, metadata = core_properties(path, package)
        names = book.sheetnames
    title = title or (path.stem if len(names) > 1 else "")
    return Parsed(title, _blocks(path, book, package, max_bytes), len(names), metadata)


def _blocks(path: Path, book: Any, package: BinaryIO, max_bytes: int) -> Iterator[Block]:
    with opened(path):
        parts = _Parts(path, package)
        for page, name in enumerate(book.sheetnames, 1):
            sheet = book[name]
            found: Iterator[Block] = iter(())
            if hasattr(sheet, "iter_rows"):
                sheet.reset_dimensions()
                said = set[str]()
                rows = _limited(path, _rows(sheet, parts.merged(name), said), max_bytes)
                found = sheet_blocks(rows, page, said)
            found = chain(found, parts.drawn(name, page))
            if first := next(found, None):
                yield Block(name, "heading", 1, page)
                yield first
                yield from found


def _plain_part(path: Path, name: str, data: bytes) -> bytes:
    """A part without what is not read and openpyxl is strict about: all of the styles but number
    formats, and how sheets are protected."""
    if "/worksheets/" in name and b"sheetProtection" in data:
        return _PROTECTION.sub(b"", data)
    if posixpath.basename(name) != "styles.xml" or not data:
        return data
    root = safe_tree(path, data)
    made = etree.Element(f"{_S}styleSheet", nsmap={None: _S[1:-1]})
    formats = etree.SubElement(made, f"{_S}numFmts")
    for one in root.iterfind("{*}numFmts/{*}numFmt"):
        number, code = one.get("numFmtId", ""), one.get("formatCode", "")
        if number.isdecimal() and code:
            etree.SubElement(formats, f"{_S}numFmt", numFmtId=number, formatCode=code)
    for place in ("fonts/font", "fills/fill/patternFill", "borders/border", "cellStyleXfs/xf"):
        parent = made
        for tag in place.split("/"):
            parent = etree.SubElement(parent, f"{_S}{tag}")
    cells = etree.SubElement(made, f"{_S}cellXfs")
    for one in root.iterfind("{*}cellXfs/*"):
        given = one if one.get("numFmtId") else next(one.iter("{*}xf"), one)
        number = given.get("numFmtId", "0")
        etree.SubElement(cells, f"{_S}xf", numFmtId=number if number.isdecimal() else "0")
    if not len(cells):
        etree.SubElement(cells, f"{_S}xf", numFmtId="0")
    names = etree.SubElement(made, f"{_S}cellStyles")
    etree.SubElement(names, f"{_S}cellStyle", name="Normal", xfId="0", builtinId="0")
    return bytes(etree.tostring(made))


def _limited(path: Path, rows: Iterator[Sequence[str]], max_bytes: int) -> Iterator[Sequence[str]]:
    """The rows, as long as their text is no more than a file may unpack to: cells may share a long
    text, and merged ones repeat theirs."""
    size = 0
    for row in rows:
        size += sum(map(len, row)) + len(row)
        if size > max_bytes:
            raise bomb_error(path, max_bytes)
        yield row


Merged = dict[int, list[tuple[int, int, int, int]]]
"""By their first row: the columns and rows of merged cells, from 1."""


def _rows(sheet: Any, merged: Merged, said: set[str]) -> Iterator[Sequence[str]]:
    """The rows as texts; merged cells repeat their value where the row holds anything. What is in
    cells that reach over columns is put into `said`."""
    open_ones: list[tuple[int, int, int, str]] = []
    for number, cells in enumerate(sheet.iter_rows(), 1):
        row = [shown(cell.value, cell.number_format) if cell.value is not None else ""
               for cell in cells]  # fmt: skip
        first = row[0] if row else ""
        row = [" ".join(cell.split()) for cell in row]
        if row and row[0] and (spaces := len(first) - len(first.lstrip(" \u00a0"))) > 1:
            row[0] = INDENT * spaces + row[0]
        while row and not row[-1]:
            row.pop()
        open_ones = [one for one in open_ones if one[2] >= number]
        for left, _, right, bottom in merged.get(number, ()):
            value = row[left - 1] if left <= len(row) else ""
            if value:
                open_ones.append((left, min(right, left + _MAX_FILLED), bottom, value))
                if right > left:
                    said.add(value)
        if row and open_ones:
            _fill(row, open_ones)
        yield row


def _fill(row: list[str], merged: list[tuple[int, int, int, str]]) -> None:
    for left, right, _, value in merged:
        row += [""] * (right - len(row))
        for column in range(left - 1, right):
            row[column] = row[column] or value


class _Parts:
    """What openpyxl leaves out where it streams: merged cells and the text of drawn shapes."""

    def __init__(self, path: Path, package: BinaryIO) -> None:
        self._path = path
        self._archive = zipfile.ZipFile(package)
        self._names = set(self._archive.namelist())
        self._sheets = self._sheet_parts()

    def merged(self, name: str) -> Merged:
        """Found in the end of the part, behind its rows, so that those are not parsed twice."""
        found: Merged = {}
        data = self._read(self._sheets.get(name, ""))
        for match in _MERGED.finditer(data, max(data.rfind(b"sheetData"), 0)):
            edges = range_boundaries(match[1].decode())  # type: ignore[no-untyped-call]
            left, top, right, bottom = edges
            found.setdefault(top or 1, []).append((left or 1, top or 1, right or 1, bottom or 1))
        return found

    def drawn(self, name: str, page: int) -> Iterator[Block]:
        """The text of boxes and shapes on a sheet."""
        for kind, part in self._related(self._sheets.get(name, "")).values():
            if not kind.endswith("/drawing"):
                continue
            for paragraph in safe_tree(self._path, self._read(part)).iter(f"{_A}p"):
                text = " ".join("".join(one.text or "" for one in paragraph.iter(f"{_A}t")).split())
                if text:
                    yield Block(text, page=page)

    def _sheet_parts(self) -> dict[str, str]:
        book = next(
            (part for kind, part in self._related("").values() if kind.endswith("/officeDocument")),
            "xl/workbook.xml",
        )
        relations = self._related(book)
        data = self._read(book)
        return {
            sheet.get("name", ""): relations.get(sheet.get(f"{_R}id", ""), ("", ""))[1]
            for sheet in (safe_tree(self._path, data).iter("{*}sheet") if data else ())
        }

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """The kinds and names of the parts that a part is related to, by their ids."""
        folder, name = posixpath.split(part)
        data = self._read(posixpath.join(folder, "_rels", f"{name}.rels"))
        return {
            one.get("Id", ""): (one.get("Type", ""), one.get("Target", "").lstrip("/"))
            for one in (safe_tree(self._path, data).iter("{*}Relationship") if data else ())
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
