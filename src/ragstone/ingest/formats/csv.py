"""CSV and TSV, streamed row by row, each line carrying the names of its columns."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import Format

_SAMPLE_CHARS = 1 << 16
_ROW_CHARS = 1 << 20
_DELIMITERS = ",;\t|"
_QUOTES = ('"', "'")
_DECLARED = "sep="
"""Excel's first line that names the delimiter."""


def parse_csv(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the rows of a CSV or TSV file. Raises UnreadableDocument, and so may the blocks."""
    return Parsed("", _blocks(path, ending))


def _blocks(path: Path, ending: str) -> Iterator[Block]:
    with open_text(path, newline="") as file:
        sample = file.read(_SAMPLE_CHARS)
        file.seek(0)
        declared = sample[: len(_DECLARED)].lower() == _DECLARED
        if declared:
            delimiter = file.readline()[len(_DECLARED) :].strip("\r\n")[:1] or ","
        else:
            delimiter = "\t" if ending == ".tsv" else _delimiter(sample)
        mark = _quote(sample, delimiter)
        rows = csv.reader(
            _lines(path, file),
            delimiter=delimiter,
            quotechar=mark,
            skipinitialspace=_is_padded(sample, delimiter, mark),
        )
        try:
            yield from table_blocks(_pad_rows(rows), merged=())
        except csv.Error as error:
            raise UnreadableDocument(
                f"{path.name} is not valid CSV near line {rows.line_num:,}: {error}."
            ) from error


def _pad_rows(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """A line without delimiters is one cell of several, such as the title above a table."""
    for row in rows:
        yield [*row, ""] if len(row) == 1 else row


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(_ROW_CHARS):
        # A quote that is never closed would read the whole file as one cell.
        if len(line) == _ROW_CHARS:
            raise UnreadableDocument(f"{path.name} has a line of more than a million characters.")
        yield line.replace("\x00", "")


def _delimiter(sample: str) -> str:
    """The delimiter that cuts the first lines into the same number of columns, most of them."""
    lines = [line for line in sample.splitlines()[:40] if line.strip()][:20]

    def columns(delimiter: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        most = max(set(counts), key=counts.count) if counts else 0
        return counts.count(most) * 2 > len(counts) and most > 1, most

    try:
        # The first of equals counts, so a file of one column has commas.
        return max(_DELIMITERS, key=columns)
    except csv.Error:
        return ","


def _quote(sample: str, delimiter: str) -> str:
    """Return the mark round cells, by what stands beside the delimiters."""
    double, single = (
        sample.count(f"{delimiter}{mark}") + sample.count(f"{mark}{delimiter}") for mark in _QUOTES
    )
    return "'" if single > 2 and not double and '"' not in sample else '"'


def _is_padded(sample: str, delimiter: str, mark: str) -> bool:
    """Tell whether spaces stand before the marks round cells."""
    if delimiter == "\t":
        return False
    between = re.escape(delimiter)
    cell = rf"{between} +{mark}[^{mark}\r\n]*{mark} *(?:{between}|\r?$)"
    return re.search(cell, sample, re.MULTILINE) is not None


CSV = Format("text/csv", parse_csv)
TSV = Format("text/tab-separated-values", parse_csv)
