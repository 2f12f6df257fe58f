"""Which files can be read, and what a file's first bytes say that it is."""

from pathlib import Path

from ragstone.core.errors import EmptyDocument, EncryptedDocument, UnreadableDocument, WrongType

_OFFICE = "application/vnd.openxmlformats-officedocument"

MEDIA_TYPES: dict[str, str] = {
    ".pdf": "application/pdf",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".html": "text/html",
    ".htm": "text/html",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".rst": "text/x-rst",
    ".log": "text/plain",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".eml": "message/rfc822",
}
"""Media type by file ending."""

SUPPORTED: tuple[str, ...] = tuple(MEDIA_TYPES)
"""The file endings that can be read, in lower case."""

ZIPPED = (".docx", ".pptx", ".xlsx")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_HEAD_BYTES = 4096
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (OLE, "an old Office file (.doc, .xls, .ppt)"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
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


def check_type(path: Path) -> str:
    """The file's ending, once the content agrees with it.

    Raises WrongType, EmptyDocument, EncryptedDocument (an Office file under a password) or
    UnreadableDocument.
    """
    ending = path.suffix.lower()
    if ending not in MEDIA_TYPES:
        raise WrongType(f"{path.name} is of a type that cannot be read. See the supported types.")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error
    if not head:
        raise EmptyDocument(f"{path.name} is empty (0 bytes).")
    kind = _kind(head)
    if ending in ZIPPED and kind == _MAGIC[2][1] and _protected(path):
        raise EncryptedDocument(
            f"{path.name} is protected by a password. Save a copy without one and ingest that."
        )
    if not _agrees(ending, kind):
        raise WrongType(
            f"{path.name} ends in {ending}, but by its content it is {kind or _guess(head)}."
        )
    return ending


def _agrees(ending: str, kind: str) -> bool:
    if ending == ".pdf":
        return kind == "a PDF file"
    if ending in ZIPPED:
        return kind == "a ZIP archive"
    return not kind


def _kind(head: bytes) -> str:
    """What the first bytes name beyond doubt, "" for text and everything unknown."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    return "a PDF file" if b"%PDF-" in head[:1024] else ""


def _guess(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    return "binary data" if b"\x00" in head else "plain text"


def _protected(path: Path) -> bool:
    """Whether an OLE container holds an encrypted Office package: its directory names it."""
    name = "EncryptedPackage".encode("utf-16-le")
    overlap = b""
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            if name in overlap + data:
                return True
            overlap = data[-len(name) :]
    return False
