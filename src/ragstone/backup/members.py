"""Members of a ZIP that are compressed before they are written, so that threads can do it."""

import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 1
"""The fastest compression."""

SAMPLE = 1 << 16
"""Bytes from the middle by which it is decided whether all of it is compressed."""

WORTH = 0.9
"""What hardly gets smaller is not compressed: numbers of vectors, pictures, most uploads. Of a
backup that would be most of the work."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a ZIP as it is written, `pack` perhaps: its name, how large it was, and the
    checksum of what it was."""

    name: str
    size: int
    checksum: int
    data: bytes
    packed: bool


def pack(name: str, data: bytes) -> Member:
    """Compress `data` if that is worth it; other threads go on meanwhile."""
    if is_worth(data):
        return Member(name, len(data), zlib.crc32(data), _deflate(data), packed=True)
    return Member(name, len(data), zlib.crc32(data), data, packed=False)


def is_worth(data: bytes) -> bool:
    """Whether something gets smaller by compressing it, as far as its middle tells."""
    middle = max(0, (len(data) - SAMPLE) // 2)
    sample = data[middle : middle + SAMPLE]
    return len(_deflate(sample)) < WORTH * len(sample)


def _deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def add(archive: zipfile.ZipFile, members: Sequence[Member]) -> None:
    """Write members as they are to a ZIP that is being written, which `zipfile` does not."""
    to = archive.fp
    assert to is not None  # noqa: S101 - it is open
    for member in members:
        info = zipfile.ZipInfo(member.name, time.localtime()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if member.packed else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        info.file_size, info.CRC, info.compress_size = (
            member.size,
            member.checksum,
            len(member.data),
        )
        to.seek(archive.start_dir)
        info.header_offset = archive.start_dir
        to.write(info.FileHeader(zip64=False))
        to.write(member.data)
        archive.filelist.append(info)
        archive.NameToInfo[member.name] = info
        archive.start_dir = to.tell()
