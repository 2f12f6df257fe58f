"""Moves collections to the index at INDEX__URL, or within it to a place of their own, with their
vectors, while everything goes on.

Some collections are copied at a time, each while it answers from where it is. What has changed
meanwhile is copied once more while no ingest of it runs, and one transaction of the state says
where it is from then on, in all servers. A move that was cut off goes on with the next start.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import aclosing
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.errors import Conflict, IndexUnavailable, RagstoneError, UnknownCollection
from ragstone.core.filters import AnyOf
from ragstone.core.records import Collection
from ragstone.ingest import readers
from ragstone.ingest.migrate import AT_ONCE, BATCH, End, copy_all
from ragstone.ports import Catalog, ChunkIndex, Shares, bulk_load, check_late, home, may_share

ANOTHER_INDEX = (
    "Another server of this state uses another index, and this server's lacks documents that are "
    "known. Set INDEX__URL to the same one in every server."
)
"""Names neither the address, which may hold a password, nor a collection: everybody may read it."""


class Placement:
    """Looks for collections in the index of this process, and remembers which it has found."""

    def __init__(self, index: ChunkIndex, catalog: Catalog) -> None:
        self._index = index
        self._catalog = catalog
        self._found: set[Collection] = set()

    async def check(self, collection: Collection) -> None:
        """Raise Conflict where what is written for a collection would be found by no server that
        has the rest of it, or no other collection."""
        if await _holds_some(collection, self._index):
            return
        if await is_elsewhere(collection, self._catalog, self._index):
            raise Conflict(explain_elsewhere(collection.name))
        await self.check_all()

    async def check_all(self) -> None:
        """Raise Conflict where another server's index has what this one lacks."""
        if not await self._catalog.other_index():
            return
        for collection in set(await self._catalog.collections()) - self._found:
            if await _holds_some(collection, self._index):
                self._found.add(collection)
            elif await is_elsewhere(collection, self._catalog, self._index):
                raise Conflict(ANOTHER_INDEX)


async def is_elsewhere(collection: Collection, catalog: Catalog, index: ChunkIndex) -> bool:
    """Tell whether the index holds nothing of documents that have chunks: it was exchanged, or is
    that of another server, and they stayed behind."""
    documents = await catalog.documents(collection.tenant, collection.id, limit=10)
    if not any(document.chunks for document in documents) or await _holds_some(collection, index):
        return False
    # It may have been built anew, moved or dropped while this looked.
    now = await catalog.find_by_id(collection.tenant, collection.id)
    return now is not None and (now.build, now.place) == (collection.build, collection.place)


async def _holds_some(collection: Collection, index: ChunkIndex) -> bool:
    some = index.scan(collection, batch=1)  # To count all takes minutes where there are many.
    try:
        return await anext(some, None) is not None
    except UnknownCollection:  # Another server has made it.
        return False


def explain_elsewhere(name: str) -> str:
    """Return what is said of such a collection."""
    return (
        f"The index holds nothing of the documents in collection {name!r}. Move them from where "
        "they are with 'ragstone migrate', or set INDEX__URL back."
    )


log = logging.getLogger(__name__)

AGAIN_SECONDS = 60.0
"""Seconds after which a move that failed is tried again."""

TOLD_SECONDS = 60.0
"""Seconds after which the log says how far a move is."""

TRIES = 10
"""How often what differs is looked for while nobody writes; twice suffices."""


async def move_all(index: ChunkIndex, catalog: Catalog) -> None:
    """Move every collection that is not where new ones are made, or has outgrown what it shares;
    returns when none is left."""
    place, places = home(index), asyncio.Semaphore(AT_ONCE)

    async def try_to_move(collection: Collection) -> bool:
        async with places:
            return await move_if_due(index, catalog, collection)

    async def all_moved() -> bool:
        every = list(await catalog.collections())
        random.shuffle(every)  # Several servers begin with different ones.
        moved = await asyncio.gather(*map(try_to_move, every))
        return all(moved) and all(item.place == place for item in await catalog.collections())

    while True:
        if await all_moved():
            break
        await asyncio.sleep(AGAIN_SECONDS)
    await drop_unused(index, catalog)  # One that ended while another was kept had to leave it.
    if place:
        log.info("Every collection is at INDEX__URL: take INDEX__FROM_URL away.")


async def move_if_due(index: ChunkIndex, catalog: Catalog, collection: Collection) -> bool:
    """Move a collection that is to be elsewhere; False where it could not be moved now."""
    try:
        if await _is_due(index, collection):
            await move(index, catalog, collection)
    except RagstoneError as error:
        log.warning("Collection %r stays where it is for now: %s", collection.name, error)
        return False
    return True


async def _is_due(index: ChunkIndex, collection: Collection) -> bool:
    if collection.place != home(index):
        return True
    if not (collection.shared and isinstance(index, Shares)):
        return False
    # Where nothing is, the index may have been exchanged: it stays known where the chunks were.
    chunks = await index.count(collection)
    return chunks > 0 and not may_share(index, chunks)


async def move(index: ChunkIndex, catalog: Catalog, collection: Collection) -> None:
    """Move a collection to where it is to be. Does nothing where another server has moved it.

    Raises ConfigError where it could not be searched there as it is, IndexUnavailable.
    """
    async with catalog.alone(collection.tenant, f"{collection.id} on its way"):
        old = await catalog.find_by_id(collection.tenant, collection.id)
        if old is None or not await _is_due(index, old):
            return
        shared = may_share(index, await index.count(old))
        new = replace(old, build=old.build + 1, place=home(index), shared=shared)
        check_late(index, new)
        await index.create(new)
        async with bulk_load(index, new):
            await _copy(index, catalog, old, new, frozenset())
        await index.optimize(new)
        async with (
            catalog.alone(old.tenant, old.id),
            readers.lock_readers(catalog, old),
            catalog.keep_all(),
        ):
            now = await catalog.find_by_id(old.tenant, old.id)
            if now is None or now.build != old.build:
                return  # It was dropped or built anew.
            gone = await list_retired(catalog)
            for _ in range(TRIES):
                held = await _copy(index, catalog, old, new, gone)
                if not await remove_others(index, catalog, old, new, gone):
                    break
            if await index.count(new) != held:
                raise IndexUnavailable("not everything has arrived. It is tried again.")
            await index.optimize(new)
            await catalog.put_collection(new, known=True)
    log.info(
        "Collection %r is %s now, with %s chunks.",
        old.name,
        "in a place of its own" if old.place == new.place else "at INDEX__URL",
        held,
    )
    await drop_unused(index, catalog)


async def list_retired(catalog: Catalog) -> frozenset[str]:
    """Return the revisions that somebody may be deleting now, and then forget. What is retired
    while it is kept stays known, and so hidden, until it is not kept any more."""
    return frozenset(name for _, name in await catalog.list_retired())


async def remove_others(
    index: ChunkIndex, catalog: Catalog, old: Collection, new: Collection, gone: Set[str]
) -> bool:
    """Delete from the index of `new` what that of `old` does not hold or holds for other readers,
    and revisions that are `gone`; whether something went that is to be copied again."""
    again = False
    async for chunks in index.scan(new, batch=BATCH):
        known = await _keep_known(catalog, chunks, gone)
        held = await index.fetch(old, [chunk.chunk_id for chunk in chunks])
        others = {
            chunk.revision
            for chunk in chunks
            if chunk.revision not in known
            or chunk.chunk_id not in held
            or chunk.allowed != held[chunk.chunk_id].allowed
        }
        again |= bool(others & known)
        if others:
            await index.delete(new, AnyOf("revision", tuple(sorted(others))))
    return again


async def _copy(
    index: ChunkIndex, catalog: Catalog, old: Collection, new: Collection, gone: Set[str]
) -> int:
    """Copy the chunks that are not there yet, but those of revisions that are `gone`; how many are
    there then."""
    held = copied = 0
    told = time.monotonic()

    async def read_wanted() -> AsyncIterator[list[Chunk]]:
        async for chunks in index.scan(old, batch=BATCH):
            known = await _keep_known(catalog, chunks, gone)
            yield [chunk for chunk in chunks if chunk.revision in known]

    async with aclosing(copy_all(End(index, old), End(index, new), read_wanted())) as batches:
        async for there, new_ones in batches:
            held, copied = held + there, copied + new_ones
            if time.monotonic() - told > TOLD_SECONDS:
                told = time.monotonic()
                log.info("Collection %r: %s chunks copied, %s there.", old.name, copied, held)
    return held


async def _keep_known(catalog: Catalog, chunks: Sequence[Chunk], gone: Set[str]) -> Set[str]:
    """Return the revisions of some chunks that the state knows, without those that are gone."""
    return await catalog.revisions(list({chunk.revision for chunk in chunks})) - gone


async def drop_unused(index: ChunkIndex, catalog: Catalog) -> bool:
    """Drop every index that is not used any more, once no search can be looking at it; False, and
    they stay for the next time, while somebody keeps them."""
    unused = await catalog.list_unused()
    if not unused:
        return True
    # Searches that began before may still look at them.
    await catalog.drain()
    if await catalog.is_kept():
        return False
    for item in unused:
        await index.drop(item)
    await catalog.forget_dropped(unused)
    return True
