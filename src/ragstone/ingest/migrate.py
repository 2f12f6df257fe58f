"""Moves a collection from one chunk index to another, with its vectors, while nobody uses it.

Nothing is embedded again. Every batch asks the target what it holds already, so that a move that
was cut off goes on where it stopped; what the source no longer holds is removed at the end.
`ragstone.ingest.move` is the same while all goes on.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import eq
from ragstone.core.records import Collection
from ragstone.ports import ChunkIndex, Vectors, check_late, loading, may_share

BATCH = 256


@dataclass(frozen=True, slots=True)
class Moved:
    """How far the move of one collection is, in chunks: `copied` now, `there` before it began."""

    collection: Collection
    total: int
    copied: int = 0
    there: int = 0
    removed: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Where a collection is, or is to be."""

    index: ChunkIndex
    collection: Collection


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some chunks with their vectors and token vectors, if they have any."""

    chunks: dict[str, Chunk]
    vectors: dict[str, Vectors]
    tokens: dict[str, bytes]


async def migrate(
    source: ChunkIndex, target: ChunkIndex, collection: Collection
) -> AsyncGenerator[Moved]:
    """Move `collection` and tell how far it is after every batch.

    Raises IndexUnavailable if the target holds something else than the source in the end, and
    ConfigError if it cannot search the collection as that one does.
    """
    check_late(target, collection)
    old = await _where_it_is(source, collection)
    # What may share a place here keeps doing so where that is wanted there too.
    new = replace(collection, shared=old.shared and may_share(target, 0))
    here, there = End(source, old), End(target, new)
    await target.create(new)
    moved = Moved(new, await source.count(old))
    yield moved
    async with loading(target, new):
        async for chunks in source.scan(old, batch=BATCH):
            copied = await copy(here, there, chunks)
            known = moved.there + len(chunks) - copied
            moved = replace(moved, copied=moved.copied + copied, there=known)
            yield moved
    removed = await _remove_others(here, there)
    await target.optimize(new)
    held = await target.count(new)
    if held != await source.count(old):
        raise IndexUnavailable(
            f"Collection {collection.name!r} has {moved.total} chunks, but {held} arrived. "
            "Something else writes to one of the indexes; stop it and run the same again."
        )
    yield replace(moved, removed=removed, finished=True)


async def _where_it_is(source: ChunkIndex, collection: Collection) -> Collection:
    """The collection as the source has it: an earlier move may have said that it is no more, or
    only now, in the place that several share."""
    other = replace(collection, shared=not collection.shared)
    if await source.count(collection) or not await source.count(other):
        return collection
    return other


async def copy(source: End, target: End, chunks: Sequence[Chunk]) -> int:
    """Write those of some chunks that the target lacks; returns their number."""
    ids = [chunk.chunk_id for chunk in chunks]
    here, there = await asyncio.gather(_read(source, ids), _read(target, ids))
    missing = [i for i in here.chunks if not _is_copied(here, there, i)]
    kinds: dict[tuple[bool, bool], list[str]] = {}
    for i in missing:
        kinds.setdefault((i in here.vectors, i in here.tokens), []).append(i)
    for (with_vectors, with_tokens), some in kinds.items():
        await target.index.upsert(
            target.collection,
            [here.chunks[i] for i in some],
            np.stack([here.vectors[i] for i in some]) if with_vectors else None,
            [here.tokens[i] for i in some] if with_tokens else None,
        )
    return len(missing)


async def _read(end: End, ids: Sequence[str]) -> _Batch:
    index, collection = end.index, end.collection
    return _Batch(
        *await asyncio.gather(
            index.fetch(collection, ids),
            index.vectors(collection, ids),
            index.tokens(collection, ids),
        )
    )


def _is_copied(here: _Batch, there: _Batch, chunk_id: str) -> bool:
    """Vectors follow from a chunk and the collection's model, so it is enough that they exist."""
    return (
        here.chunks[chunk_id] == there.chunks.get(chunk_id)
        and (chunk_id in here.vectors) == (chunk_id in there.vectors)
        and here.tokens.get(chunk_id) == there.tokens.get(chunk_id)
    )


async def _remove_others(source: End, target: End) -> int:
    """Delete the target's chunks of revisions that the source does not hold."""
    here, there = source.index, target.index
    if await there.count(target.collection) == await here.count(source.collection):
        return 0
    gone: set[str] = set()
    removed = 0
    async for chunks in there.scan(target.collection, batch=BATCH):
        held = await here.fetch(source.collection, [chunk.chunk_id for chunk in chunks])
        others = [chunk for chunk in chunks if chunk.chunk_id not in held]
        gone |= {chunk.revision for chunk in others}
        removed += len(others)
    for revision in gone:
        await there.delete(target.collection, eq("revision", revision))
    return removed
