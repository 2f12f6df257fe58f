"""One Qdrant Edge shard: its schema on disk, and how a chunk becomes a point in it."""

import atexit
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.disk import disk_bytes, free_floor
from ragstone.core.errors import StorageFull
from ragstone.core.filters import tokens
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.filter import PAIRS
from ragstone.index.late import DIMENSIONS
from ragstone.ports import Vectors

ZEROS = bytes(4096)
"""What is left out of a copy: a block of most file systems. With larger ones the indexes of fields
of a small shard take three times the space."""

READ_BYTES = 256 * len(ZEROS)


LOG = "wal"
"""The directory of a shard's log of writes."""


def copy_shard(source: Path, target: Path, with_log: bool = True) -> None:
    """Copy a shard's directory over what is at `target`. The log is not needed where the shard was
    flushed and takes no writes until the copy has another one."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = None if with_log else shutil.ignore_patterns(LOG)
    shutil.copytree(source, target, ignore=left_out, copy_function=_copy_sparse)


def copy_elsewhere(source: Path) -> Path:
    """Return a copy of a shard's directory on another disk, or in memory. Raises StorageFull."""
    for place in dict.fromkeys((tempfile.gettempdir(), "/dev/shm")):  # noqa: S108
        size = disk_bytes(source) + free_floor(source)
        if os.path.isdir(place) and shutil.disk_usage(place).free >= size:
            folder = Path(tempfile.mkdtemp(prefix="ragstone-", dir=place))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            copy_shard(source, folder)
            return folder
    raise StorageFull(
        f"The disk of {source} is full, and no other one has {size:,} bytes for a copy to read. "
        "Free some space."
    )


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file without its zeros: Edge sets aside 270 MB for a shard of 2,000 chunks, and
    writers wait while it is copied."""
    with Path(source).open("rb") as old, Path(target).open("wb", buffering=READ_BYTES) as new:
        while read := old.read(READ_BYTES):
            for start in range(0, len(read), len(ZEROS)):
                block = read[start : start + len(ZEROS)]
                if ZEROS.startswith(block):
                    new.seek(len(block), os.SEEK_CUR)
                else:
                    new.write(block)
        # A hole at the end is not written by seeking.
        new.truncate(old.tell())


DENSE = "dense"
BM25 = "bm25"
LATE = "late"
"""The vector by which late interaction finds candidates (`index.late`)."""

ALWAYS_FIELDS = ("tenant", "allowed", "revision")
"""What every search is filtered by; the indexes of other fields stay in files, which is half a KB
of memory less a chunk (`benchmarks/results/notes.md`)."""

KEYWORD_FIELDS = (
    *ALWAYS_FIELDS,
    "collection",
    "document_id",
    "path",
    "folders",
    "media_type",
    "kind",
    "language",
    PAIRS,
)
INTEGER_FIELDS = ("page", "chunk_index", "version")
FLOAT_FIELDS = ("modified",)

EMPTY: Mapping[str, Any] = {
    "page": None,
    "section": [],
    "metadata": {},
    "layout": "",
    "subject": "",
    "folders": [],
    PAIRS: [],
}
"""Values that are not kept: a chunk that is read has them anyway."""

SUM = "sum"
_SUMMED = (*Chunk.__dataclass_fields__, "revision", "folders")
_UNTOLD = (float, type(None))

SEGMENTS = 4
"""Parts that a shard may have before an optimize joins some: joining builds their graphs anew, so
with Edge's own number, half the processors, a growing shard is built again and again."""

GRAPH_KB = 2_500
"""Kilobytes of vectors from which on a part has a graph: 6,500 chunks, whose scan is as fast."""

NAME_BYTES = 200
BUILDING = "-building"
UNDELETED = "undeleted"
"""A file in the directory of a shard from which nothing was deleted since its files were written:
what is deleted stays in them, and in the log, until they are written anew."""

OPTIMIZED = "optimized"
"""A file in a shard's directory: how many points it had when its search structures were built."""


def shard_path(root: Path, collection: Collection) -> Path:
    """Return the directory of `collection`'s shard; ids are quoted so that none leaves `root`."""
    return root / _safe(collection.tenant) / _safe(collection.id) / str(collection.build)


def newest_generation(base: Path) -> Path:
    """Return the directory that is the shard now; what a crash left of others is removed.

    `base` is the first generation; each that was built from another one counts one up.
    """
    whole = [path for path in _generations(base) if BUILDING not in path.name]
    newest = max(whole, key=_number, default=base)
    for path in (base, *_generations(base)):
        if path != newest:
            shutil.rmtree(path, ignore_errors=True)
    return newest


def list_shards(root: Path) -> list[Path]:
    """Return the directory that is the shard now of every collection and build below `root`;
    nothing is removed."""
    newest: dict[Path, Path] = {}
    for path in root.glob("*/*/*"):
        base = path.with_name(path.name.partition(".")[0])
        if path.is_dir() and base.name.isdecimal() and BUILDING not in path.name:
            newest[base] = max(newest.get(base, path), path, key=_number)
    return [newest[base] for base in sorted(newest)]


def next_generation(path: Path) -> Path:
    """Return where the generation after the one at `path` belongs."""
    return path.with_name(f"{path.name.partition('.')[0]}.{_number(path) + 1}")


def remove_generations(base: Path) -> None:
    """Delete the shard in all its generations, each of them at once: a half deleted one would not
    open when the collection is made again."""
    for path in (base, *_generations(base)):
        if BUILDING not in path.name and path.exists():
            # Renaming is at once; deleting takes many steps, and a kill may come between two.
            path = path.rename(_free_path(path))
        shutil.rmtree(path, ignore_errors=True)


def _free_path(path: Path) -> Path:
    """A free path beside `path`; leftovers of a killed process are removed at the next opening."""
    generation = path.with_name(f"{path.name.partition('.')[0]}.{_number(path)}{BUILDING}")
    shutil.rmtree(generation, ignore_errors=True)
    return generation


def _generations(base: Path) -> list[Path]:
    return list(base.parent.glob(f"{base.name}.*"))


def _number(path: Path) -> int:
    return int(path.name.partition(".")[2] or 0)


def _safe(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")[:NAME_BYTES]


def open_shard(path: Path, dimensions: int, late: int = 0, erasing: bool = False) -> edge.EdgeShard:
    """Load the shard at `path`, or create it with every payload index; where `late` is not 0, it
    is searched by late interaction too. `erasing` has the next optimize write every part anew from
    which anything was deleted.

    Vectors take a byte a number. One that was made when they were floats stays as it was.
    """
    config = _config(dimensions, late, erasing)
    if not any(path.glob("segments/*")):
        _create(path, config)
    _read_vectors(path)
    try:
        shard = edge.EdgeShard.load(str(path), config)
    except Exception as error:
        # Edge has no error class for a shard of another type.
        if "datatype" not in str(error):
            raise
        shard = edge.EdgeShard.load(str(path), former_config(dimensions, late, erasing))
    _index_fields(shard)
    return shard


def _read_vectors(path: Path) -> None:
    """Have the system hold the vectors in memory before Edge reads them: page by page and holding
    Python's interpreter lock, which from a slow disk took two seconds for 8 MB."""
    for storage in path.glob("segments/*/vector_storage-*"):
        if storage.name.endswith((DENSE, LATE)):
            for file in storage.rglob("*"):
                if file.is_file():
                    with file.open("rb", buffering=0) as read:
                        while read.read(READ_BYTES):
                            pass


def flush_shard(path: Path, shard: edge.EdgeShard) -> None:
    """Have everything on the disk. Edge holds Python's interpreter lock while it waits for that,
    so most of it is waited for here."""
    for file in path.rglob("*"):
        with suppress(FileNotFoundError):
            if file.is_file():
                with file.open("rb") as open_file:
                    os.fsync(open_file)
    shard.flush()


def _config(dimensions: int, late: int, erasing: bool) -> edge.EdgeConfig:
    numbers = {DENSE: dimensions} | ({LATE: DIMENSIONS} if late else {})
    vectors = {
        name: edge.EdgeVectorParams(
            count,
            edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,
            memory=edge.Memory.Cached,
        )
        for name, count in numbers.items()
    }
    return _with_words(vectors, edge.VectorStorageDatatype.Float16, GRAPH_KB, erasing)


def former_config(dimensions: int, late: int, erasing: bool = False) -> edge.EdgeConfig:
    """Of floats, which once optimized are searched as bytes in memory and scored as they are on
    disk."""
    bytes_ = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, memory=edge.Memory.Pinned)
    vectors = {
        DENSE: edge.EdgeVectorParams(
            dimensions, edge.Distance.Cosine, quantization_config=bytes_, memory=edge.Memory.Cold
        )
    }
    if late:
        vectors[LATE] = edge.EdgeVectorParams(
            DIMENSIONS,
            edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Float16,
            quantization_config=bytes_,
            memory=edge.Memory.Cold,
        )
    return _with_words(vectors, None, None, erasing)


def _with_words(
    vectors: dict[str, edge.EdgeVectorParams],
    datatype: edge.VectorStorageDatatype | None,
    threshold: int | None,
    erasing: bool,
) -> edge.EdgeConfig:
    """Return the configuration of a shard with these vectors and those of words."""
    words = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, datatype=datatype)
    return edge.EdgeConfig(
        vectors=vectors,
        sparse_vectors={BM25: words},
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=SEGMENTS,
            indexing_threshold=threshold,
            deleted_threshold=0.0 if erasing else None,
            vacuum_min_vector_number=0 if erasing else None,
        ),
    )


def _create(path: Path, config: edge.EdgeConfig) -> None:
    """Make an empty shard beside its place and put it there when it is whole: half a shard would
    not load."""
    making = _free_path(path)
    making.mkdir(parents=True)
    edge.EdgeShard.create(str(making), config).close()
    (making / UNDELETED).touch()
    shutil.rmtree(path, ignore_errors=True)
    making.rename(path)


def _index_fields(shard: edge.EdgeShard) -> None:
    """Make the payload indexes that a shard lacks: all of a new one, or what a kill left out."""
    known = shard.info().payload_schema.keys()
    for fields, params in (
        (KEYWORD_FIELDS, lambda memory: edge.KeywordIndexParams(memory=memory)),
        # Numbers are always looked for in a range (`index.edge.filter`).
        (INTEGER_FIELDS, lambda memory: edge.IntegerIndexParams(lookup=False, memory=memory)),
        (FLOAT_FIELDS, lambda memory: edge.FloatIndexParams(memory=memory)),
    ):
        for field in fields:
            if field not in known:
                memory = None if field in ALWAYS_FIELDS else edge.Memory.Cold
                shard.update(edge.UpdateOperation.create_field_index(field, params(memory)))


def optimize_shard(path: Path, dimensions: int, late: int = 0, erasing: bool = False) -> None:
    """Build the search structures of the shard at `path`, which nothing else has open and which was
    copied without its log; if `erasing`, leave nothing of what was deleted in its files."""
    shard = open_shard(path, dimensions, late, erasing)
    _continue_numbering(shard)
    shard.optimize()
    if erasing:
        (path / UNDELETED).touch()
    (path / OPTIMIZED).write_text(str(shard.info().points_count))
    shard.close()


def _continue_numbering(shard: edge.EdgeShard) -> None:
    """Let the log of a shard that came without one go on behind the writes that the shard holds.

    Edge numbers writes by the place in its log, and leaves out what has a lower number than the
    chunk that it is about: in a log that begins anew each of them would be lost. Writes that do
    nothing take 30 bytes each; the log itself, which Edge keeps for up to 64 MB, 3.6 KB a chunk.
    """
    held = shard.snapshot_manifest().values()
    nothing = edge.UpdateOperation.delete_points([])
    for _ in range(1 + max((part["segment_version"] or 0 for part in held), default=0)):
        shard.update(nothing)


def holds_deleted(root: Path, collection: Collection) -> bool:
    """Tell whether files of the collection may hold what was deleted from it."""
    base = shard_path(root, collection)
    there = [path for path in (base, *_generations(base)) if path.exists()]
    return not all((path / UNDELETED).exists() for path in there)


def count_optimized_points(path: Path) -> int:
    """Tell how many points the shard at `path` had when it was optimized, 0 if it never was or the
    file that says so is damaged: then it is optimized again."""
    file = path / OPTIMIZED
    said = file.read_bytes() if file.is_file() else b""
    return int(said) if said.isdigit() else 0


def points(
    chunks: Sequence[Chunk], vectors: Vectors | None, bm25: Bm25Encoder, late: Vectors | None = None
) -> list[edge.Point]:
    """Return chunks as points: the sparse vector always, the dense one and that of late interaction
    where there are some."""
    none = [None] * len(chunks)
    rows = none if vectors is None else vectors.tolist()
    lates = none if late is None else late.tolist()
    return [_point(*item, bm25) for item in zip(chunks, rows, lates, strict=True)]


def _point(
    chunk: Chunk, row: list[float] | None, late: list[float] | None, bm25: Bm25Encoder
) -> edge.Point:
    named: dict[str, list[float] | edge.SparseVector | list[list[float]]] = {
        BM25: bm25.document(chunk.searchable)
    }
    if row is not None:
        named[DENSE] = row
    if late is not None:
        named[LATE] = late
    payload = chunk.payload() | {PAIRS: list(tokens(chunk.metadata))}
    payload = {name: value for name, value in payload.items() if EMPTY.get(name, payload) != value}
    payload[SUM] = chunk_sum(payload)
    return edge.Point(chunk.chunk_id, named, payload)


def chunk_sum(payload: Mapping[str, Any]) -> int:
    """Return a checksum of a chunk's fields, by which a damaged one is told from what was written.
    It leaves out floats: Edge rounds the last bit of some."""
    fields = {name: payload[name] for name in _SUMMED if name in payload}
    told = {name: value for name, value in fields.items() if not isinstance(value, _UNTOLD)}
    if "metadata" in told:
        told["metadata"] = _without_floats(told["metadata"])
    return zlib.crc32(json.dumps(told, sort_keys=True).encode())


def _without_floats(value: Any) -> Any:
    if isinstance(value, float):
        return None
    if isinstance(value, Mapping):
        return {name: _without_floats(inner) for name, inner in value.items()}
    return [_without_floats(inner) for inner in value] if isinstance(value, list) else value
