"""Writes one file of a backup; what is compressed is a member of its ZIP before it is written, so
that threads can do it."""

import hashlib
import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ragstone.backup.manifest import (
    MANIFEST,
    ORIGINALS,
    PIECE,
    Batch,
    ChunkRecord,
    Digests,
    Manifest,
    Original,
    deletions_name,
    encode_line,
    encode_lines,
    index_name,
    original_name,
    state_name,
)
from ragstone.core.disk import disk_error
from ragstone.core.errors import InputError, StorageFull
from ragstone.ports import Row

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
    """Tell whether something gets smaller by compressing it, as far as its middle tells."""
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


SMALL = 16_000_000
"""Bytes of an upload that is read into memory, so that several are compressed at once."""

OPEN_FILES = Path("/proc/self/fd")
"""Where Linux shows the open files of a process, those without a name too."""


def chunk_records(batch: Batch) -> list[ChunkRecord]:
    """Return chunks as they are written."""
    found = []
    for chunk in batch.chunks:
        vector, tokens = batch.vectors.get(chunk.chunk_id), batch.tokens.get(chunk.chunk_id, b"")
        line = {"chunk": chunk.payload(), "vector": vector is not None, "tokens": len(tokens)}
        raw = b"" if vector is None else np.asarray(vector, "<f4").tobytes()
        found.append(ChunkRecord(encode_line(line), raw, tokens))
    return found


def pack_rows(number: int, table: str, rows: Sequence[Row]) -> list[Member]:
    """Return some rows of the state."""
    lines = encode_lines({"table": table, "row": row} for row in rows)
    return [pack(state_name(number), lines)]


def pack_batch(part: int, number: int, records: Sequence[ChunkRecord]) -> list[Member]:
    """Return some chunks of the collection with this number."""
    parts = {
        "jsonl": b"".join(record.line + b"\n" for record in records),
        "vectors": b"".join(record.vector for record in records),
        "tokens": b"".join(record.tokens for record in records),
    }
    return [pack(index_name(part, number, kind), data) for kind, data in parts.items()]


def pack_gone(part: int, gone: Digests) -> list[Member]:
    """Return the digests of what a collection has no more."""
    return [pack(deletions_name(part), gone.tobytes())] if len(gone) else []


@dataclass(frozen=True, slots=True)
class PackedOriginal:
    """An upload to be written: `member` is its content. That of one that is `kept` is not written,
    and that of a large one is read from its `file` when it is."""

    original: Original
    file: Path
    member: Member | None = None


def pack_original(
    document: str, file: Path, held: Callable[[str], bool] | None = None
) -> PackedOriginal | None:
    """Return the upload of a document, without its content if its hash is `held`; None if it cannot
    be read."""
    try:
        with file.open("rb") as source:
            data = source.read(SMALL + 1)
            size, hashed = len(data), hashlib.sha256(data)
            while size > SMALL and held and (piece := source.read(PIECE)):
                size += len(piece)
                hashed.update(piece)
    except OSError:
        return None
    kept = held is not None and held(hashed.hexdigest())
    original = Original(document, file.name, size, hashed.hexdigest(), kept)
    whole = size <= SMALL and not kept
    return PackedOriginal(original, file, pack("", data) if whole else None)


class ArchiveWriter:
    """Writes a backup beside its place, and moves it there when it is whole; blocks."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._draft = file.with_name(f".{file.name}.{os.getpid()}")
        self._nameless = False

    def __enter__(self) -> Self:
        with _disk_errors(self._file):
            self._handle = os.fdopen(self._open_unnamed(), "wb")
        self._zip = zipfile.ZipFile(self._handle, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        return self

    def _open_unnamed(self) -> int:
        """Return a file without a name where that can be had: nothing is left of it if this process
        is killed."""
        if hasattr(os, "O_TMPFILE") and OPEN_FILES.is_dir():
            with suppress(OSError):
                handle = os.open(self._file.parent, os.O_RDWR | os.O_TMPFILE, 0o600)
                self._nameless = True
                return handle
        return os.open(self._draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def add(self, members: Sequence[Member]) -> None:
        """Write what is compressed already."""
        with _disk_errors(self._file):
            add(self._zip, members)

    def original(self, number: int, upload: PackedOriginal) -> Original | None:
        """Return the upload of a document; None, and nothing is written, if it cannot be opened."""
        name = original_name(number)
        if upload.member:
            self.add([replace(upload.member, name=name)])
        if upload.member or upload.original.kept:
            return upload.original
        try:
            source = upload.file.open("rb")
        except OSError:
            return None
        size, hashed = 0, hashlib.sha256()
        with source, _disk_errors(self._file), self._zip.open(name, "w", force_zip64=True) as to:
            while piece := source.read(PIECE):
                size += len(piece)
                hashed.update(piece)
                to.write(piece)
        return replace(upload.original, size=size, sha256=hashed.hexdigest())

    def originals(self, originals: Sequence[Original]) -> None:
        """What was written by `original`, in that order."""
        if originals:
            self._write(ORIGINALS, encode_lines(original.line() for original in originals))

    def close(self, manifest: Manifest) -> int:
        """Finish the file, on the disk and in its place; how many bytes it has."""
        self._write(MANIFEST, json.dumps(asdict(manifest)).encode())
        with _disk_errors(self._file):
            self._zip.close()
            self._handle.flush()
            os.fsync(self._handle.fileno())
            size = os.fstat(self._handle.fileno()).st_size
            self._put()
            self._handle.close()
            return size

    def _put(self) -> None:
        """Give the file its name, for ever."""
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            if self._nameless:
                # With a folder to begin at, which this place does not need, links are followed.
                place = OPEN_FILES / str(self._handle.fileno())
                os.link(place, self._file, src_dir_fd=folder, follow_symlinks=True)
            else:
                self._draft.replace(self._file)
            # The name of a file is in its folder, which a power cut may forget.
            os.fsync(folder)
        finally:
            os.close(folder)

    def _write(self, name: str, data: bytes) -> None:
        with _disk_errors(self._file):
            self._zip.writestr(name, data)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with suppress(OSError, ValueError):  # It ends its file, which goes, or is closed already.
            self._zip.close()
        self._handle.close()
        self._draft.unlink(missing_ok=True)


@contextmanager
def _disk_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = isinstance(meant := disk_error(error, file), StorageFull)
        said = InputError(f"{file} cannot be written ({error.strerror}).")
        raise (meant if full and meant else said) from error
