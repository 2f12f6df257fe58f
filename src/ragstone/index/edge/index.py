"""The chunk index on Qdrant Edge: one shard per collection, in this process.

Edge calls block and release the GIL, so they run on threads of their own. Shards open on demand;
beyond `max_open` the least used idle one is closed (a shard takes about 0.5 MB of memory and 49
memory maps, of which Linux allows a process 65,530).
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import EVERYTHING, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.filter import translate
from ragstone.index.edge.optimize import Builder
from ragstone.index.edge.pool import OpenShard, ShardPool, translate_errors
from ragstone.index.edge.shard import BM25, DENSE, LATE, flush_shard, holds_deleted, points
from ragstone.index.late import (
    candidate_count,
    check_searches,
    check_vectors,
    chunk_encodings,
    question_encoding,
    rerank_late,
)
from ragstone.ports import Search, Vectors

T = TypeVar("T")

log = logging.getLogger(__name__)

BATCH = 1_000
"""Values read in one step while counting."""

DELETED = 100
"""Chunks deleted in one step, which takes 3 ms: searches wait for it."""

OF_ONE_DOCUMENT = frozenset({"revision", "document_id", "path"})
MAX_READ = 100_000
"""Edge counts the chunks of each value anew under the whole filter: of fields that have another
value in every document that takes the square of the documents, so the values of up to so many
chunks are read instead."""

MIN_OPTIMIZE = 1_000
"""Chunks written before a shard is built anew: scanning that many is faster, but its log of writes
takes as much again."""

MANY_UNOPTIMIZED, MAX_UNOPTIMIZED = 12_500, 100_000
"""Chunks written before search structures are built behind the writer, and before a writer waits
for them: until then they are in memory, 5 KB each, and are scanned by every search."""

GONE_SECONDS = 0.02
"""How often it is looked whether the former files of a shard are gone."""

SHARE = 4
"""Of a large shard, which is copied each time, a part as large as this is written first."""


class EdgeIndex:
    """`ports.ChunkIndex` in the directory `root`, made if need be. One process at a time."""

    searches_late = True

    def __init__(self, root: Path, threads: int = 4, max_open: int = 64) -> None:
        self._root = root
        self._pool = ShardPool(root, max_open)
        self._builder = Builder(self._pool)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="edge")
        # One at a time: building takes a processor and room on the disk for a copy.
        self._background = ThreadPoolExecutor(1, thread_name_prefix="edge-optimize")
        self._building: dict[Collection, asyncio.Task[None]] = {}

    async def create(self, collection: Collection) -> None:
        await self._run(collection, lambda held: None)

    async def drop(self, collection: Collection) -> None:
        if building := self._building.get(collection):
            building.cancel()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self._pool.remove, collection)

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        if vectors is not None:
            check_vectors(collection, vectors)

        def write(held: OpenShard) -> int:
            self._pool.need_space()
            late = chunk_encodings(collection, tokens)
            batch = points(chunks, vectors, held.bm25, late)
            if tokens is not None:
                held.tokens.put([chunk.chunk_id for chunk in chunks], tokens)
            with held.lock:
                return held.live.write(edge.UpdateOperation.upsert_points(batch), len(batch))

        if chunks:
            await self._write(collection, write)

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        check_vectors(collection, vectors)

        def write(held: OpenShard) -> int:
            self._pool.need_space()
            rows = {i: {DENSE: row} for i, row in zip(ids, vectors.tolist(), strict=True)}
            late = chunk_encodings(collection, tokens)
            for i, encoding in zip(ids, [] if late is None else late.tolist(), strict=False):
                rows[i][LATE] = encoding
            with held.lock:
                live = held.live
                # A chunk that was deleted meanwhile would come back with nothing but a vector.
                alive = [str(r.id) for r in live.shard.retrieve(list(rows), False, False)]
                pairs = [edge.PointVectors(i, rows[i]) for i in alive]
                if tokens is not None:
                    packed = dict(zip(ids, tokens, strict=True))
                    held.tokens.put(alive, [packed[i] for i in alive])
                if not pairs:
                    return 0
                return live.write(edge.UpdateOperation.update_vectors(pairs), len(pairs))

        if ids:
            await self._write(collection, write)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        missing = _without_vectors(where)

        def read(held: OpenShard) -> list[Chunk]:
            request = edge.ScrollRequest(limit=limit, filter=missing, with_payload=True)
            return [_chunk(record) for record in held.shard.scroll(request)[0]]

        return await self._run(collection, read)

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        request = edge.CountRequest(exact=True, filter=_without_vectors(where))
        return await self._run(collection, lambda held: held.shard.count(request))

    async def search(
        self,
        collection: Collection,
        searches: Sequence[Search],
        where: Filter,
        limit: int,
        exact: bool = False,
    ) -> list[RankedList]:
        condition = translate(where)
        check_searches(collection, searches)

        def read(held: OpenShard) -> list[RankedList]:
            requests = [_request(s, held.bm25, condition, limit, exact) for s in searches]
            answers = held.shard.query_batch(edge.QueryBatchRequest(requests))
            return [
                _build_ranked_list(s, found) for s, found in zip(searches, answers, strict=True)
            ]

        found = await self._run(collection, read) if searches else []
        return await rerank_late(self, collection, searches, found, limit)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        def read(held: OpenShard) -> dict[str, Chunk]:
            records = held.shard.retrieve(list(ids), True, False)
            return {str(record.id): _chunk(record) for record in records}

        return await self._run(collection, read) if ids else {}

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        def read(held: OpenShard) -> dict[str, Vectors]:
            records = held.shard.retrieve(list(ids), False, [DENSE])
            # Each look at `vector` copies all of it.
            looked = ((str(record.id), record.vector) for record in records)
            return {
                id: np.asarray(named[DENSE], np.float32)
                for id, named in looked
                if isinstance(named, dict) and DENSE in named
            }

        return await self._run(collection, read) if ids else {}

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        return await self._run(collection, lambda held: held.tokens.get(ids)) if ids else {}

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        condition = translate(where)
        offset: Any = None
        while True:
            request = edge.ScrollRequest(
                limit=batch, filter=condition, with_payload=True, offset=offset
            )
            records, offset = await self._run(collection, partial(_scroll, request))
            if records:
                yield [_chunk(record) for record in records]
            if offset is None:
                return

    async def delete(self, collection: Collection, where: Filter) -> None:
        condition = translate(where)

        def write(held: OpenShard) -> None:
            self._pool.need_space()
            offset: Any = None
            while True:
                request = edge.ScrollRequest(limit=DELETED, filter=condition, offset=offset)
                records, offset = held.shard.scroll(request)
                ids = [record.id for record in records]
                # Tokens first: a crash in between leaves chunks whose tokens are made when needed,
                # where the other order would leave tokens that nobody deletes.
                held.tokens.delete([str(id) for id in ids])
                if offset is None:
                    break
                with held.lock:
                    held.live.delete(edge.UpdateOperation.delete_points(ids))
            # What was written meanwhile too.
            with held.lock:
                held.live.delete(edge.UpdateOperation.delete_points_by_filter(condition))

        await self._run(collection, write)

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        request = edge.CountRequest(exact=True, filter=translate(where))
        return await self._run(collection, lambda held: held.shard.count(request))

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        condition = translate(where)

        def read(held: OpenShard) -> dict[str, int]:
            if field in OF_ONE_DOCUMENT:
                # Counting first is cheap, and tells which of the two ways is.
                inside = edge.CountRequest(exact=True, filter=condition)
                if held.shard.count(inside) <= MAX_READ:
                    return _count_values(held, field, condition, limit)
            request = edge.FacetRequest(field, limit=limit, exact=True, filter=condition)
            return {str(hit.value): hit.count for hit in held.shard.facet(request)}

        return await self._run(collection, read)

    async def optimize(self, collection: Collection) -> None:
        def build(held: OpenShard) -> None:
            if held.unoptimized >= MIN_OPTIMIZE:
                self._builder.build(collection, held)
            with held.lock:
                flush_shard(held.live.path, held.live.shard)

        await self._run(collection, build, self._background)

    async def erase(self, collection: Collection, deleted: bool) -> None:
        """`ports.Erases`: the shard keeps track of what was deleted from it."""

        def rewrite(held: OpenShard) -> Path:
            self._builder.build(collection, held, erasing=True)
            held.tokens.rewrite()
            return held.path

        if await asyncio.to_thread(holds_deleted, self._root, collection):
            former = await self._run(collection, rewrite, self._background)
            await asyncio.to_thread(_wait_until_gone, former)

    async def ready(self) -> None:
        if not self._root.is_dir():
            raise IndexUnavailable(f"The index directory {self._root} is gone. Restore it.")

    async def aclose(self) -> None:
        """Flush and close every shard; the index cannot be used afterwards."""

        def close() -> None:
            self._builder.stop()
            self._background.shutdown()
            self._pool.close()

        await asyncio.get_running_loop().run_in_executor(self._threads, close)
        self._threads.shutdown()

    async def _write(self, collection: Collection, write: Callable[[OpenShard], int]) -> None:
        """Write, and have search structures built when much was written without any."""

        def write_counted(held: OpenShard) -> tuple[int, int]:
            return write(held), held.optimized

        unoptimized, optimized = await self._run(collection, write_counted)
        if unoptimized >= min(MAX_UNOPTIMIZED, max(MANY_UNOPTIMIZED, optimized // SHARE)):
            building = self._build_task(collection)
            # Faster writers than builders would fill the memory; here they wait.
            if unoptimized >= MAX_UNOPTIMIZED:
                await asyncio.wait([building])

    def _build_task(self, collection: Collection) -> asyncio.Task[None]:
        """The task that builds the collection's search structures; its errors are in the log."""
        if collection not in self._building:
            building = asyncio.create_task(self.optimize(collection))
            self._building[collection] = building
            building.add_done_callback(partial(self._finish_build, collection))
        return self._building[collection]

    def _finish_build(self, collection: Collection, task: asyncio.Task[None]) -> None:
        del self._building[collection]
        if not task.cancelled() and (error := task.exception()):
            log.warning("Search structures were not built; searches are slower: %s", error)

    async def _run(
        self,
        collection: Collection,
        work: Callable[[OpenShard], T],
        threads: ThreadPoolExecutor | None = None,
    ) -> T:
        def call() -> T:
            with self._pool.use(collection) as held, translate_errors(self._root):
                return work(held)

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads or self._threads, call)


def _wait_until_gone(former: Path) -> None:
    """Wait for the last search that still looks at the former files of a shard."""
    while former.exists():
        time.sleep(GONE_SECONDS)


def _without_vectors(where: Filter) -> edge.Filter:
    return edge.Filter(must=[translate(where)], must_not=[edge.HasVectorCondition(DENSE)])


def _scroll(request: edge.ScrollRequest, held: OpenShard) -> tuple[list[edge.Record], Any]:
    return held.shard.scroll(request)


def _count_values(
    held: OpenShard, field: str, condition: edge.Filter, limit: int
) -> dict[str, int]:
    """Tell how many chunks hold each value of a field, by reading it of each."""
    counts: Counter[str] = Counter()
    offset: Any = None
    while True:
        request = edge.ScrollRequest(
            limit=BATCH, filter=condition, with_payload=[field], offset=offset
        )
        records, offset = _scroll(request, held)
        counts.update(str(record.payload[field]) for record in records if record.payload)
        if offset is None:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            return dict(ordered[:limit])


def _chunk(record: edge.Record) -> Chunk:
    return Chunk.from_payload(record.payload or {})


def _request(
    search: Search, bm25: Bm25Encoder, condition: edge.Filter, limit: int, exact: bool
) -> edge.QueryRequest:
    rescored = edge.QuantizationSearchParams(ignore=exact, rescore=True)
    params = edge.SearchParams(exact=exact, quantization=rescored)
    if search.late is not None:
        query = edge.Query.Nearest(question_encoding(search.late).tolist(), using=LATE)
    elif search.vector is not None:
        query = edge.Query.Nearest(search.vector.tolist(), using=DENSE)
    else:
        query = edge.Query.Nearest(bm25.query(search.text), using=BM25)
        params = edge.SearchParams()
    return edge.QueryRequest(
        candidate_count(search, limit),
        query=query,
        filter=condition,
        with_payload=False,
        params=params,
    )


def _build_ranked_list(search: Search, found: list[edge.ScoredPoint]) -> RankedList:
    scored = tuple(Scored(str(point.id), point.score) for point in found)
    return RankedList(search.source, search.text, scored)
