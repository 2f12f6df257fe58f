"""Keeps the vocabulary of collections up to date, in the background: no ingest waits for it.

What is to be read is what answers and was not read, so nothing is lost by a crash.
"""

import asyncio
import logging
from collections.abc import Sequence

from ragstone.core.chunk import MADE, Chunk
from ragstone.core.errors import RagstoneError
from ragstone.core.filters import AnyOf
from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker
from ragstone.ingest.turns import Waking
from ragstone.language.unicode import find_plain_words
from ragstone.ports import ChunkIndex, Vocabulary

log = logging.getLogger(__name__)

REVISIONS = 200
"""Documents read in one batch; finished batches survive the end of the process."""

PAUSE = 0.005
"""Seconds between two batches, so that questions go first."""


class VocabularyReader:
    """Reads the words of new documents (`ingest.enricher.Enricher`)."""

    reads_former = False

    def __init__(self, index: ChunkIndex, vocabulary: Vocabulary) -> None:
        self._index = index
        self._vocabulary = vocabulary
        self._waking = Waking(self._read)

    def wake(self, collection: Collection) -> None:
        """Read what is new in `collection`, now or after what is being read."""
        self._waking.wake(collection)

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        """Do nothing: no ingest waits for a vocabulary."""
        return False

    async def drain(self) -> None:
        """Return when everything has been read that was to be read."""
        await self._waking.drain()

    async def aclose(self, seconds: float = 3.0) -> None:
        """Wait some seconds for the running batch, then stop; the next start continues."""
        await self._waking.aclose(seconds)

    async def _read(self, collection: Collection) -> None:
        try:
            unread = await self._vocabulary.unread(collection)
            for start in range(0, len(unread), REVISIONS):
                await self._add(collection, unread[start : start + REVISIONS])
        except RagstoneError as error:
            log.warning("The words of collection %r could not be read: %s", collection.name, error)

    async def _add(self, collection: Collection, revisions: Sequence[str]) -> None:
        where = AnyOf("revision", tuple(revisions))
        words: set[str] = set()
        seen: set[str] = set()
        async for chunks in self._index.scan(collection, where):
            words |= await asyncio.to_thread(_words, chunks)
            seen |= {chunk.revision for chunk in chunks}
            await asyncio.sleep(PAUSE)
        # The others are not here any more: the collection moves, or was dropped.
        await self._vocabulary.add(
            collection, words, [revision for revision in revisions if revision in seen]
        )


def _words(chunks: Sequence[Chunk]) -> set[str]:
    found: set[str] = set()
    for chunk in chunks:
        if chunk.kind not in MADE:
            found |= find_plain_words(chunk.searchable)
    return found
