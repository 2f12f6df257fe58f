"""PDF through PDFium, page by page: text in reading order, with page numbers from 1. The text of
scanned pages is recognised."""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pypdfium2
import pypdfium2.raw

from ragstone.core.errors import EncryptedDocument, TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.image_file import encode_picture
from ragstone.ingest.formats.members import LeftOut, member_blocks
from ragstone.ingest.formats.pdf_blocks import Prose, join_pages, page_blocks
from ragstone.ingest.formats.pdf_codes import is_unreadable
from ragstone.ingest.formats.pdf_figures import (
    PdfPicture,
    PdfPictures,
    attach_pictures,
    draw_picture,
    picture_data,
)
from ragstone.ingest.formats.pdf_lines import (
    Frame,
    PageLine,
    clean,
    drop_page_edges,
    move_header_first,
    page_frame,
)
from ragstone.ingest.formats.pdf_rules import Rules, page_rules
from ragstone.ingest.formats.pdf_text import insert_fields, page_lines
from ragstone.ingest.formats.recognition import (
    CHOSEN,
    DPI,
    MAX_SIDE,
    UNREAD,
    Outlook,
    Recognition,
    build_lines,
    page_block,
    recognise_text,
)
from ragstone.ingest.formats.types import Format, Surroundings

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

_STAMP_CHARS = 150
"""A picture over most of a page with no more text than this beside it is a scan with a stamp."""

_COVERED = 0.6
_MAX_OBJECTS = 200
"""So many objects of a page are looked at in search of a picture."""

_MAX_SPANS = 20
"""Pages, or neighbouring ones together, that a sentence names."""

_MAX_ATTACHMENTS = 100

_POINTS = 72

_PICTURE_NAME = re.compile(r"(\d{1,6})\.(\d{1,6})")
"""A page and the number of an object on it."""


def parse_pdf(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Open a PDF; pages are read 16 at a time while the blocks are iterated.

    Raises UnreadableDocument or EncryptedDocument.
    """
    return parse_nested_pdf(path, ending, max_bytes, 0)


def parse_nested_pdf(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """Return the PDF of a file that stands in `depth` others."""
    _check_end(path)
    with _PDFIUM:
        document = _open(path)
        pages = len(document)
        attached = document.count_attachments() if pages else 0
        facts = document.get_metadata_dict(skip_empty=True)
        metadata = _metadata(facts, _language(document))
        if not pages:
            document.close()
    if not pages:
        raise UnreadableDocument(f"{path.name} is damaged: it has no pages.")
    without, scans, unreadable = _scans(document, pages)
    if without:
        metadata["pages_without_text"] = without
    recognition = CHOSEN.get()
    left_out: frozenset[int] = frozenset()
    if recognition.possible:
        scans |= unreadable
    else:
        if recognition.wanted and (waiting := len(scans | unreadable)):
            metadata[UNREAD] = waiting
        scans, left_out = frozenset(), unreadable
    if scans:
        _check_number(path, document, len(scans), recognition)
        metadata["pages_recognised"] = len(scans)
    notes: tuple[str, ...] = ()
    if left_out:
        on_pages = "" if len(left_out) + without == pages else f" on {_page_list(left_out)}"
        reason = (
            f"Not readable text{on_pages}: the fonts of {path.name} do not say which letters they "
            f"show. {recognition.why_not}"
        )
        if not on_pages:
            with _PDFIUM:
                document.close()
            raise UnreadableDocument(reason)
        notes = (reason,)
    pictures = PdfPictures(path.name)
    prose = Prose()
    read = _blocks(path, document, pages, _Scans(scans, recognition, left_out), pictures, prose)
    not_read = LeftOut()
    attachments = _attachments(path, attached, max_bytes, not_read, depth)
    return Parsed(
        clean(facts.get("Title", "")),
        chain(join_pages(read, prose.words), attachments),
        pages,
        metadata,
        recognised=len(scans),
        notes=notes,
        last_notes=lambda: (*pictures.last_notes(), *not_read.notes()),
    )


def _attachments(
    path: Path, count: int, max_bytes: int, left_out: LeftOut, depth: int
) -> Iterator[Block]:
    """Yield the files that are attached to a PDF, behind its pages."""
    if not count:
        return
    with _PDFIUM:
        document = _open(path)
    try:
        for index in range(min(count, _MAX_ATTACHMENTS)):
            try:
                with _PDFIUM:
                    attachment = document.get_attachment(index)
                    name, data = clean(attachment.get_name()), bytes(attachment.get_data())
            except pypdfium2.PdfiumError:
                left_out.add(f"Attachment {index + 1} is left out: it is damaged or empty.")
                continue
            yield from member_blocks(
                name or f"Attachment {index + 1}",
                lambda file, data=data: _write(data, file),  # type: ignore[misc]
                max_bytes,
                left_out,
                level=1,
                depth=depth + 1,
            )
        if count > _MAX_ATTACHMENTS:
            left_out.add(f"{count - _MAX_ATTACHMENTS:,} attachments are left out.")
    finally:
        with _PDFIUM:
            document.close()


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def picture_in_pdf(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
) -> bytes:
    """Return the stored bytes of the picture with this name; raises a DocumentError."""
    with _open_picture_page(path, name) as (page, number, _):
        return picture_data(page, number)


def draw_pdf_picture(path: Path, name: str, data: bytes) -> tuple[str, bytes]:
    """Return the picture with this name as it looks on its page; raises a DocumentError."""
    with _open_picture_page(path, name) as (page, number, frame):
        return encode_picture(draw_picture(page, number, frame))


@contextmanager
def _open_picture_page(path: Path, name: str) -> Iterator[tuple[Any, int, Frame]]:
    """The page of a picture by its name, its number there, and the page's frame."""
    match = _PICTURE_NAME.fullmatch(name)
    with _PDFIUM:
        document = _open(path)
        try:
            index = int(match[1]) - 1 if match else -1
            if not match or not 0 <= index < len(document):
                raise UnreadableDocument(f"{path.name} holds no such picture.")
            page = document[index]
            yield page, int(match[2]), page_frame(page)
            page.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadableDocument(
                f"{path.name} is damaged: a picture cannot be read."
            ) from error
        finally:
            document.close()


def _open(path: Path) -> Any:
    # A `PdfDocument` made of a path would resolve it: the file may have another name by now.
    raw = _C.FPDF_LoadDocument(os.fsencode(path) + b"\0", None)
    if _C.FPDF_GetPageCount(raw) >= 1:
        document = _Document(raw)
        if document.get_formtype():
            document.init_forms()
        return document
    if _C.FPDF_GetLastError() in (_C.FPDF_ERR_PASSWORD, _C.FPDF_ERR_SECURITY):
        raise EncryptedDocument(
            f"{path.name} is protected by a password. Save a copy without one and ingest that."
        )
    raise UnreadableDocument(f"{path.name} is damaged or incomplete and cannot be read as PDF.")


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
    """Return the language that the file names, as its two or three letters ("en"), else nothing."""
    buffer = (_C.FPDF_WCHAR * _LANGUAGE_BYTES)()
    size = _C.FPDFCatalog_GetLanguage(document, buffer, _LANGUAGE_BYTES)
    name = bytes(buffer)[: max(0, min(size, 2 * _LANGUAGE_BYTES) - 2)].decode("utf-16-le", "ignore")
    match = re.match("[A-Za-z]{2,3}(?![A-Za-z])", name)
    return match[0].lower() if match else ""


def _scans(document: Any, pages: int) -> tuple[int, frozenset[int], frozenset[int]]:
    """Tell how many pages hold no text, the indexes of those on which some may be recognised, and
    of those whose text cannot be read. Pages that cannot be opened are left to the reading."""
    count, scans, unreadable = 0, set(), set()
    for index in range(pages):
        with _PDFIUM, suppress(pypdfium2.PdfiumError):
            page = document[index]
            text_page = page.get_textpage()
            chars = text_page.count_chars()
            count += chars == 0
            if is_unreadable(text_page.raw):
                unreadable.add(index)
            text_page.close()
            if chars <= _STAMP_CHARS and _is_scan(page, empty=not chars):
                scans.add(index)
            page.close()
    return count, frozenset(scans), frozenset(unreadable)


def _page_list(indexes: frozenset[int]) -> str:
    """Name pages by their numbers from 1, neighbours together: "pages 2, 4-7"."""
    numbers = sorted(index + 1 for index in indexes)
    # Neighbours differ from their places in the list by the same number.
    groups = groupby(enumerate(numbers), lambda placed: placed[1] - placed[0])
    spans = [[number for _, number in group] for _, group in groups]
    named = [f"{span[0]}-{span[-1]}" if span[1:] else f"{span[0]}" for span in spans]
    if len(named) > _MAX_SPANS:
        named[_MAX_SPANS:] = [f"and {sum(map(len, spans[_MAX_SPANS:])):,} more"]
    return f"page{'s' * (len(numbers) > 1)} {', '.join(named)}"


def _is_scan(page: Any, *, empty: bool) -> bool:
    """Tell whether something is drawn on a page without text, or a picture covers most of one with
    little."""
    objects = list(islice(page.get_objects(max_depth=3), _MAX_OBJECTS))
    if empty:
        return bool(objects)
    width, height = page.get_size()
    images = (entry for entry in objects if entry.type == _C.FPDF_PAGEOBJ_IMAGE)
    covered = (_area(*image.get_bounds()) for image in images)
    return any(area >= _COVERED * width * height for area in covered)


def _area(left: float, bottom: float, right: float, top: float) -> float:
    return (right - left) * (top - bottom)


def _check_number(path: Path, document: Any, scans: int, recognition: Recognition) -> None:
    if scans > recognition.pages:
        with _PDFIUM:
            document.close()
        raise TooLarge(
            f"{path.name} has {scans:,} scanned pages; the limit is {recognition.pages:,} "
            "(INGEST__OCR_PAGES). Split it, or allow more."
        )


def _check_end(path: Path) -> None:
    """Refuse a truncated file: PDFium repairs it by silently leaving pages out."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        if b"%%EOF" not in file.read():
            raise UnreadableDocument(
                f"{path.name} is incomplete: the end of the PDF is missing. Copy it again."
            )


class _Scans(NamedTuple):
    """The indexes of the pages whose text is recognised, and how; those of others are left out."""

    pages: frozenset[int]
    recognition: Recognition
    left_out: frozenset[int] = frozenset()


class _Read(NamedTuple):
    """The lines of a page, its height in points, and what is ruled on it; the lines of a scan are
    seen in a view of their own."""

    lines: list[PageLine]
    height: float = 0.0
    rules: Rules = Rules()
    view: Outlook | None = None
    pictures: Sequence[PdfPicture] = ()


def _blocks(
    path: Path, document: Any, pages: int, scans: _Scans, pictures: PdfPictures, prose: Prose
) -> Iterator[Block]:
    """Windows of pages are read ahead to see what repeats on every page."""
    running: set[str] = set()
    try:
        for window in _windows(pages, scans):
            read = [_page(path, document, index, scans, pictures) for index in window]
            for page in read:
                prose.learn(page.lines)
            lines_of, heights = [page.lines for page in read], [page.height for page in read]
            kept = drop_page_edges(lines_of, heights, running, window[0] + 1)
            for index, page, lines in zip(window, read, kept, strict=True):
                blocks = page_blocks(lines, index + 1, prose, page.rules)
                if page.view:
                    yield from (page_block(block, page.view) for block in blocks)
                else:
                    yield from attach_pictures(list(blocks), page.pictures)
    finally:
        with _PDFIUM:
            document.close()


def _windows(pages: int, scans: _Scans) -> Iterator[list[int]]:
    """The pages that are read before their blocks are given: fewer where that takes seconds."""
    window: list[int] = []
    slow = 0
    for index in range(pages):
        window.append(index)
        slow += index in scans.pages
        if len(window) == _WINDOW or slow == scans.recognition.ahead:
            yield window
            window, slow = [], 0
    if window:
        yield window


def _page(path: Path, document: Any, index: int, scans: _Scans, pictures: PdfPictures) -> _Read:
    if index in scans.left_out:
        return _Read([])
    try:
        if index not in scans.pages:
            return _read_ruled_lines(document, index, pictures)
        pixels, points = _picture(document, index)
    except pypdfium2.PdfiumError as error:
        raise UnreadableDocument(
            f"{path.name} is damaged: page {index + 1} cannot be read."
        ) from error
    lines, view = build_lines(recognise_text(pixels, scans.recognition), points)
    return _Read(lines, len(pixels) * points, view=view)


def _read_ruled_lines(document: Any, index: int, pictures: PdfPictures) -> _Read:
    with _PDFIUM:
        page = document[index]
        text_page = page.get_textpage()
        frame = page_frame(page)
        rules = page_rules(page, frame)
        lines = insert_fields(move_header_first(page_lines(text_page, frame, rules)), page, frame)
        shown = pictures.find_pictures(page, index, frame) if lines else ()
        height = page.get_height()
        text_page.close()
        page.close()
    return _Read(lines, height, rules, pictures=shown)


def _picture(document: Any, index: int) -> tuple[Any, float]:
    """Return a page as pixels, and how many points each is long."""
    with _PDFIUM:
        page = document[index]
        scale = min(DPI / _POINTS, MAX_SIDE / max(*page.get_size(), 1.0))
        bitmap = page.render(scale=scale)  # What is filled in is seen too.
        pixels = bitmap.to_numpy().copy()
        bitmap.close()
        page.close()
    return pixels, 1 / scale


PDF = Format(
    "application/pdf",
    parse_pdf,
    magic=b"%PDF-",
    nested=parse_nested_pdf,
    picture=picture_in_pdf,
    drawn=draw_pdf_picture,
)
