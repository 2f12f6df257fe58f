"""Puts a backup in the place of what is there."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ragstone.backup.archive import ArchiveReader, Batch, Original
from ragstone.core.records import Collection
from ragstone.ingest.handed import Originals
from ragstone.ingest.unused import drop_unused
from ragstone.ports import Catalog, ChunkIndex, StateDump, check_late, home, loading
from ragstone.service.maintenance import Upkeep


async def restore(
    file: Path, index: ChunkIndex, catalog: Catalog, state: StateDump, originals: Originals
) -> AsyncGenerator[Upkeep, None]:
    """Restore `file` and tell how far it is; until the last step everything answers as before.

    The backup is read once to the end first, and then written beside what is there. Raises
    InputError, and nothing has changed, for a file that is no backup or is damaged.
    """
    reader = await asyncio.to_thread(ArchiveReader, file)
    with closing(reader):
        documents = await asyncio.to_thread(reader.check)
        builds: dict[tuple[str, str], int] = {}
        for one in (*await catalog.collections(), *await catalog.unused()):
            builds[one.tenant, one.id] = max(one.build, builds.get((one.tenant, one.id), 0))
        uploads = reader.originals()
        try:
            await asyncio.to_thread(originals.begin_restore, sum(one.size for one in uploads))
            for number, upload in enumerate(uploads):
                await asyncio.to_thread(_write_original, reader, number, upload, originals)
                yield Upkeep("originals", number + 1, len(uploads))
            written: list[Collection] = []
            for number, part in enumerate(reader.manifest.parts):
                old = part.collection
                build = max(old.build, builds.get((old.tenant, old.id), 0)) + 1
                collection = replace(old, build=build, place=home(index))
                async for step in _write_collection(reader, number, index, collection):
                    yield step
                written.append(collection)
            await state.replace(reader.manifest.schema, reader.rows(), written)
            await asyncio.to_thread(originals.end_restore, documents)
            await drop_unused(index, catalog)
        finally:
            await asyncio.to_thread(originals.drop_restored)
    chunks = sum(part.chunks for part in reader.manifest.parts)
    held = f"{chunks:,} chunks and {len(uploads):,} uploads"
    note = f"{len(written):,} collections with {held} are back."
    yield Upkeep("done", chunks, chunks, finished=True, notes=(note,))


def _write_original(
    reader: ArchiveReader, number: int, original: Original, originals: Originals
) -> None:
    with originals.restored(original.document, original.name) as file:
        reader.copy_original(number, original, file)


async def _write_collection(
    reader: ArchiveReader, number: int, index: ChunkIndex, collection: Collection
) -> AsyncGenerator[Upkeep, None]:
    """Write a collection of the backup to its new build, over any interrupted one."""
    check_late(index, collection)
    await index.create(collection)
    await index.drop(collection)
    await index.create(collection)
    batches = reader.batches(number)
    done = 0
    async with loading(index, collection):
        while batch := await asyncio.to_thread(next, batches, None):
            await _write(index, collection, batch)
            done += len(batch.chunks)
            yield Upkeep(collection.name, done, reader.manifest.parts[number].chunks)
    await index.optimize(collection)


async def _write(index: ChunkIndex, collection: Collection, batch: Batch) -> None:
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for at, chunk in enumerate(batch.chunks):
        key = chunk.chunk_id in batch.vectors, chunk.chunk_id in batch.tokens
        kinds.setdefault(key, []).append(at)
    for (with_vector, with_tokens), places in kinds.items():
        chunks = [batch.chunks[at] for at in places]
        ids = [chunk.chunk_id for chunk in chunks]
        await index.upsert(
            collection,
            chunks,
            np.stack([batch.vectors[i] for i in ids]) if with_vector else None,
            [batch.tokens[i] for i in ids] if with_tokens else None,
        )
