"""Puts a backup in the place of what is there."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ragstone.backup.chain import Chain
from ragstone.backup.manifest import Batch, Original
from ragstone.core.records import Collection
from ragstone.core.wording import format_count
from ragstone.ingest.move import drop_unused
from ragstone.ingest.uploads import Originals
from ragstone.ports import Catalog, ChunkIndex, StateDump, bulk_load, check_late, home, may_share
from ragstone.service.maintenance import Upkeep

MAX_NAMED = 20
"""Removed accounts that a restore names."""


async def restore(
    file: Path,
    index: ChunkIndex,
    catalog: Catalog,
    state: StateDump,
    originals: Originals,
    earlier: Sequence[Path] = (),
) -> AsyncGenerator[Upkeep, None]:
    """Restore `file` and tell how far it is; until the last step everything answers as before.

    The backup, with those that it continues, is read once to the end first, and then written beside
    what is there. Those are beside it or among `earlier`. Raises InputError, and nothing has
    changed, for a file that is missing, is not a backup or is damaged.
    """
    chain = await asyncio.to_thread(Chain, file, earlier)
    with closing(chain):
        checking = chain.check()
        while checked := await asyncio.to_thread(next, checking, 0):
            if len(chain) > 1:
                yield Upkeep("checking", checked, len(chain))
        builds: dict[tuple[str, str], int] = {}
        for item in (*await catalog.collections(), *await catalog.list_unused()):
            builds[item.tenant, item.id] = max(item.build, builds.get((item.tenant, item.id), 0))
        uploads = chain.last.originals()
        try:
            await asyncio.to_thread(originals.begin_restore, sum(item.size for item in uploads))
            for number, upload in enumerate(uploads):
                await asyncio.to_thread(_write_original, chain, number, upload, originals)
                yield Upkeep("originals", number + 1, len(uploads))
            written: list[Collection] = []
            for number, part in enumerate(chain.manifest.parts):
                old = part.collection
                build = max(old.build, builds.get((old.tenant, old.id), 0)) + 1
                shared = may_share(index, part.chunks + part.kept)
                collection = replace(old, build=build, place=home(index), shared=shared)
                async for step in _write_collection(chain, number, index, collection):
                    yield step
                written.append(collection)
            removed = await state.replace(chain.manifest.schema, chain.rows(), written)
            await asyncio.to_thread(originals.end_restore, chain.documents)
            await drop_unused(index, catalog)
        finally:
            await asyncio.to_thread(originals.drop_restored)
    chunks = sum(part.chunks + part.kept for part in chain.manifest.parts)
    held = f"{format_count(chunks, 'chunk')} and {format_count(len(uploads), 'upload')}"
    notes = [f"{format_count(len(written), 'collection')} with {held} are back."]
    if removed:
        more = len(removed) - MAX_NAMED
        left = f" and {more} more" if more > 0 else ""
        named = ", ".join(removed[:MAX_NAMED])
        notes.append(f"Accounts removed since the backup are not back: {named}{left}.")
    yield Upkeep("done", chunks, chunks, finished=True, notes=tuple(notes))


def _write_original(chain: Chain, number: int, original: Original, originals: Originals) -> None:
    with originals.open_restored(original.document, original.name) as file:
        chain.copy_original(number, original, file)


async def _write_collection(
    chain: Chain, number: int, index: ChunkIndex, collection: Collection
) -> AsyncGenerator[Upkeep, None]:
    """Write a collection of the backup to its new build, over any interrupted one."""
    check_late(index, collection)
    await index.create(collection)
    # What an interrupted restore left in this build.
    await index.drop(collection)
    await index.create(collection)
    part, done = chain.manifest.parts[number], 0
    async with bulk_load(index, collection), aclosing(_ahead(chain.batches(number))) as batches:
        async for batch in batches:
            await _write(index, collection, batch)
            done += len(batch.chunks)
            yield Upkeep(collection.name, done, part.chunks + part.kept)
    await index.optimize(collection)


async def _ahead(batches: Iterator[Batch]) -> AsyncGenerator[Batch, None]:
    """Yield batches, and read the next one while one is written."""
    reading = asyncio.create_task(asyncio.to_thread(next, batches, None))
    try:
        while batch := await reading:
            reading = asyncio.create_task(asyncio.to_thread(next, batches, None))
            yield batch
    finally:
        # The file is closed after this.
        await asyncio.gather(reading, return_exceptions=True)


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
