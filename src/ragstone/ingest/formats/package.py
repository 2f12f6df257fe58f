"""ZIP files, of which office packages are made: checked by their directory, unpacked in bounds.

`office_package` packs an office file anew for the libraries that read it. The sizes that a ZIP file
states may be lies, so they are measured while unpacking; what those libraries stumble over
(relations that lead nowhere, types they do not know, the strict namespaces) is mended; and a part
with a document type declaration, which the standard forbids, is refused, so that no entity is ever
replaced.
"""

import codecs
import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from ragstone.core.errors import (
    ArchiveBomb,
    DocumentError,
    EncryptedDocument,
    UnreadableDocument,
    WrongType,
)
from ragstone.ingest.formats.metadata import keyword_list

_PART = {
    ".docx": "word/",
    ".pptx": "ppt/",
    ".xlsx": "xl/",
    ".odt": "content.xml",
    ".ods": "content.xml",
    ".odp": "content.xml",
}
_SAME = {".docm": ".docx", ".pptm": ".pptx", ".ppsx": ".pptx", ".xlsm": ".xlsx"}
MAX_ENTRIES = 20_000
_MAX_RATIO = 200
_RATIO_COUNTS_FROM = 10 << 20
"""Small files of repetitive XML compress better than any honest large one."""
_READ_BYTES = 1 << 20
_ENCRYPTED = 1

_TYPES = "[Content_Types].xml"
_TYPES_NS = "{http://schemas.openxmlformats.org/package/2006/content-types}"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_OPEN_XML = "http://schemas.openxmlformats.org"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/([A-Za-z]+)/([A-Za-z/]+)")
_STRICT_FAMILIES = {
    b"officeDocument": f"{_OPEN_XML}/officeDocument/2006/".encode(),
    b"drawingml": f"{_OPEN_XML}/drawingml/2006/".encode(),
    b"wordprocessingml": f"{_OPEN_XML}/wordprocessingml/2006/".encode(),
    b"presentationml": f"{_OPEN_XML}/presentationml/2006/".encode(),
    b"spreadsheetml": f"{_OPEN_XML}/spreadsheetml/2006/".encode(),
}
_KINDS = "application/vnd.openxmlformats-officedocument"
_MAIN = (
    (
        re.compile(
            r"wordprocessingml\.template\.main\+xml|ms-word\.\w+\.macroEnabled\w*\.main\+xml"
        ),
        f"{_KINDS}.wordprocessingml.document.main+xml",
    ),
    (
        re.compile(
            r"presentationml\.(?:slideshow|template)\.main\+xml"
            r"|ms-powerpoint\.\w+\.macroEnabled\w*\.main\+xml"
        ),
        f"{_KINDS}.presentationml.presentation.main+xml",
    ),
)
"""Content types that hold the same parts as the ordinary ones."""


@contextmanager
def open_archive(path: Path, max_bytes: int | None) -> Iterator[zipfile.ZipFile]:
    """An archive whose directory was checked: entries, stated sizes, ratio, passwords.

    `max_bytes` bounds what it unpacks to. Raises UnreadableDocument, EncryptedDocument or
    ArchiveBomb, also for what goes wrong while it is read.
    """
    with archive_errors(path), zipfile.ZipFile(path) as archive:
        check_archive(path, archive.infolist(), max_bytes)
        yield archive


@contextmanager
def archive_errors(path: Path) -> Iterator[None]:
    """Raise UnreadableDocument for what goes wrong while an archive is read."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete: it is not a whole ZIP package."
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise UnreadableDocument(
            f"{path.name} is packed in a way that cannot be read ({error})."
        ) from error


def unpack_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes | None:
    """Return the entry's bytes, None if they are more than there is room for."""
    parts: list[bytes] = []
    with archive.open(entry) as file:
        while data := file.read(_READ_BYTES):
            room -= len(data)
            if room < 0:
                return None
            parts.append(data)
    return b"".join(parts)


def xml_parts(
    path: Path, ending: str, max_bytes: int, only: Container[str] | None = None
) -> dict[str, bytes]:
    """Return the XML parts of an office package by their names, in UTF-8; other parts are empty.

    With `only`, no other part is read.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    parts: dict[str, bytes] = {}
    with open_archive(path, max_bytes) as archive:
        names = [_name(entry) for entry in archive.infolist()]
        _check_kind(path, ending, names)
        total = 0
        for entry, name in zip(archive.infolist(), names, strict=True):
            if entry.is_dir():
                continue
            data: bytes | None = b""
            if name in only if only else name.lower().endswith((".xml", ".rels")):
                data = unpack_entry(archive, entry, max_bytes - total)
            if data is None:
                raise bomb_error(path, max_bytes)
            total += len(data)
            parts[name] = _plain_xml(path, data)
    return parts


_EMBEDDED = re.compile(r"/embeddings/[^/]+$")
_CHART_RELATIONS = re.compile(r"/charts/_rels/[^/]+\.rels$")
_MAX_RELATIONS = 1 << 16
_MAX_NAMED = 5
_MAX_NAME_CHARS = 100


def office_package(
    path: Path,
    ending: str,
    max_bytes: int,
    change: Callable[[str, bytes], bytes] = lambda name, data: data,
) -> io.BytesIO:
    """Return an Open XML package with its XML parts only, stored; at most `max_bytes` unpacked.

    `change` may make another content of a part, by its name. Raises UnreadableDocument, WrongType,
    EncryptedDocument or ArchiveBomb.
    """
    parts = xml_parts(path, ending, max_bytes)
    if _TYPES in parts:
        parts[_TYPES] = _mend_types(path, parts[_TYPES], parts)
    names = {name.lower(): name for name in parts}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for name in list(parts):
            # Popped, so that each part is in memory once.
            data = parts.pop(name)
            if name.endswith(".rels"):
                data = _mend_relations(path, name, data, names)
            copy.writestr(zipfile.ZipInfo(name), change(name, data))
    target.seek(0)
    return target


def find_embedded_files(path: Path) -> tuple[str, ...]:
    """Return a sentence on the files that an Open XML file embeds and that are not read, none where
    there are none. The workbooks of charts are not among them: the charts say what is in them."""
    with translate_library_errors(path), zipfile.ZipFile(path) as archive:
        embedded = [name for name in archive.namelist() if _EMBEDDED.search(name)]
        charts = b"".join(
            archive.read(entry)
            for entry in archive.infolist()
            if embedded and _CHART_RELATIONS.search(entry.filename)
            if entry.file_size <= _MAX_RELATIONS
        )
    files = [posixpath.basename(name) for name in embedded]
    return tell_embedded(path, [name for name in files if b'/%b"' % name.encode() not in charts])


def tell_embedded(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on embedded files that are not read, none where there are none."""
    if not names:
        return ()
    more = len(names) - _MAX_NAMED
    named = ", ".join(name[:_MAX_NAME_CHARS] for name in names[:_MAX_NAMED])
    named += f" and {more:,} more" if more > 0 else ""
    return (f"Files embedded in {path.name} are not read: {named}.",)


def safe_tree(path: Path, data: bytes) -> Any:
    """Return the root of an XML part. Raises UnreadableDocument."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, recover=False
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError) as error:
        raise _damage_error(path, error) from error


def _damage_error(path: Path, error: Exception) -> UnreadableDocument:
    reason = str(error).split("\n")[0].split(" (<")[0].rstrip(".")
    return UnreadableDocument(
        f"{path.name} is damaged or incomplete: a part of it is not valid XML ({reason})."
    )


def _name(entry: zipfile.ZipInfo) -> str:
    """Return the entry's name as the standard has it; some programs write backslashes."""
    return entry.filename.replace("\\", "/").lstrip("/")


def _plain_xml(path: Path, data: bytes) -> bytes:
    """The part in UTF-8 (UTF-16 is allowed too), in the namespaces that all libraries know."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in data[:4]:
        try:
            text = data.decode("utf-16" if data[0] >= 0xFE else _wide(data))
        except UnicodeDecodeError as error:
            raise _damage_error(path, error) from error
        data = re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1).encode("utf-8", "replace")
    # Entities of a declaration could grow without end, or read other files.
    if b"<!DOCTYPE" in data:
        raise UnreadableDocument(
            f"{path.name} has a document type declaration in a part, which is not allowed there."
        )
    return _STRICT.sub(_transitional, data) if b"purl.oclc.org/ooxml" in data else data


def _wide(data: bytes) -> str:
    return "utf-16-be" if data[0] == 0 else "utf-16-le"


def _transitional(match: re.Match[bytes]) -> bytes:
    base = _STRICT_FAMILIES.get(match[1])
    return base + match[2] if base else match[0]


def _mend_types(path: Path, data: bytes, parts: dict[str, bytes]) -> bytes:
    tree = safe_tree(path, data)
    known = {str(item.get("Extension")).lower() for item in tree.iter(f"{_TYPES_NS}Default")}
    endings = {name.rpartition(".")[2].lower() for name in parts if "." in name}
    for ending in sorted(endings - known):
        etree.SubElement(
            tree,
            f"{_TYPES_NS}Default",
            Extension=ending,
            ContentType="application/xml" if ending == "xml" else "application/octet-stream",
        )
    for item in tree.iter(f"{_TYPES_NS}Override"):
        # python-docx and python-pptx refuse templates and files with macros by their type alone.
        for kind, plain in _MAIN:
            if kind.search(item.get("ContentType", "")):
                item.set("ContentType", plain)
    return bytes(etree.tostring(tree))


def _mend_relations(path: Path, name: str, data: bytes, names: dict[str, str]) -> bytes:
    """Return the relations of a part without those that lead nowhere, named as the parts are."""
    tree = safe_tree(path, data)
    folder = posixpath.dirname(posixpath.dirname(name))
    for relation in list(tree.iter(_RELATION)):
        if relation.get("TargetMode") == "External":
            continue
        target = unquote(relation.get("Target", "")).partition("#")[0].replace("\\", "/")
        full = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        # Windows does not tell upper from lower case, so programs there write either.
        if full.lower() in names:
            relation.set("Target", "/" + names[full.lower()])
        else:
            # The libraries refuse the whole file for one relation to a missing part.
            relation.getparent().remove(relation)
    return bytes(etree.tostring(tree))


def check_archive(path: Path, entries: Sequence[zipfile.ZipInfo], max_bytes: int | None) -> None:
    """Check an archive by its directory, before any entry is unpacked. Raises EncryptedDocument or
    ArchiveBomb."""
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries) or 1
    check_totals(path, len(entries), total, max_bytes)
    if total > _RATIO_COUNTS_FROM and total / packed > _MAX_RATIO:
        raise ArchiveBomb(
            f"{path.name} would unpack to {total / packed:,.0f} times its size, "
            "which no honest document does."
        )
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise EncryptedDocument(f"{path.name} is protected by a password.")


def check_totals(path: Path, entries: int, size: int, max_bytes: int | None) -> None:
    """Raise ArchiveBomb for more packed files or bytes than an archive may have."""
    if entries > MAX_ENTRIES:
        raise ArchiveBomb(
            f"{path.name} holds {entries:,} packed files; the limit is {MAX_ENTRIES:,}."
        )
    if max_bytes is not None and size > max_bytes:
        raise bomb_error(path, max_bytes)


def _check_kind(path: Path, ending: str, names: Sequence[str]) -> None:
    if not _has_part(names, _PART[_SAME.get(ending, ending)]):
        kinds = (kind for kind, part in _PART.items() if _has_part(names, part))
        actual = next((f"a {kind} file" for kind in kinds), "an ordinary ZIP archive")
        raise WrongType(f"{path.name} ends in {ending}, but by its content it is {actual}.")


def _has_part(names: Sequence[str], part: str) -> bool:
    return any(name.lower().startswith(part) for name in names)


def bomb_error(path: Path, max_bytes: int) -> ArchiveBomb:
    return ArchiveBomb(
        f"{path.name} would unpack to more than {max_bytes / (1 << 20):,.0f} MB "
        "(a quarter of INGEST__MAX_FILE_MB)."
    )


@contextmanager
def translate_library_errors(path: Path) -> Iterator[None]:
    """What a library raises over a file is that file's failure.

    python-docx, python-pptx and openpyxl raise nearly everything over parts that are missing or not
    as they should be, so that no list of their errors would be whole.
    """
    try:
        yield
    except DocumentError:
        raise
    except RecursionError as error:
        raise UnreadableDocument(
            f"{path.name} cannot be read: its parts stand too deep in each other."
        ) from error
    except MemoryError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120].strip("'\". ") or type(error).__name__
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete and cannot be read ({reason})."
        ) from error


_TEMPLATE_DATES = ("2013-12-23T23:15:00", "2013-01-27T09:14:16", "2013-01-27T09:15:58")
"""Dates of the templates of python-docx and python-pptx, which say nothing about a document."""


_CORE_PART = re.compile(r"(?i)docProps/core\d*\.xml")
_CORE = {
    "creator": "author", "subject": "subject", "category": "category", "language": "language",
    "description": "description",
}  # fmt: skip
_DATES = ("created", "modified")
_MADE_BY = {"python-docx", "openpyxl", "Steve Canny"}
"""Authors that libraries write into their documents."""


def core_properties(path: Path, package: BinaryIO) -> tuple[str, dict[str, Any]]:
    """Return the title of an Open XML document, and its other properties as JSON values.

    What cannot be read is left out: a document is not worse for it.
    """
    with zipfile.ZipFile(package) as parts:
        name = next((item for item in parts.namelist() if _CORE_PART.fullmatch(item)), "")
        core = _texts(path, parts.read(name) if name else b"")
        more = parts.namelist()
        app = _texts(path, parts.read("docProps/app.xml") if "docProps/app.xml" in more else b"")
    package.seek(0)
    metadata: dict[str, Any] = {ours: core[key] for key, ours in _CORE.items() if core.get(key)}
    for key in _DATES:
        if (date := iso_date(core.get(key, ""))) and date not in _TEMPLATE_DATES:
            metadata[key] = date
    if keywords := keyword_list(core.get("keywords", "")):
        metadata["keywords"] = keywords
    if metadata.get("author") in _MADE_BY:
        del metadata["author"]
    if metadata.get("description", "").startswith("generated by python-"):
        del metadata["description"]
    if company := app.get("Company"):
        metadata["company"] = company
    return core.get("title", ""), metadata


def _texts(path: Path, data: bytes) -> dict[str, str]:
    """Return the texts of the elements below the root, by their local names."""
    try:
        root = safe_tree(path, data) if data.strip() else ()
    except UnreadableDocument:
        return {}
    found: dict[str, str] = {}
    for item in root:
        if isinstance(item.tag, str) and (text := " ".join((item.text or "").split())):
            found.setdefault(item.tag.rpartition("}")[2], text)
    return found


def iso_date(text: str) -> str:
    """Return a date of a property, to the second, in ISO 8601; "" for what is none."""
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        return ""
    return date.replace(microsecond=0, tzinfo=None).isoformat()
