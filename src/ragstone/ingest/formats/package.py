"""Office packages (ZIP files of XML): checked, then packed anew for the reader.

Packing anew has two reasons. The sizes that a ZIP file states may be lies, so they are measured
here while unpacking. And kreuzberg 4.10 loses character references ("R&amp;D" becomes "RD"), so
they are replaced by placeholders that `restored` turns back.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from ragstone.core.errors import ArchiveBomb, EncryptedDocument, UnreadableDocument, WrongType

_PART = {".docx": "word/", ".pptx": "ppt/", ".xlsx": "xl/"}
_MAX_ENTRIES = 20_000
_MAX_RATIO = 200
_RATIO_COUNTS_FROM = 10 << 20
"""Small files of repetitive XML compress better than any honest large one."""
_READ_BYTES = 1 << 20
_ENCRYPTED = 1
_PLACEHOLDERS = {"&": "\ufdd0", "<": "\ufdd1", ">": "\ufdd2", '"': "\ufdd3", "'": "\ufdd4"}
"""Code points that no text holds, but XML may."""
_NAMED = {b"amp": "&", b"lt": "<", b"gt": ">", b"quot": '"', b"apos": "'"}
_BACK = str.maketrans({mark: char for char, mark in _PLACEHOLDERS.items()})
_REFERENCE = re.compile(rb"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")


def repacked(path: Path, ending: str, max_bytes: int) -> bytes:
    """The package with its XML parts only, stored; at most `max_bytes` unpacked.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    try:
        with zipfile.ZipFile(path) as package:
            _check(path, ending, package.infolist(), max_bytes)
            return _uncompressed(path, package, max_bytes)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
        raise _damaged_error(path) from error
    except NotImplementedError as error:
        raise UnreadableDocument(
            f"{path.name} is packed in a way that cannot be read ({error})."
        ) from error


def restored(text: str) -> str:
    """The text with the placeholders of `repacked` turned back."""
    return text.translate(_BACK)


def _uncompressed(path: Path, package: zipfile.ZipFile, max_bytes: int) -> bytes:
    target = io.BytesIO()
    total = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for entry in package.infolist():
            if entry.is_dir() or not entry.filename.endswith((".xml", ".rels")):
                continue
            data = _unpack_entry(package, entry, max_bytes - total)
            if data is None:
                raise _bomb_error(path, max_bytes)
            total += len(data)
            copy.writestr(zipfile.ZipInfo(entry.filename), _without_references(data))
    return target.getvalue()


def _unpack_entry(package: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes | None:
    """The entry's bytes, None if they are more than there is room for."""
    parts: list[bytes] = []
    with package.open(entry) as file:
        while data := file.read(_READ_BYTES):
            room -= len(data)
            if room < 0:
                return None
            parts.append(data)
    return b"".join(parts)


def _without_references(data: bytes) -> bytes:
    if b"&" not in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data

    def placeholder(match: re.Match[bytes]) -> bytes:
        if match[1]:
            char = _NAMED[match[1]]
        else:
            code = int(match[2]) if match[2] else int(match[3], 16)
            allowed = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0x110000
            char = chr(code) if allowed else ""
        return _PLACEHOLDERS.get(char, char).encode()

    return _REFERENCE.sub(placeholder, data)


def _check(path: Path, ending: str, entries: Sequence[zipfile.ZipInfo], max_bytes: int) -> None:
    """Check the package by its directory, before any entry is unpacked."""
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries) or 1
    if len(entries) > _MAX_ENTRIES:
        raise ArchiveBomb(
            f"{path.name} holds {len(entries):,} packed files; the limit is {_MAX_ENTRIES:,}."
        )
    if total > max_bytes:
        raise _bomb_error(path, max_bytes)
    if total > _RATIO_COUNTS_FROM and total / packed > _MAX_RATIO:
        raise ArchiveBomb(
            f"{path.name} would unpack to {total / packed:,.0f} times its size, "
            "which no honest document does."
        )
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise EncryptedDocument(f"{path.name} is protected by a password.")
    if not _has_part(entries, _PART[ending]):
        kinds = (kind for kind, part in _PART.items() if _has_part(entries, part))
        actual = next((f"a {kind} file" for kind in kinds), "an ordinary ZIP archive")
        raise WrongType(f"{path.name} ends in {ending}, but by its content it is {actual}.")


def _has_part(entries: Sequence[zipfile.ZipInfo], part: str) -> bool:
    return any(entry.filename.startswith(part) for entry in entries)


def _bomb_error(path: Path, max_bytes: int) -> ArchiveBomb:
    return ArchiveBomb(
        f"{path.name} would unpack to more than {max_bytes / (1 << 20):,.0f} MB "
        "(INGEST__MAX_MEMORY_MB)."
    )


def _damaged_error(path: Path) -> UnreadableDocument:
    return UnreadableDocument(
        f"{path.name} is damaged or incomplete: it is not a whole ZIP package."
    )
