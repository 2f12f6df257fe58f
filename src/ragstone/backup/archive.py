"""The file of a backup: a ZIP of JSON lines and raw vectors, there as a whole or not at all.

    manifest.json                  what it holds; written last
    state/0000.jsonl               a line each: {"table": "documents", "row": {...}}
    index/0000/000000.jsonl        a line each: {"chunk": {...}, "vector": true, "tokens": 1234}
    index/0000/000000.vectors      32-bit floats, little-endian, of the lines that have a vector
    index/0000/000000.tokens       packed token vectors, one after the other
    originals.jsonl                a line for each upload that is kept:
                                   {"document": ..., "name": ..., "size": 1234, "sha256": ...}
    originals/000000               its content

Every part carries a checksum, and a file that was cut off has no directory at its end.
"""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from pydantic import TypeAdapter

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError, StorageFull
from ragstone.core.records import Collection
from ragstone.ingest.handed import plain_name
from ragstone.ports import Row, Rows, Vectors

FORMAT = 1
LARGEST_PART = 1_000_000_000
"""Bytes that a part of a backup may have when it is unpacked; ours have far less."""

LARGEST_MANIFEST = 100_000_000
LARGEST_ORIGINAL = 16 * 2**30
"""Bytes that an upload may have. It is never in memory as a whole."""

PIECE = 1 << 20
ORIGINALS = "originals.jsonl"
_DOCUMENT_ID = re.compile(r"[0-9a-f-]{1,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some chunks, with the vectors and packed token vectors of those that have them, by id."""

    chunks: Sequence[Chunk]
    vectors: dict[str, Vectors]
    tokens: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """One collection of a backup: `batches` files of so many `chunks` in all."""

    collection: Collection
    chunks: int
    batches: int


@dataclass(frozen=True, slots=True)
class Original:
    """The upload that a document was made from: the name of its file, its bytes and their hash."""

    document: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `made` is in seconds since 1970. Backups of earlier versions have no
    `originals`, and earlier versions restore everything else of a backup that has."""

    version: str
    schema: str
    made: float
    rows: int
    state: int
    parts: tuple[ArchivePart, ...]
    format: int = FORMAT
    originals: int = 0


class ArchiveWriter:
    """Writes a backup beside its place, and moves it there when it is whole; blocks."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._draft = file.with_name(f".{file.name}.{os.getpid()}")

    def __enter__(self) -> Self:
        with _disk_errors(self._file):
            handle = os.open(self._draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._handle = os.fdopen(handle, "wb")
        self._zip = zipfile.ZipFile(self._handle, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        return self

    def rows(self, number: int, table: str, rows: Sequence[Row]) -> None:
        """Some rows of the state."""
        self._write(_state_name(number), _lines({"table": table, "row": row} for row in rows))

    def batch(self, part: int, number: int, batch: Batch) -> None:
        """Some chunks of the collection with this number."""
        ids = [chunk.chunk_id for chunk in batch.chunks]
        lines = (
            {
                "chunk": chunk.payload(),
                "vector": chunk.chunk_id in batch.vectors,
                "tokens": len(batch.tokens.get(chunk.chunk_id, b"")),
            }
            for chunk in batch.chunks
        )
        vectors = [np.asarray(batch.vectors[i], "<f4").tobytes() for i in ids if i in batch.vectors]
        self._write(_index_name(part, number, "jsonl"), _lines(lines))
        self._write(_index_name(part, number, "vectors"), b"".join(vectors))
        self._write(
            _index_name(part, number, "tokens"), b"".join(batch.tokens.get(i, b"") for i in ids)
        )

    def original(self, number: int, document: str, file: Path) -> Original | None:
        """The upload of a document; None, and nothing is written, if it cannot be opened."""
        try:
            source = file.open("rb")
        except OSError:
            return None
        size, hashed = 0, hashlib.sha256()
        name = _original_name(number)
        with source, _disk_errors(self._file), self._zip.open(name, "w", force_zip64=True) as to:
            while piece := source.read(PIECE):
                size += len(piece)
                hashed.update(piece)
                to.write(piece)
        return Original(document, file.name, size, hashed.hexdigest())

    def originals(self, originals: Sequence[Original]) -> None:
        """What was written by `original`, in that order."""
        if originals:
            self._write(ORIGINALS, _lines(asdict(one) for one in originals))

    def close(self, manifest: Manifest) -> int:
        """Finish the file, on the disk and in its place; how many bytes it has."""
        self._write(MANIFEST, json.dumps(asdict(manifest)).encode())
        with _disk_errors(self._file):
            self._zip.close()
            self._handle.flush()
            os.fsync(self._handle.fileno())
            self._handle.close()
            self._draft.replace(self._file)
            return self._file.stat().st_size

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


class ArchiveReader:
    """Reads a backup; blocks. Raises InputError for a file that is none, or is damaged."""

    def __init__(self, file: Path) -> None:
        self._name = file.name
        try:
            self._zip = zipfile.ZipFile(file)
            if self._zip.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
                raise ValueError("the manifest is too large")
            self.manifest = _manifest(json.loads(self._zip.read(MANIFEST)))
        except FileNotFoundError as error:
            raise InputError(f"There is no file {file}.") from error
        except OSError as error:
            raise InputError(f"{file} cannot be read ({error.strerror}).") from error
        except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError) as error:
            raise InputError(
                f"{file.name} is no backup of Ragstone, or was cut off. Take another."
            ) from error

    def check(self) -> set[str]:
        """Read everything once; raises InputError if a part is missing or damaged. The ids of its
        documents."""
        self._check_names()
        rows, documents = 0, set[str]()
        for table, some in self.rows():
            rows += len(some)
            documents.update(str(row.get("id")) for row in some if table == "documents")
        if rows != self.manifest.rows:
            raise self._damaged_error(_state_name(0))
        for number, original in enumerate(self.originals()):
            if original.document not in documents:
                raise self._damaged_error(ORIGINALS)
            self.copy_original(number, original)
        for number, part in enumerate(self.manifest.parts):
            chunks = sum(len(batch.chunks) for batch in self.batches(number))
            if chunks != part.chunks:
                raise self._damaged_error(_index_name(number, 0, "jsonl"))
        return documents

    def _check_names(self) -> None:
        """Raise InputError unless every part is there once, and can be held in memory."""
        manifest, held = self.manifest, {one.filename: one for one in self._zip.infolist()}
        wanted = manifest.state + 3 * sum(part.batches for part in manifest.parts)
        if wanted + 1 > len(held) or len(held) != len(self._zip.infolist()):
            raise self._damaged_error(MANIFEST)
        names = [_state_name(number) for number in range(manifest.state)]
        names += [ORIGINALS] if manifest.originals else []
        for number, part in enumerate(manifest.parts):
            for batch in range(part.batches):
                names += [
                    _index_name(number, batch, kind) for kind in ("jsonl", "vectors", "tokens")
                ]
        missing = set(names) - set(held)
        if missing:
            raise self._damaged_error(min(missing))
        for name in names:
            if held[name].file_size > LARGEST_PART:
                raise self._damaged_error(name)

    def rows(self) -> Iterator[Rows]:
        """The state, table by table."""
        for number in range(self.manifest.state):
            lines = self._lines(_state_name(number))
            for table, group in groupby(lines, key=lambda line: str(line.get("table"))):
                yield table, [dict(line.get("row", ())) for line in group]

    def originals(self) -> list[Original]:
        """The uploads, in the order of their numbers."""
        if not self.manifest.originals:
            return []
        try:
            found = [Original(**line) for line in self._lines(ORIGINALS)]
            if len(found) != self.manifest.originals or not all(map(_is_plain, found)):
                raise ValueError("an upload is none")
            if len({one.document for one in found}) != len(found):
                raise ValueError("a document has several uploads")
        except (ValueError, TypeError) as error:
            raise self._damaged_error(ORIGINALS) from error
        return found

    def copy_original(self, number: int, original: Original, to: BinaryIO | None = None) -> None:
        """Read an upload, and write it `to` a file; raises InputError unless it is what its line
        says."""
        name, left, hashed = _original_name(number), original.size, hashlib.sha256()
        try:
            with self._zip.open(name) as source:
                while piece := source.read(min(PIECE, left + 1)):
                    left -= len(piece)
                    if left < 0:
                        break
                    hashed.update(piece)
                    if to is not None:
                        to.write(piece)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
            raise self._damaged_error(name) from error
        if left or hashed.hexdigest() != original.sha256:
            raise self._damaged_error(name)

    def batches(self, part: int) -> Iterator[Batch]:
        """The chunks of the collection with this number."""
        for number in range(self.manifest.parts[part].batches):
            yield self._batch(part, number)

    def _batch(self, part: int, number: int) -> Batch:
        name = _index_name(part, number, "jsonl")
        lines = list(self._lines(name))
        try:
            chunks = [Chunk.from_payload(line["chunk"]) for line in lines]
            with_vector = [
                c.chunk_id for c, line in zip(chunks, lines, strict=True) if line["vector"]
            ]
            sizes = [int(line["tokens"]) for line in lines]
            raw = np.frombuffer(self._read(_index_name(part, number, "vectors")), "<f4")
            dimensions = self.manifest.parts[part].collection.dimensions
            vectors = raw.reshape(len(with_vector), dimensions).astype(np.float32)
        except (KeyError, ValueError, TypeError) as error:
            raise self._damaged_error(name) from error
        tokens, packed, at = {}, self._read(_index_name(part, number, "tokens")), 0
        for chunk, size in zip(chunks, sizes, strict=True):
            if size:
                tokens[chunk.chunk_id] = packed[at : at + size]
            at += size
        if at != len(packed) or min(sizes, default=0) < 0:
            raise self._damaged_error(name)
        return Batch(chunks, dict(zip(with_vector, vectors, strict=True)), tokens)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        try:
            for line in self._read(name).splitlines():
                yield dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise self._damaged_error(name) from error

    def _read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
            raise self._damaged_error(name) from error

    def _damaged_error(self, name: str) -> InputError:
        return InputError(f"The backup {self._name} is damaged at {name}. Take another.")

    def close(self) -> None:
        self._zip.close()


def _manifest(data: Any) -> Manifest:
    if not isinstance(data, dict):
        raise TypeError("the manifest is no object")
    if data.get("format") != FORMAT:
        raise InputError(
            f"The backup has the format {data.get('format')!r}, and this Ragstone reads {FORMAT}. "
            "Update Ragstone."
        )
    # Before collections had ids, their names were all that told them apart.
    parts = tuple(
        ArchivePart(
            Collection(**{"id": part["collection"]["name"], **part["collection"]}),
            int(part["chunks"]),
            int(part["batches"]),
        )
        for part in data["parts"]
    )
    known = {field.name for field in fields(Manifest)}
    made = Manifest(**{k: v for k, v in {**data, "parts": parts}.items() if k in known})
    counts = [made.rows, made.state, made.originals]
    counts += [n for one in parts for n in (one.chunks, one.batches)]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise ValueError("a count is no number")
    checked: Manifest = TypeAdapter(Manifest).validate_python(asdict(made))
    return checked


def _is_plain(original: Original) -> bool:
    """Whether it can be a file of ours: its folder and its name lead nowhere else."""
    return bool(
        _DOCUMENT_ID.fullmatch(original.document)
        and original.name
        and plain_name(original.name) == original.name
        and isinstance(original.size, int)
        and 0 <= original.size <= LARGEST_ORIGINAL
        and _SHA256.fullmatch(original.sha256)
    )


def _original_name(number: int) -> str:
    return f"originals/{number:06}"


def _lines(values: Iterator[dict[str, Any]] | Any) -> bytes:
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def _state_name(number: int) -> str:
    return f"state/{number:04}.jsonl"


def _index_name(part: int, number: int, kind: str) -> str:
    return f"index/{part:04}/{number:06}.{kind}"


@contextmanager
def _disk_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == 28:
            raise StorageFull(f"The disk that {file} is on is full. Free some space.") from error
        raise InputError(f"{file} cannot be written ({error.strerror}).") from error
