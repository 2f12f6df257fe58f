"""Short documents that are written together: one transaction for many instead of for each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import TracebackType

from ragstone.core.records import Collection
from ragstone.ingest.comparison import ChangedFile
from ragstone.ingest.embedding import Pending
from ragstone.ingest.write import ReadDocument, Writer, Written

DOCUMENTS = 64
CHUNKS = 512
"""So many are written in one step."""

SECONDS = 0.25
"""How long a document that was read waits for others, so that it can soon be found."""

Done = Callable[[Sequence[tuple[ChangedFile, Written]]], Awaitable[None]]


class BatchWriter:
    """Gathers documents of a collection; at the exit all are written. `done` hears of them."""

    def __init__(
        self, writer: Writer, collection: Collection, pending: Pending, done: Done
    ) -> None:
        self._writer = writer
        self._collection = collection
        self._pending = pending
        self._done = done
        self._waiting: list[tuple[ChangedFile, ReadDocument]] = []
        self._turn = asyncio.Lock()
        self._clock: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def __aenter__(self) -> "BatchWriter":
        self._clock = asyncio.create_task(self._every_while())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        clock, self._clock = self._clock, None
        if clock is None:
            return
        if error is not None:
            clock.cancel()
            await asyncio.gather(clock, return_exceptions=True)
            return
        # What it writes just now is written to the end.
        self._ended.set()
        await clock
        await self._write()

    async def add(self, changed: ChangedFile, read: ReadDocument | Written) -> None:
        """Take a document that was read, or that is written already."""
        if isinstance(read, Written):
            await self._done([(changed, read)])
            return
        self._waiting.append((changed, read))
        chunks = sum(len(item.pieces) for _, item in self._waiting)
        if len(self._waiting) >= DOCUMENTS or chunks >= CHUNKS:
            await self._write()
        if self._clock is not None and self._clock.done():
            # The error of a write in the background, raised where the ingest sees it.
            self._clock.result()

    async def _every_while(self) -> None:
        while not self._ended.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self._ended.wait()
            await self._write()

    async def _write(self) -> None:
        """Write what waits; to be left in the midst of it harms nothing, as it is done again."""
        async with self._turn:
            # Under the lock, as the clock and `add` may both come to write.
            some, self._waiting = self._waiting, []
            if not some:
                return
            documents = [read for _, read in some]
            written = await self._writer.put(self._collection, documents, self._pending)
            changed = [item for item, _ in some]
            await self._done(list(zip(changed, written, strict=True)))
