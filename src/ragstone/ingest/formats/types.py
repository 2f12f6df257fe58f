"""The readable file types, and the type that a file's first bytes show."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol

from ragstone.core.errors import (
    ConfigError,
    EmptyDocument,
    EncryptedDocument,
    TooLarge,
    UnreadableDocument,
    WrongType,
)
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.recognition import Recognition, is_installed
from ragstone.ingest.places import resolve_links
from ragstone.registry import Extension, Registry


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The given folder, and where in it a document is; both are whole paths without links."""

    folder: Path
    document: Path

    def find(self, base: Path, name: str) -> Path | None:
        """The place that a name means from `base`, links resolved; None outside of the folder."""
        target = Path(resolve_links(base / name.lstrip("/")))
        return target if target.is_relative_to(self.folder) else None

    def is_hidden(self, place: Path) -> bool:
        """Whether the name of a place in the folder, or of a folder that it is in, is hidden."""
        return any(part.startswith(".") for part in place.relative_to(self.folder).parts)


log = logging.getLogger(__name__)

ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Parser(Protocol):
    """Opens a file. `ending` is that of its name, with the dot and in lower case; no more than
    `max_bytes` may be in memory at a time, also of what is unpacked. Raises a DocumentError, and so
    may iterating over the blocks. It runs in a process that reads one file at a time, and may
    die of it."""

    def __call__(self, path: Path, ending: str, max_bytes: int, /) -> Parsed: ...


class NestedParser(Protocol):
    """A parser of files that hold others; `depth` is how many the file itself stands in."""

    def __call__(self, path: Path, ending: str, max_bytes: int, depth: int, /) -> Parsed: ...


class IncludingParser(Protocol):
    """A parser of files that show others, which are `around` them; None where the file was given
    without a folder."""

    def __call__(
        self, path: Path, ending: str, max_bytes: int, around: Surroundings | None, /
    ) -> Parsed: ...


class PictureReader(Protocol):
    """Reads the picture of a file that has this name in its id: its bytes, whose digest is in the
    id too. Raises a DocumentError. Arguments and place are a parser's."""

    def __call__(
        self, path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str, /
    ) -> bytes: ...


class PictureDrawer(Protocol):
    """Draws the picture of this name that a `PictureReader` has read as `data`: its media type and
    content. Raises a DocumentError."""

    def __call__(self, path: Path, name: str, data: bytes, /) -> tuple[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its media type and its parser.

    `whole` says that the parser has the whole file in memory at once, so that it has to be smaller
    than a quarter of INGEST__MAX_FILE_MB, else than that. `magic` is what every file of it
    begins with; a format without one is text, and a file that begins like something else is
    refused. `nested` takes the place of `parse` for a file in another one, where the format holds
    files itself, and `including` where a file may include others of its folder. `picture` is for
    formats whose blocks name pictures, and `drawn` where these are no files by themselves.
    `text_blocks` reads a piece of it that stands in a file of another format.
    """

    media_type: str
    parse: Parser
    whole: bool = False
    magic: bytes = b""
    nested: NestedParser | None = None
    including: IncludingParser | None = None
    picture: PictureReader | None = None
    drawn: PictureDrawer | None = None
    text_blocks: Callable[[str], Iterable[Block]] | None = None


_HERE = "ragstone.ingest.formats"
_TEXT = Extension(f"{_HERE}.text:TEXT", "Plain text, by its paragraphs")
_HTML = Extension(f"{_HERE}.html:HTML", "Web pages, without their menus")
_MARKDOWN = Extension(f"{_HERE}.markdown:MARKDOWN", "Markdown, with its headings and front matter")


PICTURES = {
    "png": "PNG",
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "tif": "TIFF",
    "tiff": "TIFF",
    "webp": "WEBP",
}
"""The endings of pictures, whose text is read only where the extra `ocr` is installed."""


def _picture(kind: str) -> Extension:
    return Extension(f"{_HERE}.picture:{kind}", f"The text in {kind} pictures", extra="ocr")


FORMATS: Registry[Format] = Registry(
    "ragstone.formats",
    "file format",
    {
        "pdf": Extension(f"{_HERE}.pdf:PDF", "PDF, page by page"),
        "docx": Extension(f"{_HERE}.docx:DOCX", "Word documents"),
        "docm": Extension(f"{_HERE}.docx:DOCM", "Word documents with macros, which are not run"),
        "pptx": Extension(f"{_HERE}.pptx:PPTX", "PowerPoint presentations, slide by slide"),
        "pptm": Extension(f"{_HERE}.pptx:PPTM", "Presentations with macros, which are not run"),
        "ppsx": Extension(f"{_HERE}.pptx:PPSX", "Slide shows, slide by slide"),
        "xlsx": Extension(f"{_HERE}.xlsx:XLSX", "Excel workbooks, row by row"),
        "xlsm": Extension(f"{_HERE}.xlsx:XLSM", "Workbooks with macros, which are not run"),
        "html": _HTML,
        "htm": _HTML,
        "xhtml": _HTML,
        "md": _MARKDOWN,
        "markdown": _MARKDOWN,
        "mdx": _MARKDOWN,
        "txt": _TEXT,
        "text": _TEXT,
        "log": _TEXT,
        "csv": Extension(f"{_HERE}.csv:CSV", "Tables, row by row"),
        "tsv": Extension(f"{_HERE}.csv:TSV", "Tables with tabs, row by row"),
        "json": Extension(f"{_HERE}.json:JSON", "JSON, value by value"),
        "jsonl": Extension(f"{_HERE}.json:JSONL", "JSON lines, a record a line"),
        "ndjson": Extension(f"{_HERE}.json:NDJSON", "JSON lines, a record a line"),
        "zip": Extension(f"{_HERE}.archive:ARCHIVE", "Archives, member by member"),
        "eml": Extension(f"{_HERE}.mail:EML", "Mails, with their attachments"),
        "mbox": Extension(f"{_HERE}.mail:MBOX", "Mailboxes, mail by mail"),
        **{name: _picture(kind) for name, kind in PICTURES.items()},
    },
    is_a=Format,
)
"""File formats by the endings of file names, without the dot."""


def list_endings(*, pictures: bool = True) -> tuple[str, ...]:
    """Return the file endings that can be read with what is installed, in lower case, with the dot;
    those of `pictures` only if they are wanted."""
    left_out = () if pictures and is_installed() else PICTURES
    return tuple(f".{name}" for name in FORMATS if name not in left_out)


def is_picture(name: str) -> bool:
    """Tell whether a file of this name is a picture."""
    return PurePath(name).suffix.lower().removeprefix(".") in PICTURES


def explain_unsupported(name: str, *, pictures: bool = True) -> str:
    """Tell why a file of this name cannot be read, and what can, as sentences."""
    said = explain_skipped(name, pictures=pictures)
    if is_picture(name) or suggest_conversion(PurePath(name).suffix):
        return said
    return f"{said} If it holds text, save it as .pdf, .docx, .html, .md or .txt and ingest that."


def explain_skipped(name: str, *, pictures: bool = True) -> str:
    """Tell why a file of this name cannot be read, and what to do with it if that is known."""
    if is_picture(name):
        return f"{name} is a picture. {Recognition(pictures).why_not}"
    kind = PurePath(name).suffix or "without an ending"
    said = f"{name} is of a type that cannot be read ({kind})."
    advice = suggest_conversion(kind)
    return f"{said} {advice} and ingest that." if advice else said


_INSTEAD = {
    **dict.fromkeys((".doc", ".dot", ".wps", ".wpd"), "Save it as .docx"),
    **dict.fromkeys((".xls", ".xlsb", ".numbers"), "Save it as .xlsx"),
    **dict.fromkeys((".ppt", ".pps"), "Save it as .pptx"),
    **dict.fromkeys((".msg", ".pst"), "Save its mails as .eml or .mbox"),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".fb2", ".lit"), "Convert it to .epub"),
    **dict.fromkeys((".ltx", ".ps", ".djvu", ".pages", ".xps"), "Make a .pdf of it"),
    **dict.fromkeys((".wiki", ".textile", ".pod"), "Export it as .md or .html"),
    **dict.fromkeys((".gz", ".tgz", ".tar", ".bz2", ".xz", ".7z", ".rar"), "Unpack it"),
}


def suggest_conversion(ending: str) -> str:
    """Return what to do with a file of a type that cannot be read, as a sentence without its stop;
    empty where there is nothing to say."""
    return _INSTEAD.get(ending.lower(), "")


def find_ending(media_type: str) -> str:
    """Return the first ending of a media type, empty for one that no format has."""
    for name in FORMATS:
        try:
            if FORMATS.get(name).media_type == media_type:
                return f".{name}"
        except ConfigError as error:
            log.warning("%s", error)
    return ""


_HEAD_BYTES = 4096
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (ZIP, "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (OLE, "an old Office file (.doc, .xls, .ppt)"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a WebP image, or sound or video"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"{\\rtf", "an RTF file"),
    (b"SQLite format 3\x00", "an SQLite database"),
)


def check_type(path: Path, magic: bytes) -> None:
    """Compare a file's first bytes with those of its format.

    Raises WrongType, EmptyDocument, EncryptedDocument (an Office file under a password) or
    UnreadableDocument.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error
    if not head:
        raise EmptyDocument(f"{path.name} is empty (0 bytes).")
    kind = _kind(head)
    if magic == ZIP and kind == _kind(OLE) and _is_encrypted(path):
        raise EncryptedDocument(
            f"{path.name} is protected by a password. Save a copy without one and ingest that."
        )
    if not _matches_magic(magic, head):
        ending = path.suffix.lower()
        raise WrongType(
            f"{path.name} ends in {ending}, but by its content it is {kind or _guess_kind(head)}."
        )


def _matches_magic(magic: bytes, head: bytes) -> bool:
    """Tell whether the content matches the format's magic; plain text has none."""
    kind = _kind(head)
    return kind == _kind(magic) if kind or not magic else head.startswith(magic)


def _kind(head: bytes) -> str:
    """Return the type that the first bytes prove, "" for text and unknown types."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    return "a PDF file" if b"%PDF-" in head[:1024] else ""


def _guess_kind(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    return "binary data" if b"\x00" in head else "plain text"


def _is_encrypted(path: Path) -> bool:
    """Tell whether an OLE container holds an encrypted Office package: its directory names it."""
    name = "EncryptedPackage".encode("utf-16-le")
    overlap = b""
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            if name in overlap + data:
                return True
            overlap = data[-len(name) :]
    return False


MEGABYTE = 1 << 20

LARGEST, LARGEST_WHOLE = "INGEST__MAX_FILE_MB", "a quarter of INGEST__MAX_FILE_MB"
"""How messages call the limits."""


class SizeSettings(Protocol):
    """The settings for how large a file may be; see IngestSettings."""

    @property
    def max_file_mb(self) -> int: ...
    @property
    def max_memory_mb(self) -> int: ...


def check_size(path: Path, size: int, whole: bool, settings: SizeSettings) -> None:
    """Raise TooLarge for a file with more bytes than one of its format may have; `whole`: it is
    read whole."""
    limit = settings.max_memory_mb if whole else settings.max_file_mb
    if size > limit * MEGABYTE:
        raise TooLarge(
            f"{path.name} has {size / MEGABYTE:,.0f} MB; the limit is {limit:,} MB "
            f"({LARGEST_WHOLE if whole else LARGEST}). Split the file, or raise the limit."
        )


def check_before_hashing(path: Path, size: int, settings: SizeSettings) -> None:
    """Raise for a file that is not worth its hash: it is empty, or larger than any may be. The
    parser's process checks the others, as looking up a format loads its parser.

    Raises EmptyDocument, TooLarge.
    """
    if not size:
        raise EmptyDocument(f"{path.name} is empty (0 bytes).")
    if size <= max(settings.max_file_mb, settings.max_memory_mb) * MEGABYTE:
        return
    try:
        whole = FORMATS.get(path.suffix.lower().removeprefix(".")).whole
    except ConfigError as error:
        raise UnreadableDocument(f"{path.name} cannot be read. {error.message}") from error
    check_size(path, size, whole, settings)
