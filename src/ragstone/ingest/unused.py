"""Indexes of collections that were dropped, built anew or replaced: gone when nobody reads them."""

from ragstone.ports import Catalog, ChunkIndex


async def drop_unused(index: ChunkIndex, catalog: Catalog) -> bool:
    """Drop every index that is not used any more, once no search can be looking at it; False, and
    they stay for the next time, while somebody keeps them."""
    unused = await catalog.list_unused()
    if not unused:
        return True
    await catalog.drain()
    if await catalog.kept():
        return False
    for item in unused:
        await index.drop(item)
    await catalog.dropped(unused)
    return True
