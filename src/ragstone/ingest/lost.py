"""Whether an index is the one that the chunks of collections were written to."""

from ragstone.core.errors import Conflict, UnknownCollection
from ragstone.core.records import Collection
from ragstone.ports import Catalog, ChunkIndex

ANOTHER = (
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
            raise Conflict(elsewhere(collection.name))
        await self.check_all()

    async def check_all(self) -> None:
        """Raise Conflict where another server's index has what this one lacks."""
        if not await self._catalog.other_index():
            return
        for collection in set(await self._catalog.collections()) - self._found:
            if await _holds_some(collection, self._index):
                self._found.add(collection)
            elif await is_elsewhere(collection, self._catalog, self._index):
                raise Conflict(ANOTHER)


async def is_elsewhere(collection: Collection, catalog: Catalog, index: ChunkIndex) -> bool:
    """Whether the index holds nothing of documents that have chunks: it was exchanged, or is that
    of another server, and they stayed behind."""
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


def elsewhere(name: str) -> str:
    """What is said of such a collection."""
    return (
        f"The index holds nothing of the documents in collection {name!r}. Move them from where "
        "they are with 'ragstone migrate', or set INDEX__URL back."
    )
