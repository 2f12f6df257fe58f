"""Reading one file: its type, the checks before reading, and its blocks."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from ragstone.core.document import picture_id, picture_parts
from ragstone.core.errors import ConfigError, EmptyDocument, UnreadableDocument, WrongType
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.image_file import redraw
from ragstone.ingest.formats.inline_text import read_typed_bullet, rewrite_block
from ragstone.ingest.formats.numbering import read_typed_lists
from ragstone.ingest.formats.recognition import AHEAD, CHOSEN, PICTURES_UNREAD, Recognition
from ragstone.ingest.formats.struck import CURRENT, HEADING, StruckText, without_struck
from ragstone.ingest.formats.types import (
    FORMATS,
    MEGABYTE,
    SizeSettings,
    Surroundings,
    check_size,
    check_type,
)
from ragstone.ingest.pictures import add_captions, drop_bare_pictures
from ragstone.ingest.places import find_archive, pin_file, resolve_links
from ragstone.language.unicode import replace_surrogates, replace_value_surrogates

_PROGRAM_TITLE = re.compile(
    r"microsoft \w+ - .*"
    r"|\S+\.(?:docx?|dot[mx]?|dvi|fm|indd|odt|ott|pmd|pot[mx]?|pptx?|qxd|rtf|tex|wpd|xlsx?|xlt[mx]?)"
    r"|\W*(?:untitled|anonymous|unspecified|document|dokument|presentation"
    r"|powerpoint[ -]presentation|workbook)[\W\d]*",
    re.IGNORECASE,
)
"""A title that a program made, mostly of its file's name."""

_TEMPLATE = re.compile(
    r"\b(?:template|\w*vorlage|plantilla|modèle de|modello di|sjabloon|szablon)\b|模板",
    re.IGNORECASE,
)

_CHAPTER = re.compile(
    r"(?:chapter|section|part|appendix|kapitel|abschnitt|teil|anhang|chapitre|capítulo|capitolo)"
    r"\s+(?:\d|[ivx]+\b).*"
    r"|\d{1,2}(?:\.\d{1,2})*[.)]\s.*|1\s.*|第\s?[\d一二三四五六七八九十]+\s?[章节部].*"
    r"|(?:(?:table of )?contents|abstract|foreword|introduction|preface|summary"
    r"|inhalt(?:sverzeichnis)?|einleitung|vorwort|zusammenfassung|sommaire|résumé|índice|目录|摘要|前言)\W*",
    re.IGNORECASE,
)
"""A heading of a part. Above the first part of a PDF file the title may be a picture."""

_SLIDE = re.compile(r"Slide \d+")
"""The heading of a slide that has none."""

_WORD = re.compile(r"[^\W\d_]")


class ReadSettings(SizeSettings, Protocol):
    """The settings for reading a file; see IngestSettings."""

    @property
    def ocr(self) -> bool: ...
    @property
    def ocr_pages(self) -> int: ...


def parse(
    path: Path,
    settings: ReadSettings,
    folder: Path | None = None,
    *,
    sample: bool = False,
    noticed: Callable[[], None] = lambda: None,
    captions: Mapping[str, str] = {},
) -> Parsed:
    """Open a document; its blocks are then read lazily, in bounded memory. What it includes of
    other files must be in `folder`; without one it is left out.

    With `sample` only the first blocks are wanted, so that not many pages are read ahead. `noticed`
    is called before the text of a page or a picture is recognised, which takes seconds. `captions`
    are what a model said of its pictures, by their digests.

    Raises a DocumentError, and so may iterating over the blocks. What a hostile file makes of it
    is bounded only in a process of its own: see `parse_process`.
    """
    ending = path.suffix.lower()
    around = _surroundings(path, folder)
    with _format_errors(path):
        known = FORMATS.get(_name(path))
    recognition = Recognition(settings.ocr, settings.ocr_pages, 1 if sample else AHEAD, noticed)
    CHOSEN.set(recognition)
    struck = StruckText()
    CURRENT.set(struck)
    with ExitStack() as opened:
        path = opened.enter_context(_pin_document(path, settings))
        check_size(path, path.stat().st_size, known.whole, settings)
        check_type(path, known.magic)
        with _format_errors(path):
            max_bytes = settings.max_memory_mb * MEGABYTE
            if known.including:
                parsed = known.including(path, ending, max_bytes, around)
            else:
                parsed = known.parse(path, ending, max_bytes)
            if not isinstance(parsed, Parsed):
                raise TypeError(f"its parser made {type(parsed).__name__} instead of Parsed")
        # A caption of a model follows the block that has the picture, so pictures are placed
        # before.
        blocks = add_captions(
            drop_bare_pictures(
                read_typed_lists(_readable_blocks(path, struck.apply(parsed.blocks)))
            ),
            captions,
        )
        # Read now, as an empty file must fail before its title is told.
        first = next(blocks, None)
        if first is None:
            raise EmptyDocument(_why_empty(path, parsed))
        title = without_struck(parsed.title)
        if not (title and _is_title(title, first.text)):
            # Whoever numbers documents of one form, whose headings are the same, names their files.
            numbered = title and not _WORD.search(title) and _WORD.search(path.stem)
            title = "" if numbered else _first_title(first, known.media_type)
        title = title or path.stem
        return replace(
            parsed,
            title=replace_surrogates(title),
            blocks=_until_read(chain((first,), blocks), opened.pop_all()),
            metadata=replace_value_surrogates(parsed.metadata),
            media_type=parsed.media_type or known.media_type,
            last_notes=lambda: (*parsed.last_notes(), *struck.notes()),
        )


def draw_document_picture(
    path: Path, settings: ReadSettings, id: str, folder: Path | None = None
) -> tuple[str, bytes]:
    """Return the picture of a document with this id, as it is shown: its media type and content,
    which is drawn anew.

    Raises a DocumentError, also where the file holds another picture by now.
    """
    gone = UnreadableDocument(f"{path.name} does not hold this picture, or no longer does.")
    ending = path.suffix.lower()
    parts = picture_parts(id)
    around = _surroundings(path, folder)
    with _format_errors(path):
        known = FORMATS.get(_name(path))
    if parts is None or known.picture is None:
        raise gone
    with _pin_document(path, settings) as path:
        check_size(path, path.stat().st_size, known.whole, settings)
        check_type(path, known.magic)
        with _format_errors(path):
            data = known.picture(path, ending, settings.max_memory_mb * MEGABYTE, around, parts[1])
            if picture_id(data, parts[1]) != id:
                raise gone
            return known.drawn(path, parts[1], data) if known.drawn else redraw(path.name, data)


def _surroundings(path: Path, folder: Path | None) -> Surroundings | None:
    if folder is None or find_archive(path):
        return None
    return Surroundings(Path(resolve_links(folder)), path)


@contextmanager
def _pin_document(path: Path, settings: ReadSettings) -> Iterator[Path]:
    """See `pin_file`; a member of an archive is unpacked. Raises UnreadableDocument."""
    with ExitStack() as stack:
        if find_archive(path):
            from ragstone.ingest.archives import unpack_member  # Few files are in archives.

            max_bytes = settings.max_memory_mb * MEGABYTE
            yield stack.enter_context(unpack_member(path, max_bytes))
            return
        try:
            pinned = stack.enter_context(pin_file(path))
        except OSError as error:
            raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error
        yield pinned


def _until_read(blocks: Iterator[Block], opened: ExitStack) -> Iterator[Block]:
    """Yield the blocks; the file is closed behind the last, or when nobody wants more."""
    with opened:
        yield from blocks


def _name(path: Path) -> str:
    """Return the name of a file's format; raises WrongType for an ending that no format has."""
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        raise WrongType(f"{path.name} is of a type that cannot be read. See the supported types.")
    return name


@contextmanager
def _format_errors(path: Path) -> Iterator[None]:
    """What breaks in the format of another package is this document's failure, and says whose it
    is."""
    try:
        with FORMATS.explain_errors(_name(path)):
            yield
    except ConfigError as error:
        raise UnreadableDocument(f"{path.name} cannot be read. {error.message}") from error


def _readable_blocks(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    """Check that text is whole; a file that becomes unreadable half-way is a DocumentError too."""
    try:
        with _format_errors(path):
            for block in blocks:
                if not (block.text.isascii() and block.label.isascii()):
                    block = replace(
                        block,
                        text=replace_surrogates(block.text),
                        label=replace_surrogates(block.label),
                    )
                    if block.kind != "code":
                        block = read_typed_bullet(rewrite_block(block))
                yield block
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def _why_empty(path: Path, parsed: Parsed) -> str:
    if parsed.recognised:
        return f"{path.name} holds pictures in which no text was recognised. Scan it sharper."

    if path.suffix.lower() == ".pdf":
        recognition = CHOSEN.get()
        hint = "" if recognition.possible else f" {recognition.why_not}"
        return f"{path.name} has no text layer: it seems to be a scan.{hint}"
    if parsed.metadata.get(PICTURES_UNREAD):
        return f"{path.name} holds pictures alone. {CHOSEN.get().why_not}"
    return f"{path.name} holds no text."


def _first_title(first: Block, media_type: str) -> str:
    if first.kind != "heading" or len(first.text) > 200 or first.text == HEADING:
        return ""
    is_part = _SLIDE.fullmatch(first.text) or (
        media_type == "application/pdf" and _CHAPTER.fullmatch(first.text)
    )
    return first.text if _WORD.search(first.text) and not is_part else ""


def _is_title(text: str, beginning: str) -> bool:
    """Tell whether what a document says is its title is one: not the name of a program's new file,
    nor a number or that of the template that it was made of, which its beginning does not name."""
    if _PROGRAM_TITLE.fullmatch(text):
        return False
    is_doubtful = _TEMPLATE.search(text) or not _WORD.search(text)
    return not is_doubtful or text.casefold() in beginning.casefold()
