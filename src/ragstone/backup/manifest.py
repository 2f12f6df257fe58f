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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.ports import Vectors

FORMAT = 1
"""Of a whole backup, which every version can restore."""

INCREMENTAL = 2
"""The format of an incremental one, which earlier versions must not take for a whole one."""

MAX_TIME = 1e11
"""Seconds since 1970 that every calendar knows."""

PIECE = 1 << 20

ORIGINALS = "originals.jsonl"

MANIFEST = "manifest.json"

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
        # Over the line too, which says how long vector and tokens are: one cannot pass for the
        # other.
        hashed = hashlib.blake2b(self.line, digest_size=DIGEST)
        hashed.update(self.vector)
        hashed.update(self.tokens)
        return hashed.digest()


def digest_array(some: Iterable[bytes]) -> Digests:
    """Return digests, one after the other."""
    found: Digests = np.frombuffer(b"".join(some), f"S{DIGEST}")
    return found


def sort_digests(some: Iterable[bytes]) -> Digests:
    """Return digests in an order in which they are found fast."""
    return np.sort(digest_array(some))


def places(wanted: Digests, among: Digests) -> NDArray[np.intp]:
    """Return where each of some digests stands among sorted ones, -1 for one that does not."""
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


def new_id() -> str:
    """Return an id that no backup has."""
    return uuid4().hex


def parse_manifest(data: Any) -> Manifest:
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
    if not 0 <= made.made <= MAX_TIME:
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


def original_name(number: int) -> str:
    return f"originals/{number:06}"


def encode_lines(values: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(encode_line(value) + b"\n" for value in values)


def encode_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def state_name(number: int) -> str:
    return f"state/{number:04}.jsonl"


def deletions_name(part: int) -> str:
    return f"index/{part:04}/gone"


def index_name(part: int, number: int, kind: str) -> str:
    return f"index/{part:04}/{number:06}.{kind}"
