"""What does the operations of `opening_lines.py`, from what an adapter has read."""

import asyncio
import logging
from collections.abc import Sequence

from ragstone.core.errors import UnknownCollection
from ragstone.core.filters import OWN_TEXT, And, Range, exclude_hidden, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.local.added import AdapterParts, ServiceParts
from ragstone.ports import Adapters, ChunkIndex
from ragstone_example.opening_lines import OpeningLine

log = logging.getLogger(__name__)

DAY = 86_400.0


class FirstChunks:
    """An adapter: reads the first chunks of documents from the index."""

    def __init__(self, index: ChunkIndex) -> None:
        self._index = index

    async def read(
        self, collection: Collection, principal: Principal, hidden: frozenset[str], limit: int
    ) -> Sequence[OpeningLine]:
        """How the documents that the principal may read begin, by path."""
        # The filter holds the permissions: nothing else may be shown.
        first = And((OWN_TEXT, Range("chunk_index", at_most=0)))
        where = And((reader_filter(principal), exclude_hidden(hidden), first))
        lines: list[OpeningLine] = []
        async for chunks in self._index.scan(collection, where):
            lines += [OpeningLine(chunk.path, chunk.text[:60]) for chunk in chunks]
        return sorted(lines, key=lambda line: line.path)[:limit]


def first_chunks(parts: AdapterParts) -> FirstChunks:
    """Reads how documents begin."""
    return FirstChunks(parts.index)


class LocalOpeningLines:
    """`OpeningLines` in this process."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def watch(self) -> None:
        """Say in the log what can be shown, once a day."""
        while True:
            known = await self._adapters.catalog.collections(Principal().tenant)
            log.info("There are %d collections with opening lines.", len(known))
            await asyncio.sleep(DAY)

    async def show(
        self, principal: Principal, collection: str, *, limit: int = 10
    ) -> list[OpeningLine]:
        catalog = self._adapters.catalog
        known = await catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        reader: FirstChunks = self._adapters.added["first_chunks"]
        async with catalog.snapshot(known) as hidden:
            return list(await reader.read(known, principal, hidden, limit))


def open_service(parts: ServiceParts) -> LocalOpeningLines:
    """Make the operations of this process."""
    return LocalOpeningLines(parts.adapters)
