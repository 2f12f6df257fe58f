"""Gives chunks their vectors, behind the text.

While one batch is in the model, the next is read and the last is written, so that the model is
never idle for the index's sake.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ports import Catalog, ChunkIndex, Embedder, Embedders, LateEmbedder, Vectors, in_bulk
from ragstone.settings import IngestSettings

BATCH, MIN_BATCH = 64, 8
"""Chunks in one call of the embedder at most, and at least where it is slow."""

SLOW_SECONDS = 5.0
"""A call that takes longer is followed by a smaller one, so that progress is seen."""

MAX_WAITING = 2_048
"""Chunks that wait in memory; of more, the index is asked, which looks at all that it has."""

IDLE_SECONDS = 0.05

Leaves = Callable[[], Awaitable[bool]]
"""Whether chunks of others may be left without vectors, because somebody else sees to them."""


async def leave_nothing() -> bool:
    return False


class Pending:
    """The chunks of a collection that wait for vectors: those written now are told to it, others
    are asked of the index, which itself knows which ones wait; or `these` alone."""

    def __init__(
        self, index: ChunkIndex, collection: Collection, these: Sequence[Chunk] | None = None
    ) -> None:
        self._index = index
        self._collection = collection
        self._held: deque[Chunk] = deque(these or ())
        self._busy: set[str] = set()
        self._behind = these is None
        self._passed = 0
        self._passed_own = False
        self._told = asyncio.Event()
        self._finished_elsewhere: set[str] = set()

    @contextmanager
    def mark_writing(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        """Keep these from the index's answers while they are written there."""
        ids = {chunk.chunk_id for chunk in chunks}
        self._busy |= ids
        try:
            yield
        finally:
            self._busy -= ids
            self._add(chunks)

    def _add(self, chunks: Sequence[Chunk]) -> None:
        if len(self._held) + len(chunks) > MAX_WAITING:
            self._behind = self._passed_own = True
            self._passed += 1
        else:
            self._held.extend(chunks)
        self._told.set()

    @property
    def chunks_in_memory(self) -> int:
        """How many are in memory."""
        return len(self._held)

    @property
    def may_have_more(self) -> bool:
        """Whether the index may have more than is in memory."""
        return self._behind

    def spare(self, most: int) -> list[Chunk]:
        """Return some for another process, of those that would be taken last; busy until it is said
        that their ids are removed, or are `put_back`."""
        some = [self._held.pop() for _ in range(min(most, len(self._held)))]
        self._busy |= {chunk.chunk_id for chunk in some}
        return some

    def remove_ids(self, ids: Iterable[str]) -> None:
        """These have their vectors. A look into the index that goes on may not know it yet."""
        self._finished_elsewhere |= set(ids)

    def put_back(self, ids: Iterable[str]) -> None:
        """Note that those of them without vectors are to be embedded here after all."""
        self._busy -= set(ids)
        self.count_written_elsewhere()

    def count_written_elsewhere(self) -> None:
        """Count chunks of this job that another process has written."""
        self._behind = self._passed_own = True
        self._passed += 1
        self._told.set()

    async def take(self, most: int = BATCH, leaves: Leaves = leave_nothing) -> list[Chunk]:
        """Return the next batch, those that were told first; none if nothing waits, or all that was
        told is taken and somebody else sees to others. What is taken is busy until `remove`."""
        while self._behind and not self._held:
            if not self._passed_own and await leaves():
                self._behind = self._passed_own  # Chunks may have come meanwhile.
                continue
            # Now the index knows that these have vectors.
            self._busy -= self._finished_elsewhere
            self._finished_elsewhere.clear()
            passed = self._passed
            # The index gives busy ones too: it does not know that they are in the model.
            limit = MAX_WAITING + len(self._busy)
            found = await self._index.without_vectors(self._collection, limit)
            known = self._busy | {item.chunk_id for item in self._held}
            self._held.extend(item for item in found if item.chunk_id not in known)
            # What was passed by meanwhile may have been written behind the index's back.
            self._behind = len(found) == limit or passed != self._passed
        batch = [self._held.popleft() for _ in range(min(most, len(self._held)))]
        self._busy |= {chunk.chunk_id for chunk in batch}
        return batch

    def remove(self, chunks: Sequence[Chunk]) -> None:
        """Note that these have their vectors."""
        self._busy -= {chunk.chunk_id for chunk in chunks}

    async def wait_for_more(self, seconds: float) -> bool:
        """Whether anything was written since this was asked last, or is within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return False
        self._told.clear()
        return True


def late_dimensions(embedder: Embedder, settings: IngestSettings) -> int:
    """Return the length of the token vectors by which a new collection of this embedder is
    searched; 0 where it is not."""
    if settings.late_interaction and isinstance(embedder, LateEmbedder):
        return embedder.token_dimensions()
    return 0


def explain_missing_late(
    collection: Collection, embedder: Embedder, settings: IngestSettings
) -> str:
    """Return the sentence that says why a collection is not searched by late interaction although
    that is wanted; empty where it is or is not wanted."""
    if collection.late or not settings.late_interaction:
        return ""
    if isinstance(embedder, LateEmbedder):
        return (
            f"INGEST__TOKEN_VECTORS=search has no effect: collection {collection.name!r} was made "
            f"without it. Run 'ragstone rebuild --collection {collection.name}'."
        )
    return (
        f"INGEST__TOKEN_VECTORS=search has no effect: {embedder.name} gives no vectors of tokens. "
        "Name a ColBERT model in EMBEDDING__LATE_MODEL, and rebuild."
    )


async def embed_pending(
    index: ChunkIndex,
    catalog: Catalog,
    embedders: Embedders,
    collection: Collection,
    more_to_come: Callable[[], bool],
    report: Callable[[int], None],
    with_tokens: bool = True,
    pending: Pending | None = None,
    leaves: Leaves = leave_nothing,
) -> None:
    """Embed until nothing waits and `more_to_come` says no; `report` hears each batch's size.

    `with_tokens` keeps the token vectors of embedders that give them. `pending` is told of what
    is written meanwhile; what is not is embedded last, if at all where it `leaves` that.
    """
    embedder, bridge = embedders.find_indexing(collection), embedders.find_bridging(collection)
    with_tokens = with_tokens or collection.late > 0
    pending = pending or Pending(index, collection)
    writer = _Writer(index, collection, report, pending)
    try:
        while True:
            more = more_to_come()
            embedded = await _embed_waiting(embedder, bridge, writer, pending, with_tokens, leaves)
            await _mark_ready(index, catalog, collection)
            if more_to_come():
                while not await pending.wait_for_more(IDLE_SECONDS) and more_to_come():
                    pass
            elif not more and not embedded:
                # While something was embedded, others may have taken some, and given it back.
                return
    finally:
        await writer.settle()


async def embed_chunks(
    index: ChunkIndex,
    embedders: Embedders,
    collection: Collection,
    chunks: Sequence[Chunk],
    report: Callable[[int], None],
    with_tokens: bool,
) -> None:
    """Embed chunks of a collection; `report` hears each batch's size."""
    embedder, bridge = embedders.find_indexing(collection), embedders.find_bridging(collection)
    pending = Pending(index, collection, chunks)
    writer = _Writer(index, collection, report, pending)
    try:
        await _embed_waiting(embedder, bridge, writer, pending, with_tokens or collection.late > 0)
    finally:
        await writer.settle()


async def embed(
    embedder: Embedder, chunks: Sequence[Chunk], with_tokens: bool, bridge: Embedder | None = None
) -> tuple[Vectors, list[bytes] | None]:
    """Return the chunks' vectors, and their token vectors if they are wanted and the model gives
    them. Where there is a `bridge`, it gives those in other languages than English theirs."""
    texts = [chunk.searchable for chunk in chunks]
    tokens: list[bytes] | None = None
    with in_bulk():
        if with_tokens and isinstance(embedder, LateEmbedder):
            vectors, tokens = await embedder.embed_with_tokens(texts)
        else:
            vectors = await embedder.embed_passages(texts)
        # The model of an English collection finds texts in other languages less well by meaning.
        foreign = [place for place, chunk in enumerate(chunks) if chunk.language not in ("", "en")]
        if bridge and foreign:
            vectors[foreign] = await bridge.embed_passages([texts[place] for place in foreign])
    return vectors, tokens


async def _embed_waiting(
    embedder: Embedder,
    bridge: Embedder | None,
    writer: "_Writer",
    pending: Pending,
    with_tokens: bool,
    leaves: Leaves = leave_nothing,
) -> bool:
    """Embed until nothing waits: read, embed and write three batches at a time. Whether anything
    did."""
    most = BATCH
    batch = await pending.take(most, leaves)
    waited = bool(batch)
    while batch:
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            vectors = group.create_task(embed(embedder, batch, with_tokens, bridge))
            await writer.settle()
            following = await pending.take(most, leaves)
        most = next_size(most, len(batch), time.monotonic() - began)
        writer.begin(batch, *vectors.result())
        # What came while the last batch was in the model.
        batch = following or await pending.take(most, leaves)
    await writer.settle()
    return waited


def next_size(most: int, chunks: int, seconds: float) -> int:
    """Tell how many chunks the embedder gets at once after it took so long for so many."""
    if seconds > SLOW_SECONDS:
        # Halved and doubled, as the time of one chunk depends on its length.
        return max(MIN_BATCH, most // 2)
    return min(BATCH, 2 * most) if 4 * seconds < SLOW_SECONDS and chunks == most else most


class _Writer:
    """Writes one batch of vectors at a time, in the background."""

    def __init__(
        self,
        index: ChunkIndex,
        collection: Collection,
        report: Callable[[int], None],
        pending: Pending,
    ) -> None:
        self._index = index
        self._collection = collection
        self._report = report
        self._pending = pending
        self._task: asyncio.Task[None] | None = None

    def begin(
        self, batch: Sequence[Chunk], vectors: Vectors, tokens: Sequence[bytes] | None
    ) -> None:
        self._task = asyncio.create_task(self._write(batch, vectors, tokens))

    async def settle(self) -> None:
        """Wait for the batch that is being written; leaving early does not stop it."""
        if self._task is not None:
            # Half a batch of vectors would be asked for again.
            await asyncio.shield(self._task)

    async def _write(
        self, batch: Sequence[Chunk], vectors: Vectors, tokens: Sequence[bytes] | None
    ) -> None:
        ids = [chunk.chunk_id for chunk in batch]
        await self._index.set_vectors(self._collection, ids, vectors, tokens)
        self._pending.remove(batch)
        self._report(len(batch))


async def _mark_ready(index: ChunkIndex, catalog: Catalog, collection: Collection) -> None:
    """Documents that had their text before a scan found nothing waiting have all vectors."""
    documents = await catalog.in_text(collection.tenant, collection.id)
    # In this order: documents that are written after the first line are not in it.
    if documents and not await index.without_vectors(collection, 1):
        await catalog.mark_embedded(documents)


SINGLE = 0.75
"""A collection is in one language if at least this share of its passages is."""

OTHERS = 0.1
"""Share of passages in other languages from which English ones are mixed too: the English model
finds less by meaning in those."""

REAL = 0.03
"""Share of passages from which a language counts: names and code are taken for others."""


def main_language(counts: Mapping[str, int]) -> str:
    """The language of passages with these languages, "mul" for several, "" where none is known."""
    known = Counter({code: number for code, number in counts.items() if code})
    total = known.total()
    if not total:
        return ""
    (language, most), *others = known.most_common()
    if most < SINGLE * total:
        return "mul"
    real = sum(number for _, number in others if number >= REAL * total)
    return "mul" if language == "en" and real >= OTHERS * total else language


def may_outgrow(collection: Collection, embedders: Embedders) -> bool:
    """Tell whether there are passages that the collection's embedding model does not fit."""
    every = (embedders.choose(language) for language in ("en", "mul"))
    return any(item.multilingual and item.fingerprint != collection.fingerprint for item in every)


def explain_outgrown(
    collection: Collection, counts: Mapping[str, int], embedders: Embedders
) -> str:
    """Return one sentence where the passages have outgrown the collection's embedding model: it
    knows English only, and they have other languages by now; empty where it fits."""
    language = main_language(counts)
    fitting = embedders.choose(language)
    if not fitting.multilingual or collection.fingerprint == fitting.fingerprint:
        return ""
    total = sum(counts.values())
    others = [
        c for c, n in Counter(counts).most_common() if c not in ("", "en") and n >= REAL * total
    ]
    return (
        f"Collection {collection.name!r} has passages in {', '.join(others)} by now, and "
        f"{collection.model} finds them less well. "
        f"'ragstone rebuild --collection {collection.name}' embeds all with {fitting.name}."
    )
