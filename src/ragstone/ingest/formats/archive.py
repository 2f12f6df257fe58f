"""ZIP archives: each member that can be read is a section under its name."""

import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import likeliest_encoding
from ragstone.ingest.formats.members import LeftOut, member_blocks
from ragstone.ingest.formats.package import open_archive
from ragstone.ingest.formats.types import ZIP, Format
from ragstone.ingest.places import is_hidden

_READ_BYTES = 1 << 20
_UTF8 = 0x800
"""The flag of a member whose name is in UTF-8."""


def parse_archive(path: Path, ending: str, max_bytes: int) -> Parsed:
    """The members of an archive that unpacks to at most `max_bytes`, one on the disk at a time.

    Raises UnreadableDocument, EncryptedDocument or ArchiveBomb.
    """
    return parse_nested_archive(path, ending, max_bytes, 0)


def parse_nested_archive(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """The archive of a file that stands in `depth` others."""
    with open_archive(path, max_bytes):
        pass
    left_out = LeftOut()
    blocks = _blocks(path, max_bytes, left_out, depth)
    return Parsed(path.stem, blocks, last_notes=left_out.notes)


def entries_by_name(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """The members of an archive by their paths in it: no folders and links, and no path that leads
    out of it. Where a name stands there twice, the later one gets "-2" and so on."""
    encoding = _names_encoding(archive)
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        # A link may lead anywhere on the disk.
        if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16):
            continue
        name = entry.filename
        if not _is_unicode(entry):
            name = name.encode("cp437").decode(encoding, "replace")
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
    """Whether zipfile knows the name; it takes others for those of the first IBM PCs."""
    return bool(entry.flag_bits & _UTF8) or entry.filename.isascii()


def _names_encoding(archive: zipfile.ZipFile) -> str:
    """The likeliest encoding of the names that are not said to be in UTF-8; all of an archive are
    written by one program."""
    names = [item.filename for item in archive.infolist() if not _is_unicode(item)]
    data = "\n".join(names).encode("cp437")
    try:
        data.decode()
    except UnicodeDecodeError:
        return likeliest_encoding(data)
    return "utf-8"


def _unique(name: str, taken: Mapping[str, object]) -> str:
    stem, dot, ending = name.rpartition(".")
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{stem}-{number}.{ending}" if dot else f"{name}-{number}"
    return unique


ARCHIVE = Format("application/zip", parse_archive, magic=ZIP, nested=parse_nested_archive)
