"""Reads one file of a backup, and checks it."""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ragstone.backup.manifest import (
    DIGEST,
    MANIFEST,
    ORIGINALS,
    PIECE,
    Batch,
    ChunkRecord,
    Digests,
    Original,
    deletions_name,
    digest_array,
    index_name,
    original_name,
    parse_manifest,
    sort_digests,
    state_name,
)
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.ingest.uploads import plain_name
from ragstone.ports import Rows

MAX_PART_BYTES = 1_000_000_000
"""Bytes that a part of a backup may have when it is unpacked; ours have far less."""

MAX_MANIFEST_BYTES = 100_000_000

MAX_ORIGINAL_BYTES = 16 * 2**30
"""Bytes that an upload may have. It is never in memory as a whole."""

_DOCUMENT_ID = re.compile(r"[0-9a-f-]{1,64}")

_SIZES = re.compile(rb'"vector":(true|false),"tokens":(\d{1,12})\}$')
"""What every line of a chunk ends in."""

_SHA256 = re.compile(r"[0-9a-f]{64}")

CHECKED_AT_ONCE = 2
"""Batches that are read at once to check them."""


def _digests(records: Iterable[ChunkRecord]) -> Digests:
    return digest_array(record.digest for record in records)


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """What a file was found to hold: the ids of its documents, and the digests of the chunks of
    each part."""

    documents: set[str]
    digests: Sequence[Digests]


class ArchiveReader:
    """Reads a backup; blocks. Raises InputError for a file that is none, or is damaged."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._zip = zipfile.ZipFile(file)
            if self._zip.getinfo(MANIFEST).file_size > MAX_MANIFEST_BYTES:
                raise ValueError("the manifest is too large")
            self.manifest = parse_manifest(json.loads(self._zip.read(MANIFEST)))
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
        """Return the SHA-256 of the whole file, the one that is open, whatever has its name by now.
        No other thread may read it meanwhile."""
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
            raise self.damage_error(state_name(0))
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
                    raise self.damage_error(index_name(number, 0, "jsonl"))
        return CheckedArchive(documents, digests)

    def _check_names(self, originals: Sequence[Original]) -> None:
        """Raise InputError unless every part is there once and nothing else is, and each can be
        held in memory."""
        manifest, held = self.manifest, {item.filename: item for item in self._zip.infolist()}
        wanted = manifest.state + 3 * sum(part.batches for part in manifest.parts)
        if wanted + 1 > len(held) or len(held) != len(self._zip.infolist()):
            raise self.damage_error(MANIFEST)
        names = [state_name(number) for number in range(manifest.state)]
        names += [ORIGINALS] if manifest.originals else []
        for number, part in enumerate(manifest.parts):
            names += [deletions_name(number)] if part.gone else []
            for batch in range(part.batches):
                names += [
                    index_name(number, batch, kind) for kind in ("jsonl", "vectors", "tokens")
                ]
        missing = set(names) - set(held)
        if missing:
            raise self.damage_error(min(missing))
        uploads = {original_name(at) for at, original in enumerate(originals) if not original.kept}
        for name in set(held) - set(names) - uploads - {MANIFEST}:
            raise self.damage_error(name)
        for name in names:
            if held[name].file_size > MAX_PART_BYTES:
                raise self.damage_error(name)

    def rows(self) -> Iterator[Rows]:
        """Yield the state, table by table."""
        for number in range(self.manifest.state):
            lines = self._parse_lines(state_name(number))
            for table, group in groupby(lines, key=lambda line: str(line.get("table"))):
                yield table, [dict(line.get("row", ())) for line in group]

    def originals(self) -> list[Original]:
        """Return the uploads, in the order of their numbers."""
        if not self.manifest.originals:
            return []
        try:
            found = [Original(**line) for line in self._parse_lines(ORIGINALS)]
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
        name, left, hashed = original_name(number), original.size, hashlib.sha256()
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
        """Return the digests of the chunks of earlier files that the collection with this number
        has no more."""
        raw = self._read(deletions_name(part)) if self.manifest.parts[part].gone else b""
        if len(raw) != DIGEST * self.manifest.parts[part].gone:
            raise self.damage_error(deletions_name(part))
        return digest_array([raw])

    def batch(self, part: int, number: int) -> Batch:
        """Return some chunks of the collection with this number."""
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
        name = index_name(part, number, "jsonl")
        vectors = self._read(index_name(part, number, "vectors"))
        tokens = self._read(index_name(part, number, "tokens"))
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
            raise self.damage_error(index_name(part, number, "jsonl")) from error
        key = self.manifest.parts[part].key
        if any((chunk.tenant, chunk.collection) != key for chunk in chunks):
            raise self.damage_error(index_name(part, number, "jsonl"))
        both = list(zip(chunks, records, strict=True))
        vectors = {
            chunk.chunk_id: np.frombuffer(item.vector, "<f4").astype(np.float32)
            for chunk, item in both
            if item.vector
        }
        return Batch(chunks, vectors, {c.chunk_id: item.tokens for c, item in both if item.tokens})

    def _parse_lines(self, name: str) -> Iterator[dict[str, Any]]:
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
        """Return the error that says that a part of the file is not what it must be."""
        return InputError(f"The backup {self.file.name} is damaged at {name}. Take another.")

    def close(self) -> None:
        self._zip.close()


def _describe_collection(collection: Mapping[str, Any]) -> list[str]:
    """Return what the state and the manifest both say of a collection. Before collections had ids,
    their names were all that told them apart."""
    said = {"id": collection.get("name"), "late": 0, **collection}
    names = ("tenant", "id", "name", "model", "fingerprint", "dimensions", "language", "late")
    return [str(said.get(name)) for name in names]


def _is_plain(original: Original) -> bool:
    """Tell whether it can be a file of ours: its folder and its name lead nowhere else."""
    return bool(
        _DOCUMENT_ID.fullmatch(original.document)
        and original.name
        and plain_name(original.name) == original.name
        and isinstance(original.size, int)
        and isinstance(original.kept, bool)
        and 0 <= original.size <= MAX_ORIGINAL_BYTES
        and _SHA256.fullmatch(original.sha256)
    )
