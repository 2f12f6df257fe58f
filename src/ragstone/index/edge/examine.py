"""Looks through a shard in a process of its own, which a damaged one may end, and saves from it
what can be read.

What Edge can build anew from the chunks (the indexes of fields and vectors, the words) is not worth
saving; texts and vectors are.
"""

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.disk import disk_bytes, disk_error, free_floor, need_room
from ragstone.core.errors import StateUnavailable
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.shard import (
    BM25,
    DENSE,
    FLOAT_FIELDS,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    LATE,
    SUM,
    chunk_sum,
    copy_shard,
    open_shard,
    points,
)

BATCH = 256
SECONDS, SECONDS_A_GIGABYTE = 120.0, 600.0
"""How long a look through a shard may take: a damaged one may never come to an end."""

LENGTH_ERROR = 1e-3
"""Edge keeps vectors of length 1; rounding is a thousandth of this."""

SAMPLE, ENOUGH, NEIGHBOURS = 50, 0.5, 50
"""Chunks that are searched by their vector, and the share that must find themselves: a search is an
approximation, but one through a damaged graph finds nothing."""

MAX_VALUES = 10_000_000

LITTLE = 5e-4
"""Seconds below a chunk's time from which on chunks are counted: Edge reads the last digit of every
tenth float otherwise than it wrote it."""

RANGES = 20
"""Numbers of a field from which on chunks are counted."""

REBUILT = (
    "payload_index",
    f"vector_index-{DENSE}",
    f"vector_index-{BM25}",
    f"vector_storage-{BM25}",
)
"""Parts of a segment that are made anew where they are missing."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard's directory, and what is known of it: `dimensions` 0 and `language` None where the
    state cannot say. `late` is the length of the token vectors that are searched, 0 for none."""

    path: Path
    dimensions: int = 0
    language: str | None = None
    late: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """How many chunks could be read, and how many of them with their vector."""

    chunks: int
    vectors: int


def find_flaws(shard: Shard) -> list[str]:
    """Return what is wrong with a shard that nothing has open, a phrase each."""
    said = _in_child("check", shard, shard.path)
    return [str(item) for item in said] if isinstance(said, list) else [str(said)]


def can_open(shard: Shard) -> bool:
    """Tell whether a shard that nothing has open can be opened, whatever it holds."""
    return bool(_in_child("open", shard, shard.path) == [])


def save(shard: Shard, target: Path) -> Saved | None:
    """Write what can be read of a damaged shard as a new one to `target`; None if nothing can.

    The damaged one is not changed.
    """
    draft = target.with_name(f"{target.name}-saving")
    try:
        need_room(shard.path, 2 * disk_bytes(shard.path) + free_floor(shard.path))
        copy_shard(shard.path, draft)
        said = _in_child("save", replace(shard, path=draft), target)
        if not isinstance(said, dict):
            shutil.rmtree(target, ignore_errors=True)
            return None
        return Saved(int(said["chunks"]), int(said["vectors"]))
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _in_child(task: Literal["open", "check", "save"], shard: Shard, target: Path) -> Any:
    """What the task says, or a phrase about how its process ended. Raises what the disk refuses."""
    # On a full one Edge's memory maps end the process, which would look like damage.
    need_room(shard.path, free_floor(shard.path))
    command = [
        *(sys.executable, "-P", "-m", __name__, task, str(shard.path), str(target)),
        *(str(shard.dimensions), json.dumps(shard.language), str(shard.late)),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - this module, without a shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS + SECONDS_A_GIGABYTE * disk_bytes(shard.path) / 2**30,
        )
        said = json.loads(done.stdout.rpartition("RESULT ")[2])
        if isinstance(said, dict) and "refused" in said:
            raise StateUnavailable(said["refused"])
        return said
    except subprocess.TimeoutExpired:
        return "reading it comes to no end"
    except ValueError:
        return f"reading it ended the process (status {done.returncode})"


def check(shard: Shard, whole: bool = True) -> list[str] | dict[str, str]:
    """`flaws`, in the process that may die of them; if not `whole`, whether it opens. What the disk
    has `refused` is none of them."""
    try:
        opened = _open(shard)
        return list(_read_flaws(opened, shard)) if whole else []
    except BaseException as error:  # Edge's panics are no Exceptions.
        if meant := disk_error(error, shard.path):
            return {"refused": meant.message}
        return [f"it cannot be read ({' '.join(str(error).split())[:200]})"]


def _read_flaws(opened: edge.EdgeShard, shard: Shard) -> Iterator[str]:
    seen = _Seen(None if shard.language is None else Bm25Encoder(shard.language))
    for record in _records(opened):
        seen.add(record)
    yield from seen.flaws()
    for field in KEYWORD_FIELDS:
        counter = seen.values[field]
        # Without and with a filter Edge reads other files of the index; either may be damaged.
        if any(_facet(opened, field, where) != counter for where in (None, _ALL)):
            yield f"the index of the field {field} does not fit the chunks"
    for field in NUMBER_FIELDS:
        counter = seen.values[field]
        for low in _bounds(counter, LITTLE if field in FLOAT_FIELDS else 0.0):
            if _at_least(opened, field, low) != sum(n for v, n in counter.items() if v >= low):
                yield f"the index of the field {field} does not fit the chunks"
                break
    finding = sum(_finds_itself(opened, item) for item in seen.sample)
    if finding < ENOUGH * len(seen.sample):
        yield f"a search finds {finding} of {len(seen.sample)} vectors that are there"


class _Seen:
    """What a look through the chunks counts: damaged ones, and the values of each field."""

    def __init__(self, bm25: Bm25Encoder | None) -> None:
        fields = (*KEYWORD_FIELDS, *NUMBER_FIELDS)
        self.values: dict[str, Counter[Any]] = {field: Counter() for field in fields}
        self.sample: list[list[float]] = []
        self._bm25 = bm25
        self._texts = self._vectors = self._words = 0

    def add(self, record: Any) -> None:
        payload = dict(record.payload or {})
        dense, late, sparse = _vectors(record)
        for field, counter in self.values.items():
            value = payload.get(field)
            counter.update(value if isinstance(value, list) else [] if value is None else [value])
        if not _whole(payload):
            self._texts += 1
        elif self._bm25:
            made = self._bm25.document(Chunk.from_payload(payload).searchable)
            self._words += not _same_words(made, sparse)
        if dense is not None:
            self._vectors += not (_is_unit(dense) and (late is None or _is_unit(late)))
            if len(self.sample) < SAMPLE:
                self.sample.append(dense)

    def flaws(self) -> Iterator[str]:
        if self._texts:
            yield f"{self._texts:,} chunks are not as they were written"
        if self._vectors:
            yield f"{self._vectors:,} vectors are not as they were written"
        if self._words:
            yield f"the words of {self._words:,} chunks are not those of their text"


NUMBER_FIELDS = (*INTEGER_FIELDS, *FLOAT_FIELDS)

_ALL = edge.Filter(
    must_not=[edge.FieldCondition("tenant", match=edge.MatchAny(["no tenant of this name"]))]
)
"""A filter that every chunk meets: with one Edge counts chunk by chunk, from another file of the
field's index than without."""


def _whole(payload: dict[str, Any]) -> bool:
    """Tell whether a chunk is what was written; one from before there were checksums is, if it can
    be read."""
    try:
        Chunk.from_payload(payload)
    except (KeyError, TypeError):
        return False
    return SUM not in payload or payload[SUM] == chunk_sum(payload)


def _vectors(
    record: Any,
) -> tuple[list[float] | None, list[float] | None, edge.SparseVector | None]:
    named = record.vector if isinstance(record.vector, dict) else {}
    return named.get(DENSE), named.get(LATE), named.get(BM25)


def _is_unit(vector: Sequence[float]) -> bool:
    length = math.sqrt(sum(value * value for value in vector))
    return math.isfinite(length) and abs(length - 1) < LENGTH_ERROR


def _same_words(made: edge.SparseVector, kept: edge.SparseVector | None) -> bool:
    if kept is None:
        return not made.indices
    one, other = (dict(zip(v.indices, v.values, strict=True)) for v in (made, kept))
    return one.keys() == other.keys() and all(
        math.isclose(one[key], other[key], rel_tol=1e-4) for key in one
    )


def _facet(opened: edge.EdgeShard, field: str, where: edge.Filter | None) -> Counter[Any]:
    found = opened.facet(edge.FacetRequest(field, limit=MAX_VALUES, exact=True, filter=where))
    return Counter({hit.value: hit.count for hit in found.hits})


def _bounds(counter: Counter[Any], below: float) -> Iterator[float]:
    """Yield numbers from which on to count, so much below some that chunks have; none that another
    one is as near to as floats err."""
    for value in sorted(counter)[:: max(1, len(counter) // RANGES)]:
        low = value - below
        if not below or all(abs(other - low) > below / 100 for other in counter):
            yield low


def _at_least(opened: edge.EdgeShard, field: str, low: float) -> int:
    """Tell how many chunks the field's index finds from a number on."""
    reached = edge.FieldCondition(field, range=edge.RangeFloat(gte=low))
    return int(opened.count(edge.CountRequest(exact=True, filter=edge.Filter(must=[reached]))))


def _finds_itself(opened: edge.EdgeShard, vector: list[float]) -> bool:
    """Tell whether a search for a chunk's vector finds something as near as that."""
    query = edge.Query.Nearest(vector, using=DENSE)
    params = edge.SearchParams(quantization=edge.QuantizationSearchParams(rescore=True))
    request = edge.QueryRequest(NEIGHBOURS, query=query, params=params)
    [hits] = opened.query_batch(edge.QueryBatchRequest([request]))
    return bool(hits) and hits[0].score > 1 - LENGTH_ERROR


def _records(opened: edge.EdgeShard) -> Iterator[Any]:
    offset: Any = None
    while True:
        request = edge.ScrollRequest(
            limit=BATCH, with_payload=True, with_vector=True, offset=offset
        )
        records, offset = opened.scroll(request)
        yield from records
        if offset is None:
            return


def _open(shard: Shard) -> edge.EdgeShard:
    if shard.dimensions:
        return open_shard(shard.path, shard.dimensions, shard.late)
    return edge.EdgeShard.load(str(shard.path))


def rescue(shard: Shard, target: Path) -> dict[str, int]:
    """`save` from a copy, in the process that may die of it."""
    opened = _open_damaged(shard)
    new = open_shard(target, shard.dimensions or _dimensions(opened), shard.late)
    bm25 = Bm25Encoder(shard.language or "")
    chunks = vectors = 0
    for id in list(_ids(opened)):
        chunk = _read_chunk(opened, id)
        if chunk is None:
            continue
        # Each by itself: one damaged record must not end the reading of the others.
        dense = _read_vector(opened, id, DENSE)
        late = _read_vector(opened, id, LATE) if shard.late else None
        rows = None if dense is None else _row_matrix(dense)
        [point] = points([chunk], rows, bm25, None if late is None else _row_matrix(late))
        new.update(edge.UpdateOperation.upsert_points([point]))
        chunks, vectors = chunks + 1, vectors + (dense is not None)
    new.close()
    return {"chunks": chunks, "vectors": vectors}


def _dimensions(opened: edge.EdgeShard) -> int:
    """Return the length of the first vector that can be read."""
    found = (_read_vector(opened, id, DENSE) for id in _ids(opened))
    return next((len(vector) for vector in found if vector), 1)


def _row_matrix(vector: list[float]) -> Any:
    import numpy as np

    return np.array([vector], np.float32)


def _open_damaged(shard: Shard) -> edge.EdgeShard:
    """Return the shard without what can be made anew, then without what stops it from opening."""
    segments = sorted((shard.path / "segments").glob("*"))
    for segment in segments:
        for name in REBUILT:
            shutil.rmtree(segment / name, ignore_errors=True)
    (shard.path / "edge_config.json").unlink(missing_ok=True)
    attempts: list[list[Path]] = [
        [],
        [shard.path / "wal"],
        [segment / f"vector_storage-{DENSE}" for segment in segments],
        # Last of all whole segments go, as each takes its chunks along.
        *([segment] for segment in segments),
    ]
    for attempt in attempts[:-1] if len(segments) == 1 else attempts:
        for path in attempt:
            shutil.rmtree(path, ignore_errors=True)
        try:
            return _open(shard)
        except BaseException as error:  # Edge's panics are no Exceptions.
            failed = error
    raise failed


def _ids(opened: edge.EdgeShard) -> Iterator[Any]:
    offset: Any = None
    while True:
        records, offset = opened.scroll(
            edge.ScrollRequest(limit=BATCH, with_payload=False, offset=offset)
        )
        yield from (record.id for record in records)
        if offset is None:
            return


def _read_chunk(opened: edge.EdgeShard, id: Any) -> Chunk | None:
    """Return a chunk that is as it was written, None for another."""
    try:
        [record] = opened.retrieve([id], True, False)
    except BaseException:  # Edge's panics are no Exceptions.
        return None
    payload = dict(record.payload or {})
    return Chunk.from_payload(payload) if _whole(payload) else None


def _read_vector(opened: edge.EdgeShard, id: Any, name: str) -> list[float] | None:
    """Return the vector of a chunk that is as it was written, None for another."""
    try:
        [record] = opened.retrieve([id], False, [name])
    except BaseException:  # Edge's panics are no Exceptions.
        return None
    named: dict[str, Any] = record.vector if isinstance(record.vector, dict) else {}
    found: list[float] | None = named.get(name)
    return found if found is not None and _is_unit(found) else None


def main(task: str, path: str, target: str, dimensions: str, language: str, late: str) -> None:
    shard = Shard(Path(path), int(dimensions), json.loads(language), int(late))
    said = rescue(shard, Path(target)) if task == "save" else check(shard, task == "check")
    print(f"RESULT {json.dumps(said)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
