"""ZIP archives: each member that can be read is a section under its name."""

import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import likeliest_encoding
from ragstone.ingest.formats.members import is_readable, member_blocks
from ragstone.ingest.formats.package import open_archive
from ragstone.ingest.formats.types import ZIP, Format

_READ_BYTES = 1 << 20
_UTF8 = 0x800
"""The flag of a member whose name is in UTF-8."""


def parse_archive(path: Path, ending: str, max_bytes: int) -> Parsed:
    """The members of an archive that unpacks to at most `max_bytes`, one on the disk at a time.

    Raises UnreadableDocument, EncryptedDocument or ArchiveBomb.
    """
    return parse_archive_in(path, ending, max_bytes, 0)


def parse_archive_in(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """The archive of a file that stands in `depth` others."""
    with open_archive(path, max_bytes):
        pass
    return Parsed(path.stem, _blocks(path, max_bytes, depth))


def _blocks(path: Path, max_bytes: int, depth: int) -> Iterator[Block]:
    with open_archive(path, max_bytes) as archive:
        for entry in sorted(archive.infolist(), key=lambda one: one.filename):
            name = _shown_name(entry)
            if not name or not is_readable(name):
                continue
            yield from member_blocks(
                path,
                name,
                lambda file, entry=entry: _unpack(archive, entry, file),  # type: ignore[misc]
                max_bytes,
                level=1,
                depth=depth + 1,
            )


def _shown_name(entry: zipfile.ZipInfo) -> str:
    """The path of a member as it is shown, "" for folders, links and hidden files."""
    name = _decode_name(entry).replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return "" if entry.is_dir() or linked or hidden else "/".join(parts)


def _decode_name(entry: zipfile.ZipInfo) -> str:
    """Return a member's name, in its likeliest encoding where the archive does not say that it is
    UTF-8: zipfile then takes it for that of the first IBM PCs."""
    if entry.flag_bits & _UTF8 or entry.filename.isascii():
        return entry.filename
    data = entry.filename.encode("cp437")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(likeliest_encoding(data), "replace")


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: BinaryIO) -> None:
    """Unpack a member; zipfile itself gives no more than the size that the directory states."""
    with archive.open(entry) as source:
        shutil.copyfileobj(source, file, _READ_BYTES)


ARCHIVE = Format("application/zip", parse_archive, magic=ZIP, nested=parse_archive_in)
