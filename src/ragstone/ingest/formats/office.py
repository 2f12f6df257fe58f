"""DOCX, PPTX, XLSX and EML through kreuzberg, which reads them whole in native code.

No OCR, no cache and no download: those are options of kreuzberg that stay off here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import kreuzberg

from ragstone.core.errors import UnreadableDocument, WrongType
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.package import repacked, restored
from ragstone.ingest.formats.tables import piped, record_blocks
from ragstone.ingest.formats.types import ZIP, Format

_OFFICE = "application/vnd.openxmlformats-officedocument"
_MEDIA_TYPES = {
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".eml": "message/rfc822",
}
_ZIPPED = (".docx", ".pptx", ".xlsx")

_SLIDE = "%%ragstone-slide-{page_num}%%"
_SLIDE_NUMBER = re.compile(r"%%ragstone-slide-(\d+)%%")
_MAIL_HEADER = re.compile(rb"(?im)^(from|to|subject|date|received|message-id|return-path):")
_DESCRIPTION = {"authors": "author", "subject": "subject", "created_at": "created"}


def parse_office(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole; zipped ones only if they unpack to at most `max_bytes`.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    if ending in _ZIPPED:
        data = repacked(path, ending, max_bytes)
    else:
        _check_mail(path)
        data = path.read_bytes()
    result = _extract(path, data, ending)
    metadata = dict(result.metadata)
    blocks, pages = _BLOCKS[ending](result, metadata)
    title = metadata.get("subject" if ending == ".eml" else "title") or ""
    kept = {new: metadata[old] for old, new in _DESCRIPTION.items() if metadata.get(old)}
    if ending in _ZIPPED:
        blocks = (replace(block, text=restored(block.text)) for block in blocks)
        title = restored(str(title))
    return Parsed(" ".join(str(title).split()), blocks, pages, kept)


def _extract(path: Path, data: bytes, ending: str) -> kreuzberg.ExtractionResult:
    markers = ending == ".pptx"
    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        include_document_structure=ending != ".xlsx",
        output_format="markdown",
        pages=kreuzberg.PageConfig(
            extract_pages=markers,
            insert_page_markers=markers,
            marker_format=f"\n\n{_SLIDE}\n\n",
        ),
    )
    try:
        return kreuzberg.extract_bytes_sync(data, _MEDIA_TYPES[ending], config)
    except kreuzberg.KreuzbergError as error:
        reason = str(error).removeprefix("ParsingError: ").split("\n")[0].rstrip(".")
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete and cannot be read ({reason})."
        ) from error


def _check_mail(path: Path) -> None:
    with path.open("rb") as file:
        if not _MAIL_HEADER.search(file.read(16_384)):
            raise WrongType(
                f"{path.name} ends in .eml, but it has none of the header lines of a mail."
            )


def _document_blocks(
    result: kreuzberg.ExtractionResult, metadata: Mapping[str, Any]
) -> tuple[Iterator[Block], int | None]:
    return _structure(result), None


def _slide_blocks(
    result: kreuzberg.ExtractionResult, metadata: Mapping[str, Any]
) -> tuple[Iterator[Block], int | None]:
    pages = metadata.get("pages") or {}
    return _structure(result), pages.get("total_count")


def _structure(result: kreuzberg.ExtractionResult) -> Iterator[Block]:
    """Walk the nodes in order; a slide's marker says which page the following ones are on."""
    page: int | None = None
    items: list[str] = []
    for node in result.document["nodes"] if result.document else []:
        content: Mapping[str, Any] = node["content"]
        text = str(content.get("text") or "").strip()
        if node.get("content_layer", "body") in ("header", "footer"):
            continue
        if content["node_type"] == "list_item":
            items += [f"- {text}"] if text else []
            continue
        if items:
            yield Block("\n".join(items), "list", page=page)
            items = []
        if marker := _SLIDE_NUMBER.fullmatch(text):
            page = int(marker[1])
        elif block := _block(content, text, page):
            yield block
    if items:
        yield Block("\n".join(items), "list", page=page)


def _block(content: Mapping[str, Any], text: str, page: int | None) -> Block | None:
    kind = content["node_type"]
    if kind == "table":
        table = piped(_grid(content["grid"]))
        return Block(table, "table", page=page) if table else None
    if not text:
        return None
    if kind in ("heading", "title"):
        return Block(" ".join(text.split()), "heading", int(content.get("level") or 1), page)
    return Block(text, "code" if kind == "code" else "paragraph", page=page)


def _grid(grid: Mapping[str, Any]) -> list[list[str]]:
    rows = [[""] * grid["cols"] for _ in range(grid["rows"])]
    for cell in grid["cells"]:
        rows[cell["row"]][cell["col"]] = cell["content"]
    return rows


def _sheet_blocks(
    result: kreuzberg.ExtractionResult, metadata: Mapping[str, Any]
) -> tuple[Iterator[Block], int | None]:
    """Each sheet is a section; empty ones are left out. Sheets are not pages."""

    def blocks() -> Iterator[Block]:
        names = metadata.get("sheet_names") or []
        for table in result.tables:
            index = table.page_number - 1
            name = str(names[index]) if 0 <= index < len(names) else f"Sheet {index + 1}"
            records = record_blocks(table.cells)
            if first := next(records, None):
                yield Block(name, "heading", 1)
                yield first
                yield from records

    return blocks(), None


def _mail_blocks(
    result: kreuzberg.ExtractionResult, metadata: Mapping[str, Any]
) -> tuple[Iterator[Block], int | None]:
    def blocks() -> Iterator[Block]:
        if subject := " ".join(str(metadata.get("subject") or "").split()):
            yield Block(subject, "heading", 1)
        to, copy = (", ".join(metadata.get(name) or []) for name in ("to_emails", "cc_emails"))
        head = {
            "From": metadata.get("from_email"),
            "To": to,
            "Cc": copy,
            "Date": metadata.get("created_at") or metadata.get("date"),
            "Attachments": ", ".join(metadata.get("attachments") or []),
        }
        if lines := [f"{name}: {value}" for name, value in head.items() if value]:
            yield Block("\n".join(lines))
        for block in _structure(result):
            if block.kind == "paragraph":
                parts = re.split(r"\n\s*\n", block.text.replace("\r\n", "\n"))
                yield from (Block(part.strip()) for part in parts if part.strip())
            else:
                yield block

    return blocks(), None


_BLOCKS = {
    ".docx": _document_blocks,
    ".pptx": _slide_blocks,
    ".xlsx": _sheet_blocks,
    ".eml": _mail_blocks,
}


DOCX = Format(_MEDIA_TYPES[".docx"], parse_office, whole=True, magic=ZIP)
PPTX = Format(_MEDIA_TYPES[".pptx"], parse_office, whole=True, magic=ZIP)
XLSX = Format(_MEDIA_TYPES[".xlsx"], parse_office, whole=True, magic=ZIP)
EML = Format(_MEDIA_TYPES[".eml"], parse_office, whole=True)
