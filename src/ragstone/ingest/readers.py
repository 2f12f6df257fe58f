"""Gives documents other readers without reading their files.

In one transaction the catalog takes the new readers and withholds the documents: nobody finds them
from then on, and no earlier answer comes from the cache. Their chunks are given the new readers,
with the vectors that they have, and then they are shown. A kill in between leaves them withheld;
the next start goes on.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.filters import AnyOf
from ragstone.core.readers import FolderReaders
from ragstone.core.records import Collection
from ragstone.ingest.migrate import BATCH, End, copy_all
from ragstone.ports import Catalog, ChunkIndex

AT_ONCE = 100
"""Documents that are withheld at a time: each search of the collection has all in its filter."""


def lock_readers(catalog: Catalog, collection: Collection) -> AbstractAsyncContextManager[None]:
    """Let nobody else give chunks of the collection other readers, or take their readers over."""
    return catalog.alone(collection.tenant, f"{collection.id} readers")


async def give_readers(
    index: ChunkIndex,
    catalog: Catalog,
    collection: Collection,
    document_ids: Sequence[str],
    own: tuple[str, ...] | None = None,
    fixed: bool = False,
) -> None:
    """`Catalog.give_readers`, and then their chunks have them, some documents at a time."""
    for start in range(0, len(document_ids), AT_ONCE):
        some = document_ids[start : start + AT_ONCE]
        await catalog.give_readers(some, own, fixed)
        await grant(index, catalog, collection)


async def put_folder_readers(
    index: ChunkIndex, catalog: Catalog, collection: Collection, rules: Sequence[FolderReaders]
) -> None:
    """Have folders give these readers to what is in them and to what comes."""
    await catalog.put_folder_readers(collection.tenant, collection.id, rules)
    await apply_rules(index, catalog, collection)


async def apply_rules(index: ChunkIndex, catalog: Catalog, collection: Collection) -> None:
    """Give what is in folders the readers of rules that a kill, or nobody yet, has applied."""
    place = collection.tenant, collection.id
    rules = [rule for key, rule in await catalog.list_unapplied_readers() if key == place]
    for folder in sorted({rule.folder for rule in rules}):
        ids = await catalog.ids(*place, None, folder or None)
        await give_readers(index, catalog, collection, ids)
    if rules:
        await catalog.mark_readers_applied(*place, rules)


async def grant(index: ChunkIndex, catalog: Catalog, collection: Collection) -> None:
    """Give the chunks of withheld documents their readers, and show them."""
    tenant, id = collection.tenant, collection.id
    while await catalog.list_withheld(1, tenant, id):
        async with lock_readers(catalog, collection):
            # It may have been built anew or moved.
            now = await catalog.find_by_id(tenant, id)
            if now is None:
                return
            given = {
                name: names for _, name, names in await catalog.list_withheld(AT_ONCE, tenant, id)
            }
            place = End(index, now)
            async with aclosing(
                copy_all(place, place, _replace_readers(index, now, given))
            ) as batches:
                async for _ in batches:
                    pass
            await catalog.grant(given)


async def upsert_made(
    index: ChunkIndex, catalog: Catalog, collection: Collection, chunks: Sequence[Chunk]
) -> None:
    """Write what was made of documents that answer, for who may read these now."""
    async with lock_readers(catalog, collection):
        known = await catalog.find_documents(list({chunk.document_id for chunk in chunks}))
        rows = [
            replace(chunk, allowed=known[chunk.document_id].allowed)
            for chunk in chunks
            if chunk.document_id in known
        ]
        await index.upsert(collection, rows)


async def finish_changes(index: ChunkIndex, catalog: Catalog) -> None:
    """Do what an earlier process has left undone, in every collection."""
    rules = {key for key, _ in await catalog.list_unapplied_readers()}
    waiting = {key for key, *_ in await catalog.list_withheld(1_000_000)}
    for tenant, id in sorted(rules | waiting):
        if collection := await catalog.find_by_id(tenant, id):
            await apply_rules(index, catalog, collection)
            await grant(index, catalog, collection)


async def _replace_readers(
    index: ChunkIndex, collection: Collection, given: Mapping[str, tuple[str, ...]]
) -> AsyncIterator[Sequence[Chunk]]:
    where = AnyOf("revision", tuple(given))
    async for chunks in index.scan(collection, where, batch=BATCH):
        yield [replace(chunk, allowed=given[chunk.revision]) for chunk in chunks]
        await asyncio.sleep(0)
