"""Moves a collection from one chunk index to another, with its vectors, while nobody uses it.

Nothing is embedded again. Every batch asks the target what it holds already, so that a move that
was cut off goes on where it stopped; what the source no longer holds is removed at the end. The
next batch is read while one is written, and some collections move at a time, so that memory holds
two batches of each of those. `ragstone.ingest.move` is the same while all goes on.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import eq
from ragstone.core.records import Collection
from ragstone.ports import ChunkIndex, Vectors, bulk_load, check_late, may_share

BATCH = 256

AT_ONCE = 3
"""Collections that move at a time."""


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
    async with (
        bulk_load(target, new),
        aclosing(copy_all(here, there, source.scan(old, batch=BATCH))) as batches,
    ):
        async for held, copied in batches:
            known = moved.there + held - copied
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
    """Return the collection as the source has it: an earlier move may have said that it is no more,
    or only now, in the place that several share."""
    other = replace(collection, shared=not collection.shared)
    if await source.count(collection) or not await source.count(other):
        return collection
    return other


async def migrate_all(
    source: ChunkIndex, target: ChunkIndex, collections: Sequence[Collection]
) -> AsyncGenerator[Moved]:
    """`migrate` collections, AT_ONCE at a time, and tell how far any of them is. The first that
    cannot be moved ends it all."""
    places = asyncio.Semaphore(AT_ONCE)
    told: asyncio.Queue[Moved | None] = asyncio.Queue(AT_ONCE)

    async def move(collection: Collection) -> None:
        async with places, aclosing(migrate(source, target, collection)) as steps:
            async for step in steps:
                await told.put(step)

    async def move_all() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for collection in collections:
                    group.create_task(move(collection))
        except ExceptionGroup as errors:
            # One sentence for the reader, not a group of errors.
            raise errors.exceptions[0] from errors
        finally:
            await told.put(None)

    moving = asyncio.create_task(move_all())
    try:
        while (step := await told.get()) is not None:
            yield step
        await moving
    finally:
        moving.cancel()
        await asyncio.gather(moving, return_exceptions=True)


async def copy_all(
    source: End, target: End, batches: AsyncIterable[Sequence[Chunk]]
) -> AsyncGenerator[tuple[int, int]]:
    """Copy batches of chunks; how many each has, and how many of them the target lacked."""
    writing: asyncio.Task[tuple[int, int]] | None = None

    async def write(missing: _Batch, held: int) -> tuple[int, int]:
        return held, await _write(target, missing)

    try:
        async for chunks in batches:
            missing = await _find_missing(source, target, chunks)
            if writing:
                yield await writing
            # One batch is written while the next one is read.
            writing = asyncio.create_task(write(missing, len(chunks)))
        if writing:
            yield await writing
    finally:
        if writing:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


async def _find_missing(source: End, target: End, chunks: Sequence[Chunk]) -> _Batch:
    """Return those of some chunks that the target lacks, with what it is to have of them."""
    by_id = {chunk.chunk_id: chunk for chunk in chunks}
    here, there = await asyncio.gather(_read(source, by_id), _read_held(target, list(by_id)))
    return replace(here, chunks={i: by_id[i] for i in by_id if not _is_copied(here, there, i)})


async def _write(target: End, here: _Batch) -> int:
    """Write chunks, apart by what they have; their number."""
    missing = list(here.chunks)
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


async def _read_held(end: End, ids: Sequence[str]) -> _Batch:
    """Return those of some chunks that an index has."""
    return await _read(end, await end.index.fetch(end.collection, ids))


async def _read(end: End, chunks: dict[str, Chunk]) -> _Batch:
    """Return chunks with what an index has of them."""
    if not chunks:
        return _Batch({}, {}, {})
    index, collection, ids = end.index, end.collection, list(chunks)
    found = index.vectors(collection, ids), index.tokens(collection, ids)
    return _Batch(chunks, *await asyncio.gather(*found))


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
