"""Reading one file: what it is, whether it may be read, and then its blocks."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ragstone.core.errors import EmptyDocument, TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.json import parse_json, parse_jsonl
from ragstone.ingest.formats.markdown import parse_markdown
from ragstone.ingest.formats.text import parse_csv, parse_text
from ragstone.ingest.formats.types import SUPPORTED, check_type
from ragstone.language.unicode import whole, whole_values
from ragstone.settings import IngestSettings

__all__ = ["SUPPORTED", "parse"]

_MEGABYTE = 1 << 20
_WHOLE = {".docx", ".pptx", ".xlsx", ".eml", ".html", ".htm"}
"""Formats that are parsed whole: a file must fit into INGEST__MAX_MEMORY_MB."""


def parse(path: Path, settings: IngestSettings) -> Parsed:
    """Open a document; its blocks are then read lazily, in bounded memory.

    Raises a DocumentError, and so may iterating over the blocks. Blocking: run it, and the
    iteration, in a thread.
    """
    _check_size(path, settings)
    ending = check_type(path)
    parsed = _open(path, ending, settings.max_memory_mb * _MEGABYTE)
    blocks = _guarded(path, parsed.blocks)
    first = next(blocks, None)
    if first is None:
        raise EmptyDocument(_why_empty(path, ending))
    title = parsed.title or _first_title(first) or path.stem
    return replace(
        parsed,
        title=whole(title),
        blocks=chain((first,), blocks),
        metadata=whole_values(parsed.metadata),
    )


def _open(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Libraries of whole formats are imported here: a start needs none of them."""
    match ending:
        case ".pdf":
            from ragstone.ingest.formats.pdf import parse_pdf

            return parse_pdf(path, ending)
        case ".docx" | ".pptx" | ".xlsx" | ".eml":
            from ragstone.ingest.formats.office import parse_office

            return parse_office(path, ending, max_bytes)
        case ".html" | ".htm":
            from ragstone.ingest.formats.html import parse_html

            return parse_html(path, ending)
        case ".md" | ".markdown":
            return parse_markdown(path, ending)
        case ".csv" | ".tsv":
            return parse_csv(path, ending)
        case ".json":
            return parse_json(path, ending, max_bytes)
        case ".jsonl" | ".ndjson":
            return parse_jsonl(path, ending, max_bytes)
    return parse_text(path, ending)


def _check_size(path: Path, settings: IngestSettings) -> None:
    whole = path.suffix.lower() in _WHOLE
    name = "max_memory_mb" if whole else "max_file_mb"
    limit = settings.max_memory_mb if whole else settings.max_file_mb
    try:
        size = path.stat().st_size
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error
    if size > limit * _MEGABYTE:
        raise TooLarge(
            f"{path.name} has {size / _MEGABYTE:,.0f} MB; the limit is {limit:,} MB "
            f"(INGEST__{name.upper()})."
        )


def _guarded(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    """A file that becomes unreadable half-way is still a DocumentError; text is whole."""
    try:
        for block in blocks:
            yield block if block.text.isascii() else replace(block, text=whole(block.text))
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def _why_empty(path: Path, ending: str) -> str:
    if ending == ".pdf":
        return (
            f"{path.name} has no text layer: it seems to be a scan. "
            "Run a text recognition (OCR) over it and ingest the result."
        )
    return f"{path.name} holds no text."


def _first_title(first: Block) -> str:
    return first.text if first.kind == "heading" and len(first.text) <= 200 else ""
