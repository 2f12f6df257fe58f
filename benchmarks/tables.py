"""How tables of real PDFs are read, cell by cell, against what people have written down of them.

`RAGSTONE_TABLE_FILES` is a folder below which PDFs (`NAME.pdf`) and their tables (`NAME-str.xml`)
stand, as in the data of the ICDAR 2013 table competition, which tabula-java and camelot carry among
their tests. With pdfplumber installed, its tables are measured in the same way.
"""

import importlib
import importlib.util
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from benchmarks.row import Row
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

_SPACE = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LIGATURE = re.compile(r"f+(?=[fil])|t(?=h)")
"""What the known cells lack where a PDF calls ligatures their last letter: they were copied."""


class _Cell(NamedTuple):
    """A cell that a table has: the label of its row, the name of its column, its own text."""

    page: int
    label: str
    name: str
    text: str


class _Read(NamedTuple):
    """What is read of a file: for each page the rows of its tables, each as its parts."""

    rows: dict[int, list[list[str]]]


def run() -> Iterator[Row]:
    folder = Path(os.environ["RAGSTONE_TABLE_FILES"])
    truths = sorted(folder.rglob("*-str.xml"))
    files = [(path.with_name(f"{path.name.removesuffix('-str.xml')}.pdf"), path) for path in truths]
    known = [(pdf, *_truth(path)) for pdf, path in files if pdf.exists()]
    yield Row("PDFs with known tables", len(known), "files", detail=True)
    yield from _measure("", [(_blocks(pdf), cells, words) for pdf, cells, words in known])
    if importlib.util.find_spec("pdfplumber"):
        other = [(_read_with_pdfplumber(pdf), cells, words) for pdf, cells, words in known]
        yield from _measure(", pdfplumber", other)


def _measure(
    who: str, read: Sequence[tuple[_Read, list[_Cell], dict[int, set[str]]]]
) -> Iterator[Row]:
    total = in_row = in_both = alien = words = 0
    for item, cells, true_words in read:
        for cell in cells:
            rows = [row for row in item.rows[cell.page] if _has_label(row, cell)]
            total += 1
            in_row += any(_ends(part, cell.text) for row in rows for part in row)
            in_both += any(_has_name(part, cell) for row in rows for part in row)
        for page, lines in item.rows.items():
            here = {word for row in lines for part in row for word in _words(part)}
            words += len(here)
            alien += len(here - true_words[page])
    share = 1 / max(total, 1)
    yield Row(f"Cells read with the label of their row{who}", in_row * share, detail=True)
    yield Row(f"Cells read with row and column{who}", in_both * share, f"of {total}", detail=True)
    outside = alien / max(words, 1)
    yield Row(f"Words taken for a table's that are none of one{who}", outside, detail=True)


def _has_label(row: Sequence[str], cell: _Cell) -> bool:
    return _plain(cell.label) in _plain(row[0])


def _ends(part: str, text: str) -> bool:
    return _plain(part).endswith(_plain(text))


def _has_name(part: str, cell: _Cell) -> bool:
    before = _plain(part).removesuffix(_plain(cell.text))
    return _ends(part, cell.text) and _plain(cell.name) in before


def _plain(text: str) -> str:
    return _LIGATURE.sub("", _SPACE.sub("", text).lower())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _truth(path: Path) -> tuple[list[_Cell], dict[int, set[str]]]:
    """The cells of a file's tables that stand beside a label and below a name, and all words."""
    cells: list[_Cell] = []
    words: dict[int, set[str]] = defaultdict(set)
    for region in etree.parse(path).iter("region"):
        page = int(region.get("page"))
        grid: dict[tuple[int, int], str] = {}
        own: list[tuple[int, int, str]] = []
        for cell in region.iter("cell"):
            row, column = int(cell.get("start-row")), int(cell.get("start-col"))
            last_row = int(cell.get("end-row") or row)
            last_column = int(cell.get("end-col") or column)
            text = cell.findtext("content") or ""
            words[page].update(_words(text))
            if not _plain(text):
                continue
            own.append((row, column, text))
            grid |= {
                (i, j): text
                for i in range(row, last_row + 1)
                for j in range(column, last_column + 1)
            }
        first_row = min((row for row, *_ in own), default=0)
        first_column = min((column for _, column, _ in own), default=0)
        for row, column, text in own:
            label, name = grid.get((row, first_column)), grid.get((first_row, column))
            name = name or grid.get((first_row + 1, column))
            if column > first_column and row > first_row and label and name and name != text:
                cells.append(_Cell(page, label, name, text))
    return cells, words


def _blocks(pdf: Path) -> _Read:
    rows: dict[int, list[list[str]]] = defaultdict(list)
    for block in parse(pdf, IngestSettings()).blocks:
        if block.kind == "table" and block.page:
            rows[block.page] += [re.split(r"; | \| ", line) for line in block.text.splitlines()]
    return _Read(rows)


def _read_with_pdfplumber(pdf: Path) -> _Read:
    """Return the tables of pdfplumber; an empty cell of the head has the name left of it."""
    library: Any = importlib.import_module("pdfplumber")
    rows: dict[int, list[list[str]]] = defaultdict(list)
    with library.open(pdf) as document:
        for page in document.pages:
            for table in page.extract_tables():
                rows[page.page_number] += _name(table)
    return _Read(rows)


def _name(table: Sequence[Sequence[str | None]]) -> Iterable[list[str]]:
    names: list[str] = []
    for cell in table[0]:
        names.append(cell if cell is not None else names[-1] if names else "")
    for row in table[1:]:
        yield [row[0] or "", *(f"{n}: {c or ''}" for n, c in zip(names[1:], row[1:], strict=False))]
