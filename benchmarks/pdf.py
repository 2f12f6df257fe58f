"""How real PDFs are read: how fast, in how much memory, with which words and cells, and how soon
they are searchable by keyword while embeddings follow behind."""

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdfium2

from benchmarks.common import eval_data, resident_mb
from benchmarks.row import Row
from ragstone.build import open as open_ragstone
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_codes import is_unreadable
from ragstone.ingest.parse import parse
from ragstone.service import IngestRequest
from ragstone.settings import IngestSettings, Settings

_Document: Any = pypdfium2.PdfDocument
_WORD = re.compile(r"\w+")
_JOINED = re.compile(r"[-\xad\ufffe\x02]")
_LONG = 1_000

CELLS = (
    # File, page, label of the row, words of the column's name, value: read from the pages.
    ("AMAZON_2019_10K", 38, "Net product sales", "December 31, 2017", "118,573"),
    ("AMAZON_2019_10K", 38, "Marketing", "2018", "13,814"),
    ("AMAZON_2019_10K", 38, "Interest expense", "2019", "(1,600)"),
    ("AMAZON_2019_10K", 38, "Diluted earnings per share", "2018", "20.14"),
    ("AMAZON_2019_10K", 38, "Weighted-average shares > Basic", "2019", "494"),
    ("AMAZON_2017_10K", 69, "North America > Net sales", "2017", "106,110"),
    ("AMAZON_2017_10K", 69, "AWS > Operating income", "2016", "3,108"),
    ("AMAZON_2017_10K", 69, "Physical stores", "2017", "5,798"),
    ("AMAZON_2017_10K", 54, "Goodwill - December 31, 2017", "AWS", "1,077"),
    ("MICROSOFT_2023_10K", 60, "Inventories", "June 30, 2023", "2,500"),
    ("MICROSOFT_2023_10K", 60, "Long-term debt", "June 30, 2022", "47,032"),
    ("MICROSOFT_2023_10K", 60, "Total assets", "2023", "411,976"),
    ("MICROSOFT_2023_10K", 60, "Accumulated other comprehensive loss", "2022", "(4,678)"),
    ("MGMRESORTS_2023Q2_10Q", 30, "Occupancy", "Three Months Ended June 30, 2023", "96%"),
    ("MGMRESORTS_2023Q2_10Q", 30, "Occupancy", "Six Months Ended June 30, 2022", "85%"),
    ("MGMRESORTS_2023Q2_10Q", 30, "Slot handle", "Six Months 2023", "13,770"),
    ("MGMRESORTS_2023Q2_10Q", 30, "Table games win %", "Three Months 2022", "20.9%"),
    ("MGMRESORTS_2023Q2_10Q", 11, "Corporate bonds", "June 30, 2023", "416,420"),
    ("NETFLIX_2015_10K", 17, "Revenues", "Year ended December 31, 2014", "5,504,656"),
    ("NETFLIX_2015_10K", 17, "Free cash flow", "2015", "(920,557)"),
    ("NETFLIX_2015_10K", 17, "Total content assets, net", "2013", "3,838,364"),
    ("NETFLIX_2015_10K", 17, "Earnings per share > Diluted", "2011", "0.59"),
    ("NETFLIX_2015_10K", 18, "Global streaming memberships", "2014", "57,391"),
    ("NETFLIX_2017_10K", 45, "Total current liabilities", "December 31, 2017", "5,466,312"),
    ("NETFLIX_2017_10K", 45, "Common stock", "2016", "1,599,762"),
    ("BESTBUY_2023_10K", 26, "Appliances", "Revenue Mix Summary 2023", "15%"),
    ("BESTBUY_2023_10K", 26, "Services", "Comparable Sales Summary 2022", "5.9%"),
    ("BESTBUY_2023_10K", 26, "Best Buy", "2022 Stores Closed", "(20)"),
    ("BESTBUY_2023_10K", 26, "Yardbird", "2023 Stores Opened", "5"),
    ("BESTBUY_2023_10K", 28, "Non-GAAP effective tax rate", "2023", "21.0%"),
    ("BESTBUY_2024Q2_10Q", 4, "Revenue", "Three Months July 29, 2023", "9,583"),
    ("BESTBUY_2024Q2_10Q", 4, "Net earnings", "Six Months July 30, 2022", "647"),
    ("ADOBE_2022_10K", 54, "Research and development", "December 3, 2021", "2,540"),
    ("ADOBE_2022_10K", 54, "Revenue > Subscription", "2022", "16,388"),
    ("ADOBE_2022_10K", 54, "Total revenue", "November 27, 2020", "12,868"),
    ("ADOBE_2022_10K", 41, "Digital Experience", "% Change", "15%"),
    ("AMCOR_2023Q4_EARNINGS", 9, "Depreciation, amortization, and impairment", "2023", "586"),
    ("AMCOR_2023Q4_EARNINGS", 9, "Changes in operating assets", "Twelve Months 2022", "(207)"),
    ("AMCOR_2023Q4_EARNINGS", 9, "Trade receivables, net", "June 30, 2022", "1,935"),
    ("AMCOR_2023Q4_EARNINGS", 13, "EBIT", "2022 Rigid Packaging", "87"),
    ("AMCOR_2023Q4_EARNINGS", 13, "Property and other (gains)/losses", "2023 Total", "2"),
    ("AMCOR_2023Q2_10Q", 9, "Dividends declared ($0.12", "Retained Earnings", "(183)"),
    ("ULTABEAUTY_2023Q4_EARNINGS", 6, "Cost of sales", "13 Weeks January 29, 2022", "1,702,059"),
    ("ULTABEAUTY_2023Q4_EARNINGS", 6, "Net income", "52 Weeks January 28, 2023", "1,242,408"),
    ("JOHNSON_JOHNSON_2023_8K_dated-2023-08-30", 12, "Gross Profit", "Q2 Amount", "15,057"),
    ("JOHNSON_JOHNSON_2023_8K_dated-2023-08-30", 12, "Interest income", "Q1 Percent", "(0.9)"),
    ("JOHNSON_JOHNSON_2023_8K_dated-2023-08-30", 12, "Restructuring", "SIX MONTHS", "275"),
)


def run() -> list[Row]:
    rows = reading()
    with tempfile.TemporaryDirectory() as directory:
        return rows + asyncio.run(measure(Path(directory)))


def reading() -> list[Row]:
    """Return what is read of the filings, and of a thousand of their pages in one file."""
    files = sorted((eval_data() / "financebench" / "pdfs").glob("*.pdf"))
    blocks: dict[str, list[Block]] = {}
    pages, kept, words = 0, 0, 0
    started = time.process_time()
    for file in files:
        parsed = parse(file, IngestSettings())
        blocks[file.stem] = list(parsed.blocks)
        pages += parsed.pages or 0
    seconds = time.process_time() - started
    for file in files:
        shown = _words(_plain_text(file))
        lost = shown - _words(block.text for block in blocks[file.stem])
        words += shown.total()
        kept += shown.total() - lost.total()
    found = sum(_is_found(cell, blocks[cell[0]]) for cell in CELLS)
    return [
        Row(
            "Pages parsed, FinanceBench PDFs",
            pages / seconds,
            "pages per processor second",
            least=20,
        ),
        Row("Words kept", 100 * kept / words, "%", least=99),
        Row(f"Cells found with row and column, of {len(CELLS)}", found, "cells"),
        rejections(),
        Row(f"Memory for a PDF of {_LONG:,} pages", _memory(files), "MB", most=400),
    ]


def rejections() -> Row:
    """Tell how many pages of real PDFs are taken for unreadable; none of them is."""
    pages = rejected = 0
    for file in eval_data().rglob("*.pdf"):
        document = _Document(file)
        for page in document:
            text_page = page.get_textpage()
            pages += 1
            rejected += is_unreadable(text_page.raw)
        document.close()
    return Row(f"Real pages called unreadable, of {pages:,}", rejected, "pages", most=0)


def _plain_text(file: Path) -> Iterator[str]:
    document = _Document(file)
    for page in document:
        yield page.get_textpage().get_text_range()
    document.close()


def _words(texts: Iterator[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(_JOINED.sub("", text)))
    return counts


def _is_found(cell: tuple[str, int, str, str, str], blocks: Sequence[Block]) -> bool:
    """Tell whether a row of a table on that page begins with the label and has the value below a
    column with these words."""
    _, page, label, column, value = cell
    rows = (
        line
        for block in blocks
        if block.kind == "table" and block.page == page
        for line in block.text.splitlines()
    )
    return any(_has_cell(row, label, column, value) for row in rows)


def _has_cell(row: str, label: str, column: str, value: str) -> bool:
    first, *parts = row.split("; ")
    group, _, own = label.rpartition(" > ")
    if not (first.startswith(group) and first.rpartition(" > ")[2].startswith(own)):
        return False
    for part in parts:
        name, _, text = part.rpartition(": ")
        if text.replace("$", "") == value and all(word in name for word in column.split()):
            return True
    return False


def _memory(files: Sequence[Path]) -> float:
    """Return what all takes at most while a long PDF of real pages is read."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "long.pdf"
        _concatenate(files, path)
        highest = resident_mb()
        for number, _ in enumerate(parse(path, IngestSettings()).blocks):
            if number % 100 == 0:
                highest = max(highest, resident_mb())
    return highest


def _concatenate(files: Sequence[Path], path: Path) -> None:
    long = _Document.new()
    while len(long) < _LONG:
        for file in files:
            one = _Document(file)
            long.import_pages(one, list(range(min(len(one), _LONG - len(long)))))
            one.close()
            if len(long) >= _LONG:
                break
    long.save(path)
    long.close()


async def measure(directory: Path) -> list[Row]:
    pdfs = eval_data() / "financebench" / "pdfs"
    async with open_ragstone(Settings(ragstone_data=directory)) as ragstone:
        started = time.perf_counter()
        async for progress in ragstone.ingest(IngestRequest((str(pdfs),))):
            if progress.phase != "reading":
                break
        seconds = time.perf_counter() - started
    if progress.failed:
        raise AssertionError(f"failed: {progress.failed}")
    pages = progress.pages
    return [
        Row("FinanceBench PDFs", pages, "pages"),
        Row("Parsed and keyword-searchable", pages / seconds, "pages/s", least=20),
    ]
