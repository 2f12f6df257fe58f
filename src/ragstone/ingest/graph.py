"""Reads what the chunks of new documents name, in the background: no ingest waits for it.

What is to be read is what answers and was not read, so nothing is lost by a crash, and what was
indexed before the graph was switched on is read too.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from ragstone.core.chunk import Chunk
from ragstone.core.entities import EntityMention
from ragstone.core.errors import RagstoneError
from ragstone.core.filters import AnyOf
from ragstone.core.records import Collection
from ragstone.ingest.waking import Waking
from ragstone.knowledge.graph.extract import READING, mentions_of
from ragstone.ports import Catalog, ChunkIndex, Mentions

log = logging.getLogger(__name__)

REVISIONS = 50
"""Documents read in one batch; finished batches survive the end of the process."""

PAUSE = 0.001
"""Seconds between such rows, so that questions go first."""

IN_A_ROW = 32
"""Chunks that are read before a thread lets others go on."""


class GraphReader:
    """Keeps the entity graph of the collections that `wanted` says to have one up to date; `wake`
    it whenever there may be new documents, or when that has changed."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        mentions: Mentions,
        wanted: Callable[[Collection], bool],
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._mentions = mentions
        self._wanted = wanted
        self._waking = Waking(self._read)

    def wake(self, collection: Collection) -> None:
        """Read what is new in `collection`, now or after what is being read; forget what was read
        if it is to have no graph."""
        self._waking.wake(collection)

    async def wake_all(self) -> None:
        """The same for every collection."""
        for collection in await self._catalog.collections():
            self.wake(collection)

    async def drained(self) -> None:
        """Return when everything has been read that was to be read."""
        await self._waking.drained()

    async def aclose(self, seconds: float = 3.0) -> None:
        """Wait some seconds for the running batch, then stop; the next start continues."""
        await self._waking.aclose(seconds)

    async def _read(self, collection: Collection) -> None:
        try:
            if not self._wanted(collection):
                await self._mentions.forget(collection)
                return
            unread = await self._mentions.unread(collection, READING)
            for start in range(0, len(unread), REVISIONS):
                await self._put(collection, unread[start : start + REVISIONS])
        except RagstoneError as error:
            log.warning("The names in collection %r could not be read: %s", collection.name, error)

    async def _put(self, collection: Collection, revisions: Sequence[str]) -> None:
        await self._mentions.begin(collection, revisions)
        async for chunks in self._index.scan(collection, AnyOf("revision", tuple(revisions))):
            found: list[EntityMention] = []
            for start in range(0, len(chunks), IN_A_ROW):
                found += await asyncio.to_thread(_mentions, chunks[start : start + IN_A_ROW])
                await asyncio.sleep(PAUSE)
            await self._mentions.add(collection, found)
        await self._mentions.finish(collection, READING, revisions)


def _mentions(chunks: Sequence[Chunk]) -> list[EntityMention]:
    return [mention for chunk in chunks for mention in mentions_of(chunk)]
