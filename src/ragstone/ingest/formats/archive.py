"""ZIP archives: each member that can be read is a section under its name."""

import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_names
from ragstone.ingest.formats.members import LeftOut, member_blocks
from ragstone.ingest.formats.package import open_archive
from ragstone.ingest.formats.types import ZIP, Format
from ragstone.ingest.places import is_hidden

_READ_BYTES = 1 << 20
_UTF8 = 0x800
"""The flag of a member whose name is in UTF-8."""

_UNICODE_PATH, _FIELD = 0x7075, struct.Struct("<HHBL")
"""The field with a member's name in UTF-8: its kind, size, version, and a checksum of the other
name."""


def parse_archive(path: Path, ending: str, max_bytes: int) -> Parsed:
    """The members of an archive that unpacks to at most `max_bytes`, one on the disk at a time.

    Raises UnreadableDocument, EncryptedDocument or ArchiveBomb.
    """
    return parse_nested_archive(path, ending, max_bytes, 0)


def parse_nested_archive(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """Return the archive of a file that stands in `depth` others."""
    with open_archive(path, max_bytes):
        pass
    left_out = LeftOut()
    blocks = _blocks(path, max_bytes, left_out, depth)
    return Parsed(path.stem, blocks, last_notes=left_out.notes)


def entries_by_name(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """Return the members of an archive by their paths in it: no folders and links, and no path that
    leads out of it. Where a name stands there twice, the later one gets "-2" and so on."""
    infos = archive.infolist()
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry, name in zip(infos, _read_names(infos), strict=True):
        # A link may lead anywhere on the disk.
        if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16):
            continue
        parts = name.replace("\\", "/").split("/")
        name = "/".join(part for part in parts if part not in ("", ".", ".."))
        if name:
            entries[_unique(name, entries)] = entry
    return entries


def unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: BinaryIO) -> None:
    """Unpack a member; zipfile itself gives no more than the size that the directory states."""
    with archive.open(entry) as source:
        shutil.copyfileobj(source, file, _READ_BYTES)


def _blocks(path: Path, max_bytes: int, left_out: LeftOut, depth: int) -> Iterator[Block]:
    with open_archive(path, max_bytes) as archive:
        for name, entry in sorted(entries_by_name(archive).items()):
            if is_hidden(name):
                continue
            yield from member_blocks(
                name,
                lambda file, entry=entry: unpack(archive, entry, file),  # type: ignore[misc]
                max_bytes,
                left_out,
                level=1,
                depth=depth + 1,
            )


def _is_unicode(entry: zipfile.ZipInfo) -> bool:
    """Tell whether zipfile knows the name; it takes others for those of the first IBM PCs."""
    return bool(entry.flag_bits & _UTF8) or entry.filename.isascii()


def _read_names(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of members, also of those that are not said to be in UTF-8."""
    names = [item.filename if _is_unicode(item) else _unicode_path(item) for item in entries]
    old = [
        item.filename.encode("cp437") for item, name in zip(entries, names, strict=True) if not name
    ]
    decoded = iter(decode_names(old) if old else ())
    return [name or next(decoded) for name in names]


def _unicode_path(entry: zipfile.ZipInfo) -> str:
    """The name in UTF-8 that some programs write beside the one in their encoding; else empty."""
    extra = entry.extra
    while len(extra) > _FIELD.size:
        kind, size, _, checksum = _FIELD.unpack_from(extra)
        if kind == _UNICODE_PATH and checksum == zlib.crc32(entry.filename.encode("cp437")):
            return extra[_FIELD.size : 4 + size].decode("utf-8", "replace")
        extra = extra[4 + size :]
    return ""


def _unique(name: str, taken: Mapping[str, object]) -> str:
    stem, dot, ending = name.rpartition(".")
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{stem}-{number}.{ending}" if dot else f"{name}-{number}"
    return unique


ARCHIVE = Format("application/zip", parse_archive, magic=ZIP, nested=parse_nested_archive)
