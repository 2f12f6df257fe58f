"""Whether an index is the one that a collection's chunks were written to."""

from ragstone.core.records import Collection
from ragstone.ports import Catalog, ChunkIndex


async def is_elsewhere(collection: Collection, catalog: Catalog, index: ChunkIndex) -> bool:
    """Whether the index holds nothing of documents that have chunks: it was exchanged, or is that
    of another server, and they stayed behind."""
    documents = await catalog.documents(collection.tenant, collection.id, limit=10)
    if not any(one.chunks for one in documents):
        return False
    some = index.scan(collection, batch=1)  # To count all takes minutes where there are many.
    return await anext(some, None) is None


def elsewhere(name: str) -> str:
    """What is said of such a collection."""
    return (
        f"The index holds nothing of the documents in collection {name!r}. Move them from where "
        "they are with 'ragstone migrate', or set INDEX__URL back."
    )
