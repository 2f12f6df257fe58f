"""Members of a ZIP that are compressed before they are written, so that threads can do it."""

import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 1
"""The fastest compression: vectors hardly get smaller, and text does at once."""


@dataclass(frozen=True, slots=True)
class Member:
    """A compressed file of a ZIP: its name, how large it was, and the checksum of what it was."""

    name: str
    size: int
    checksum: int
    packed: bytes


def packed(name: str, data: bytes) -> Member:
    """Compress `data`; other threads go on meanwhile."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    done = compressor.compress(data) + compressor.flush()
    return Member(name, len(data), zlib.crc32(data), done)


def add(archive: zipfile.ZipFile, members: Sequence[Member]) -> None:
    """Write compressed members to a ZIP that is being written, which `zipfile` cannot."""
    to = archive.fp
    assert to is not None  # noqa: S101 - it is open
    for one in members:
        info = zipfile.ZipInfo(one.name, time.localtime()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        info.file_size, info.CRC, info.compress_size = one.size, one.checksum, len(one.packed)
        to.seek(archive.start_dir)
        info.header_offset = archive.start_dir
        to.write(info.FileHeader(zip64=False))
        to.write(one.packed)
        archive.filelist.append(info)
        archive.NameToInfo[one.name] = info
        archive.start_dir = to.tell()
