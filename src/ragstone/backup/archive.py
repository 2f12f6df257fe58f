"""One file of a backup: a ZIP of JSON lines and raw vectors, there as a whole or not at all.

    manifest.json                  what it holds; written last
    state/0000.jsonl               a line each: {"table": "documents", "row": {...}}
    index/0000/000000.jsonl        a line each: {"chunk": {...}, "vector": true, "tokens": 1234}
    index/0000/000000.vectors      32-bit floats, little-endian, of the lines that have a vector
    index/0000/000000.tokens       packed token vectors, one after the other
    originals.jsonl                a line for each upload that is kept:
                                   {"document": ..., "name": ..., "size": 1234, "sha256": ...}
    originals/000000               its content

An incremental backup has the whole state, and of the rest what the backups that it continues
(`chain`) lack. Its manifest names the one before it, and beside that it holds

    index/0000/gone                digests of the chunks of those backups that are there no more

and in the lines of uploads whose content those backups have: "kept": true.

Every part carries a checksum, and a file that was cut off has no directory at its end.
"""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ragstone.backup.members import LEVEL, Member, add, pack
from ragstone.core.chunk import Chunk
from ragstone.core.disk import disk_error
from ragstone.core.errors import InputError, StorageFull
from ragstone.core.records import Collection
from ragstone.ingest.handed import plain_name
from ragstone.ports import Row, Rows, Vectors

FORMAT = 1
"""Of a whole backup, which every version can restore."""

INCREMENTAL = 2
"""The format of an incremental one, which earlier versions must not take for a whole one."""

LARGEST_PART = 1_000_000_000
"""Bytes that a part of a backup may have when it is unpacked; ours have far less."""

LATEST = 1e11
"""Seconds since 1970 that every calendar knows."""

LARGEST_MANIFEST = 100_000_000
LARGEST_ORIGINAL = 16 * 2**30
"""Bytes that an upload may have. It is never in memory as a whole."""

SMALL = 16_000_000
"""Bytes of an upload that is read into memory, so that several are compressed at once."""

PIECE = 1 << 20
OPEN_FILES = Path("/proc/self/fd")
"""Where Linux shows the open files of a process, those without a name too."""

ORIGINALS = "originals.jsonl"
_DOCUMENT_ID = re.compile(r"[0-9a-f-]{1,64}")
_SIZES = re.compile(rb'"vector":(true|false),"tokens":(\d{1,12})\}$')
"""What every line of a chunk ends in."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
MANIFEST = "manifest.json"

CHECKED_AT_ONCE = 2
"""Batches that are read at once to check them."""

DIGEST = 16
"""Bytes of a chunk's digest."""

Digests = NDArray[np.bytes_]
"""Digests of chunks. Made a list, they would lose the zeros that they end in."""


class ChunkRecord(NamedTuple):
    """A chunk as a file holds it: its line, and the bytes of its vector and of its packed token
    vectors, which may be none."""

    line: bytes
    vector: bytes
    tokens: bytes

    @property
    def digest(self) -> bytes:
        """The same for the same chunk with the same vectors, and for no other."""
        hashed = hashlib.blake2b(self.line, digest_size=DIGEST)
        hashed.update(self.vector)
        hashed.update(self.tokens)
        return hashed.digest()


def digest_array(some: Iterable[bytes]) -> Digests:
    """Digests, one after the other."""
    found: Digests = np.frombuffer(b"".join(some), f"S{DIGEST}")
    return found


def _digests(records: Iterable[ChunkRecord]) -> Digests:
    return digest_array(record.digest for record in records)


def sort_digests(some: Iterable[bytes]) -> Digests:
    """Digests in an order in which they are found fast."""
    return np.sort(digest_array(some))


def places(wanted: Digests, among: Digests) -> NDArray[np.intp]:
    """Where each of some digests stands among sorted ones, -1 for one that does not."""
    if not len(among):
        return np.full(len(wanted), -1, np.intp)
    at = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    return np.where(among[at] == wanted, at, -1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some chunks, with the vectors and packed token vectors of those that have them, by id."""

    chunks: Sequence[Chunk]
    vectors: dict[str, Vectors]
    tokens: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """One collection of a backup: `batches` files of so many `chunks` in all. An incremental one
    takes `kept` others from the files before it, but for those that are `gone`; `content` is then a
    checksum of the digests of all."""

    collection: Collection
    chunks: int
    batches: int
    kept: int = 0
    gone: int = 0
    content: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is in every backup, whatever its name."""
        return self.collection.tenant, self.collection.id


@dataclass(frozen=True, slots=True)
class Base:
    """The file that an incremental backup continues, as it was then: its name, and the `id`, the
    hash and the time of the backup in it. Backups of earlier versions have no `id`."""

    name: str
    id: str
    sha256: str
    made: float


@dataclass(frozen=True, slots=True)
class Original:
    """The upload that a document was made from: the name of its file, its bytes and their hash. Of
    one that is `kept` an earlier file of the chain has the content."""

    document: str
    name: str
    size: int
    sha256: str
    kept: bool = False

    def line(self) -> dict[str, Any]:
        """Without `kept` where it is not: earlier versions do not know it."""
        return {name: value for name, value in asdict(self).items() if name != "kept" or value}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `made` is in seconds since 1970. Backups of earlier versions have no
    `originals`, and earlier versions restore everything else of a backup that has. `id` is its own,
    and an incremental one has a `base`."""

    version: str
    schema: str
    made: float
    rows: int
    state: int
    parts: tuple[ArchivePart, ...]
    format: int = FORMAT
    originals: int = 0
    id: str = ""
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """What a file was found to hold: the ids of its documents, and the digests of the chunks of
    each part."""

    documents: set[str]
    digests: Sequence[Digests]


def new_id() -> str:
    """An id that no backup has."""
    return uuid4().hex


def chunk_records(batch: Batch) -> list[ChunkRecord]:
    """Chunks as they are written."""
    found = []
    for chunk in batch.chunks:
        vector, tokens = batch.vectors.get(chunk.chunk_id), batch.tokens.get(chunk.chunk_id, b"")
        line = {"chunk": chunk.payload(), "vector": vector is not None, "tokens": len(tokens)}
        raw = b"" if vector is None else np.asarray(vector, "<f4").tobytes()
        found.append(ChunkRecord(_line(line), raw, tokens))
    return found


def pack_rows(number: int, table: str, rows: Sequence[Row]) -> list[Member]:
    """Some rows of the state."""
    lines = _lines({"table": table, "row": row} for row in rows)
    return [pack(_state_name(number), lines)]


def pack_batch(part: int, number: int, records: Sequence[ChunkRecord]) -> list[Member]:
    """Some chunks of the collection with this number."""
    parts = {
        "jsonl": b"".join(record.line + b"\n" for record in records),
        "vectors": b"".join(record.vector for record in records),
        "tokens": b"".join(record.tokens for record in records),
    }
    return [pack(_index_name(part, number, kind), data) for kind, data in parts.items()]


def pack_gone(part: int, gone: Digests) -> list[Member]:
    """The digests of what a collection has no more."""
    return [pack(_deletions_name(part), gone.tobytes())] if len(gone) else []


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
    """The upload of a document, without its content if its hash is `held`; None if it cannot be
    read."""
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
        """A file without a name where that can be had: nothing is left of it if this process is
        killed."""
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
        """The upload of a document; None, and nothing is written, if it cannot be opened."""
        name = _original_name(number)
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
            self._write(ORIGINALS, _lines(original.line() for original in originals))

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


class ArchiveReader:
    """Reads a backup; blocks. Raises InputError for a file that is none, or is damaged."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._zip = zipfile.ZipFile(file)
            if self._zip.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
                raise ValueError("the manifest is too large")
            self.manifest = _manifest(json.loads(self._zip.read(MANIFEST)))
        except FileNotFoundError as error:
            raise InputError(f"There is no file {file}.") from error
        except OSError as error:
            raise self._unreadable(error) from error
        except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError) as error:
            raise InputError(
                f"{file.name} is not a backup of Ragstone, or was cut off. Take another."
            ) from error

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(f"{self.file} cannot be read ({error.strerror}).")

    def hash(self) -> str:
        """The SHA-256 of the whole file, the one that is open, whatever has its name by now. No
        other thread may read it meanwhile."""
        opened, hashed = self._zip.fp, hashlib.sha256()
        assert opened is not None  # noqa: S101 - it is open
        try:
            opened.seek(0)
            while piece := opened.read(PIECE):
                hashed.update(piece)
        except OSError as error:
            raise self._unreadable(error) from error
        return hashed.hexdigest()

    def check(self, parse: bool = True) -> CheckedArchive:
        """Read everything once; raises InputError if a part is missing or damaged, or is not what
        the manifest says of it. Unless `parse`, chunks are held to their checksums alone."""
        originals = self.originals()
        self._check_names(originals)
        rows, documents, collections = 0, set[str](), []
        for table, some in self.rows():
            rows += len(some)
            documents.update(str(row.get("id")) for row in some if table == "documents")
            collections += [_describe_collection(row) for row in some if table == "collections"]
        if rows != self.manifest.rows:
            raise self.damage_error(_state_name(0))
        # What is restored is found by the state, and its chunks by the manifest.
        told = [_describe_collection(asdict(part.collection)) for part in self.manifest.parts]
        if sorted(told) != sorted(collections):
            raise self.damage_error(MANIFEST)
        for number, original in enumerate(originals):
            if original.document not in documents:
                raise self.damage_error(ORIGINALS)
            if not original.kept:
                self.copy_original(number, original)
        digests = []
        with ThreadPoolExecutor(CHECKED_AT_ONCE) as threads:
            for number, part in enumerate(self.manifest.parts):
                held = threads.map(
                    partial(self._read_digests, number, parse=parse), range(part.batches)
                )
                digests.append(sort_digests(held))
                if len(digests[-1]) != part.chunks:
                    raise self.damage_error(_index_name(number, 0, "jsonl"))
        return CheckedArchive(documents, digests)

    def _check_names(self, originals: Sequence[Original]) -> None:
        """Raise InputError unless every part is there once and nothing else is, and each can be
        held in memory."""
        manifest, held = self.manifest, {item.filename: item for item in self._zip.infolist()}
        wanted = manifest.state + 3 * sum(part.batches for part in manifest.parts)
        if wanted + 1 > len(held) or len(held) != len(self._zip.infolist()):
            raise self.damage_error(MANIFEST)
        names = [_state_name(number) for number in range(manifest.state)]
        names += [ORIGINALS] if manifest.originals else []
        for number, part in enumerate(manifest.parts):
            names += [_deletions_name(number)] if part.gone else []
            for batch in range(part.batches):
                names += [
                    _index_name(number, batch, kind) for kind in ("jsonl", "vectors", "tokens")
                ]
        missing = set(names) - set(held)
        if missing:
            raise self.damage_error(min(missing))
        uploads = {_original_name(at) for at, original in enumerate(originals) if not original.kept}
        for name in set(held) - set(names) - uploads - {MANIFEST}:
            raise self.damage_error(name)
        for name in names:
            if held[name].file_size > LARGEST_PART:
                raise self.damage_error(name)

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
            if len({item.document for item in found}) != len(found):
                raise ValueError("a document has several uploads")
            if any(item.kept for item in found) and self.manifest.base is None:
                raise ValueError("no other backup can have an upload")
        except (ValueError, TypeError) as error:
            raise self.damage_error(ORIGINALS) from error
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
            raise self.damage_error(name) from error
        if left or hashed.hexdigest() != original.sha256:
            raise self.damage_error(name)

    def read_gone(self, part: int) -> Digests:
        """The digests of the chunks of earlier files that the collection with this number has no
        more."""
        raw = self._read(_deletions_name(part)) if self.manifest.parts[part].gone else b""
        if len(raw) != DIGEST * self.manifest.parts[part].gone:
            raise self.damage_error(_deletions_name(part))
        return digest_array([raw])

    def batch(self, part: int, number: int) -> Batch:
        """Some chunks of the collection with this number."""
        return self._batch(part, number, self._records(part, number))

    def read_compared(self, part: int, number: int) -> tuple[Digests, Batch]:
        """As `batch`, with the digest of each."""
        records = self._records(part, number)
        return _digests(records), self._batch(part, number, records)

    def _read_digests(self, part: int, number: int, parse: bool) -> bytes:
        records = self._records(part, number)
        if parse:
            self._batch(part, number, records)
        return _digests(records).tobytes()

    def _records(self, part: int, number: int) -> list[ChunkRecord]:
        name = _index_name(part, number, "jsonl")
        vectors = self._read(_index_name(part, number, "vectors"))
        tokens = self._read(_index_name(part, number, "tokens"))
        width = 4 * self.manifest.parts[part].collection.dimensions
        found, at, start = [], 0, 0
        for line in self._read(name).splitlines():
            said = _SIZES.search(line)
            if said is None:
                raise self.damage_error(name)
            to = at + (width if said[1] == b"true" else 0)
            end = start + int(said[2])
            found.append(ChunkRecord(line, vectors[at:to], tokens[start:end]))
            at, start = to, end
        if (at, start) != (len(vectors), len(tokens)):
            raise self.damage_error(name)
        return found

    def _batch(self, part: int, number: int, records: Sequence[ChunkRecord]) -> Batch:
        try:
            chunks = [Chunk.from_payload(json.loads(record.line)["chunk"]) for record in records]
        except (KeyError, ValueError, TypeError) as error:
            raise self.damage_error(_index_name(part, number, "jsonl")) from error
        key = self.manifest.parts[part].key
        if any((chunk.tenant, chunk.collection) != key for chunk in chunks):
            raise self.damage_error(_index_name(part, number, "jsonl"))
        both = list(zip(chunks, records, strict=True))
        vectors = {
            chunk.chunk_id: np.frombuffer(item.vector, "<f4").astype(np.float32)
            for chunk, item in both
            if item.vector
        }
        return Batch(chunks, vectors, {c.chunk_id: item.tokens for c, item in both if item.tokens})

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        try:
            for line in self._read(name).splitlines():
                yield dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise self.damage_error(name) from error

    def _read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
            raise self.damage_error(name) from error

    def damage_error(self, name: str) -> InputError:
        """The error that says that a part of the file is not what it must be."""
        return InputError(f"The backup {self.file.name} is damaged at {name}. Take another.")

    def close(self) -> None:
        self._zip.close()


def _describe_collection(collection: Mapping[str, Any]) -> list[str]:
    """What the state and the manifest both say of a collection. Before collections had ids, their
    names were all that told them apart."""
    said = {"id": collection.get("name"), "late": 0, **collection}
    names = ("tenant", "id", "name", "model", "fingerprint", "dimensions", "language", "late")
    return [str(said.get(name)) for name in names]


def _manifest(data: Any) -> Manifest:
    if not isinstance(data, dict):
        raise TypeError("the manifest is not an object")
    if data.get("format") not in (FORMAT, INCREMENTAL):
        raise InputError(
            f"The backup has the format {data.get('format')!r}, and this Ragstone reads those up "
            f"to {INCREMENTAL}. Update Ragstone."
        )
    base = Base(**data["base"]) if data.get("base") else None
    if (data["format"] == INCREMENTAL) != (base is not None):
        raise ValueError("only an incremental backup continues another, and it always does")
    # Before collections had ids, their names were all that told them apart.
    parts = tuple(
        ArchivePart(
            Collection(**{"id": part["collection"]["name"], **part["collection"]}),
            int(part["chunks"]),
            int(part["batches"]),
            int(part.get("kept", 0)),
            int(part.get("gone", 0)),
            str(part.get("content", "")),
        )
        for part in data["parts"]
    )
    known = {field.name for field in fields(Manifest)}
    made = Manifest(
        **{k: v for k, v in {**data, "parts": parts, "base": base}.items() if k in known}
    )
    counts = [made.rows, made.state, made.originals]
    counts += [n for item in parts for n in (item.chunks, item.batches, item.kept, item.gone)]
    if not 0 <= made.made <= LATEST:
        raise ValueError("the time is none")
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise ValueError("a count is not a number")
    if base is None and any(item.kept or item.gone for item in parts):
        raise ValueError("a whole backup takes nothing from others")
    if base is not None and not _is_file_name(base.name):
        raise ValueError("the file that it continues is elsewhere")
    checked: Manifest = TypeAdapter(Manifest).validate_python(asdict(made))
    return checked


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and Path(name).name == name and name not in ("", ".", "..")


def _is_plain(original: Original) -> bool:
    """Whether it can be a file of ours: its folder and its name lead nowhere else."""
    return bool(
        _DOCUMENT_ID.fullmatch(original.document)
        and original.name
        and plain_name(original.name) == original.name
        and isinstance(original.size, int)
        and isinstance(original.kept, bool)
        and 0 <= original.size <= LARGEST_ORIGINAL
        and _SHA256.fullmatch(original.sha256)
    )


def _original_name(number: int) -> str:
    return f"originals/{number:06}"


def _lines(values: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(_line(value) + b"\n" for value in values)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _state_name(number: int) -> str:
    return f"state/{number:04}.jsonl"


def _deletions_name(part: int) -> str:
    return f"index/{part:04}/gone"


def _index_name(part: int, number: int, kind: str) -> str:
    return f"index/{part:04}/{number:06}.{kind}"


@contextmanager
def _disk_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = isinstance(meant := disk_error(error, file), StorageFull)
        said = InputError(f"{file} cannot be written ({error.strerror}).")
        raise (meant if full and meant else said) from error
