"""PDF through PDFium, page by page: text in reading order, with page numbers from 1."""

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw

from ragstone.core.errors import EncryptedDocument, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.pdf_blocks import Prose, across_pages, page_blocks
from ragstone.ingest.formats.pdf_lines import (
    PageLine,
    clean,
    top_first,
    without_edges,
)
from ragstone.ingest.formats.pdf_text import frame_of, page_lines
from ragstone.ingest.formats.types import Format

_C: Any = pypdfium2.raw
_Document: Any = pypdfium2.PdfDocument
_PDFIUM = threading.Lock()
"""PDFium is not thread-safe, so one call at a time: a page, never a whole document."""

_WINDOW = 16
_TAIL_BYTES = 1 << 16
_METADATA = {"Author": "author", "Subject": "subject"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)(\d\d)")
_LANGUAGE_BYTES = 64


def parse_pdf(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Open a PDF; pages are read 16 at a time while the blocks are iterated.

    Raises UnreadableDocument or EncryptedDocument.
    """
    _check_end(path)
    with _PDFIUM:
        document = _open(path)
        pages = len(document)
        facts = document.get_metadata_dict(skip_empty=True)
        metadata = _metadata(facts, _language(document))
        if not pages:
            document.close()
    if not pages:
        raise UnreadableDocument(f"{path.name} is damaged: it has no pages.")
    if without := _pages_without_text(document, pages):
        metadata["pages_without_text"] = without
    blocks = across_pages(_blocks(path, document, pages))
    return Parsed(clean(facts.get("Title", "")), blocks, pages, metadata)


def _open(path: Path) -> Any:
    try:
        return _Document(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (
            _C.FPDF_ERR_PASSWORD,
            _C.FPDF_ERR_SECURITY,
        ):
            raise EncryptedDocument(
                f"{path.name} is protected by a password. Save a copy without one and ingest that."
            ) from error
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete and cannot be read as PDF."
        ) from error


def _metadata(facts: dict[str, str], language: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        new: clean(facts[old]) for old, new in _METADATA.items() if old in facts
    }
    for old, new in _DATES.items():
        if match := _DATE.match(facts.get(old, "")):
            with suppress(ValueError):
                found[new] = date(*map(int, match.groups())).isoformat()
    keywords = [clean(word) for word in re.split("[,;]", facts.get("Keywords", ""))]
    if any(keywords):
        found["keywords"] = [word for word in keywords if word]
    if language:
        found["language"] = language
    return found


def _language(document: Any) -> str:
    """The language that the file names, as its two or three letters ("en"), else nothing."""
    buffer = (_C.FPDF_WCHAR * _LANGUAGE_BYTES)()
    size = _C.FPDFCatalog_GetLanguage(document, buffer, _LANGUAGE_BYTES)
    name = bytes(buffer)[: max(0, min(size, 2 * _LANGUAGE_BYTES) - 2)].decode("utf-16-le", "ignore")
    match = re.match("[A-Za-z]{2,3}(?![A-Za-z])", name)
    return match[0].lower() if match else ""


def _pages_without_text(document: Any, pages: int) -> int:
    """How many pages hold none: scans, pictures, empty pages. Those that cannot be opened are
    left to the reading."""
    count = 0
    for index in range(pages):
        with _PDFIUM, suppress(pypdfium2.PdfiumError):
            page = document[index]
            text_page = page.get_textpage()
            count += text_page.count_chars() == 0
            text_page.close()
            page.close()
    return count


def _check_end(path: Path) -> None:
    """Refuse a truncated file: PDFium repairs it by silently leaving pages out."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        if b"%%EOF" not in file.read():
            raise UnreadableDocument(
                f"{path.name} is incomplete: the end of the PDF is missing. Copy it again."
            )


def _blocks(path: Path, document: Any, pages: int) -> Iterator[Block]:
    """Windows of pages are read ahead to see what repeats on every page."""
    prose = Prose()
    running: set[str] = set()
    numbers = iter(range(pages))
    try:
        while window := list(islice(numbers, _WINDOW)):
            read = [_lines(path, document, index) for index in window]
            for lines in read:
                prose.learn(lines)
            kept = without_edges(read, running, window[0] + 1)
            for index, lines in zip(window, kept, strict=True):
                yield from page_blocks(lines, index + 1, prose)
    finally:
        with _PDFIUM:
            document.close()


def _lines(path: Path, document: Any, index: int) -> list[PageLine]:
    with _PDFIUM:
        try:
            page = document[index]
            text_page = page.get_textpage()
            lines = top_first(page_lines(text_page, frame_of(page)))
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadableDocument(
                f"{path.name} is damaged: page {index + 1} cannot be read."
            ) from error
    return lines


PDF = Format("application/pdf", parse_pdf, magic=b"%PDF-")
