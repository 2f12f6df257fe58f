"""The chunk index on a Qdrant server or cluster, over its REST interface.

One Qdrant collection per tenant, collection and build, or one for many small ones. There each is a
part: every request has a filter for it, word statistics are of its points alone, and vectors are
compared one by one.

BM25 vectors are made here (`bm25.py`), so words rank as they do in Qdrant Edge.

Makes the index of the settings.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from qdrant_client import AsyncQdrantClient, models

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, InvalidFilter, UnknownCollection
from ragstone.core.filters import EVERYTHING, KEYWORDS, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.shard import DENSE, LATE
from ragstone.index.late import (
    candidate_count,
    check_searches,
    check_vectors,
    chunk_encodings,
    rerank_late,
)
from ragstone.index.options import read_options
from ragstone.plugins.qdrant.connection import (
    Exists,
    Missing,
    QdrantConnection,
    Request,
    connect,
    delete,
    index_field,
    update,
    upsert,
)
from ragstone.plugins.qdrant.options import QUANTIZE_FROM, USUAL, QdrantOptions
from ragstone.plugins.qdrant.query import missing_vector_filter, read_ranking, request, translate
from ragstone.plugins.qdrant.schema import (
    FIELDS,
    PART,
    SPARSE,
    TOKENS,
    WITHOUT_TOKENS,
    QdrantPlace,
    batches,
    collection_place,
    points,
    read_chunk,
    read_tokens,
    read_vector,
    vector_changes,
)
from ragstone.ports import Search, Vectors
from ragstone.settings import IndexSettings

T = TypeVar("T")

log = logging.getLogger(__name__)

COUNTS_INSIDE = (1, 19)
"""The version from which a server counts words among the points inside a filter."""

SET_TRIES = 5
"""Times that vectors are set anew because a chunk among them was deleted meanwhile."""


class QdrantIndex:
    """`ports.ChunkIndex` on the Qdrant server at `url`; any number of processes may share it.

    `timeout` is in seconds for one request (`connection`). `prefix` begins the names of its Qdrant
    collections. `options` say how they are kept and searched. `client` replaces the one made from
    `url`. Collections of fewer than `shared_chunks` share a Qdrant collection, which takes a server
    that counts words inside a filter.
    """

    searches_late = True

    def __init__(
        self,
        url: str,
        api_key: str = "",
        timeout: float = 30.0,
        *,
        prefix: str = "ragstone",
        options: QdrantOptions = USUAL,
        client: AsyncQdrantClient | None = None,
    ) -> None:
        self._qdrant = QdrantConnection(
            client or connect(url, api_key, timeout), url, timeout, options.further_tries
        )
        self._prefix = prefix
        self._options = options
        self._bm25 = lru_cache(maxsize=32)(Bm25Encoder)
        self._opened: set[str] = set()
        self.shared_chunks = options.shared_chunks

    async def create(self, collection: Collection) -> None:
        name = self._name(collection)
        if collection.shared and name not in self._opened:
            await self._check_version()
        try:
            info = await self._qdrant.call(lambda c: c.get_collection(name))
        except Missing:
            info = await self._make(name, collection)
        await self._change(collection, info)
        fields = FIELDS.keys() | ({PART} if collection.shared else set())
        for field in fields - info.payload_schema.keys():
            await self._qdrant.write(index_field(name, field))
        self._opened.add(name)

    async def drop(self, collection: Collection) -> None:
        own, shared = (replace(collection, shared=shared) for shared in (False, True))
        name = self._name(own)
        self._opened.discard(name)
        await self._read_or_none(own, lambda c: c.delete_collection(name))
        # Also what a rebuild or a move that was cut off has begun in the other place.
        with suppress(Missing):
            await self._delete(shared, EVERYTHING)

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        if vectors is not None:
            check_vectors(collection, vectors)
        place, bm25 = self._place(collection), self._bm25(collection.language)
        encodings = await asyncio.to_thread(chunk_encodings, collection, tokens)
        most = self._options.write_chunks, self._options.write_bytes
        for part in batches(chunks, vectors, tokens, encodings, *most) if chunks else ():
            rows = None if vectors is None else vectors[part]
            held = None if tokens is None else tokens[part]
            late = None if encodings is None else encodings[part]
            batch = await asyncio.to_thread(points, chunks[part], rows, held, late, bm25, place)
            write = upsert(place.name, batch)
            try:
                await self._qdrant.write(write)
            except Missing as error:
                self._refuse_if_opened(collection, error)
                await self.create(collection)
                await self._qdrant.write(write)

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        check_vectors(collection, vectors)
        place = self._place(collection)
        ids = [place.point(text) for text in ids]
        packed = dict(zip(ids, tokens, strict=True)) if tokens is not None else {}
        encodings = await asyncio.to_thread(chunk_encodings, collection, tokens)
        most = self._options.write_chunks
        for start in range(0, len(ids), most):
            some = slice(start, start + most)
            pairs = zip(ids[some], vectors[some].tolist(), strict=True)
            rows = {i: {DENSE: row} for i, row in pairs}
            lates = [] if encodings is None else encodings[some].tolist()
            for i, late in zip(ids[some], lates, strict=False):
                rows[i][LATE] = late
            await self._set_vectors(collection, rows, packed)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        return (await self._scroll(collection, missing_vector_filter(DENSE, where), limit, None))[0]

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        return await self._count(collection, missing_vector_filter(DENSE, where))

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
        bm25 = self._bm25(collection.language)
        params = self._options.search_params(exact or collection.shared)
        place = self._place(collection)
        requests = [request(s, bm25, condition, limit, params, place) for s in searches]
        asked = [item for item in requests if item]
        name = place.name
        found: list[models.QueryResponse] | None = None
        if asked:
            found = await self._read_or_none(
                collection, lambda c: c.query_batch_points(name, asked)
            )
        if found is None:
            found = [models.QueryResponse(points=[])] * len(asked)
        if len(found) != len(asked):
            raise self._qdrant.nonsense()
        answers = iter(found)
        lists = [
            read_ranking(
                search,
                next(answers).points[: candidate_count(search, limit)] if item else [],
                place,
            )
            for search, item in zip(searches, requests, strict=True)
        ]
        return await rerank_late(self, collection, searches, lists, limit)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        place = self._place(collection)
        records = await self._retrieve(collection, ids, with_payload=WITHOUT_TOKENS)
        return {id: read_chunk(collection, place, record) for id, record in records.items()}

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        records = await self._retrieve(collection, ids, with_vectors=[DENSE])
        rows = {id: read_vector(collection, record) for id, record in records.items()}
        return {chunk_id: row for chunk_id, row in rows.items() if row is not None}

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        records = await self._retrieve(collection, ids, with_payload=[TOKENS])
        found = {id: read_tokens(record) for id, record in records.items()}
        return {chunk_id: packed for chunk_id, packed in found.items() if packed is not None}

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        condition = translate(where)
        offset: str | None = None
        while True:
            chunks, after = await self._scroll(collection, condition, batch, offset)
            if chunks:
                yield chunks
            if after is None:
                return
            if offset is not None and after <= offset:
                raise self._qdrant.nonsense()
            offset = after

    async def delete(self, collection: Collection, where: Filter) -> None:
        try:
            await self._delete(collection, where)
        except Missing as error:
            self._refuse_if_opened(collection, error)

    async def _delete(self, collection: Collection, where: Filter) -> None:
        place = self._place(collection)
        await self._qdrant.write(delete(place.name, place.only(translate(where))))

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        return await self._count(collection, translate(where))

    async def _count(self, collection: Collection, condition: models.Filter) -> int:
        place = self._place(collection)
        inside = place.only(condition)
        answer = await self._read_or_none(
            collection, lambda c: c.count(place.name, inside, exact=True)
        )
        return answer.count if answer else 0

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        place = self._place(collection)
        name, condition = place.name, place.only(translate(where))
        if field not in KEYWORDS:
            known = ", ".join(sorted(KEYWORDS))
            raise InvalidFilter(f"The field {field!r} cannot be counted by value; use {known}.")
        answer = await self._read_or_none(
            collection, lambda c: c.facet(name, field, condition, limit=limit, exact=True)
        )
        return {str(hit.value): hit.count for hit in answer.hits} if answer else {}

    async def optimize(self, collection: Collection) -> None:
        """The server builds its search structures by itself; this only makes large ones smaller."""
        options = self._options
        if collection.shared or options.quantization:
            return
        if await self.count(collection) < QUANTIZE_FROM:
            return
        name = self._name(collection)
        info = await self._qdrant.call(lambda c: c.get_collection(name))
        held = info.config.params.vectors
        if isinstance(held, dict) and held[DENSE].quantization_config is None:
            change = {DENSE: options.smaller()}
            await self._qdrant.write(lambda c: c.update_collection(name, vectors_config=change))

    async def ready(self) -> None:
        await self._qdrant.call(lambda c: c.collection_exists(self._prefix))

    async def aclose(self) -> None:
        """Close the connections; the index cannot be used afterwards."""
        await self._qdrant.aclose()

    def _place(self, collection: Collection) -> QdrantPlace:
        return collection_place(self._prefix, collection)

    def _name(self, collection: Collection) -> str:
        return self._place(collection).name

    async def _check_version(self) -> None:
        """Raise ConfigError for a server that would take words of one part for those of all."""
        version = (await self._qdrant.call(lambda c: c.info())).version
        if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < COUNTS_INSIDE:
            raise ConfigError(
                f"Qdrant {version} counts the words of all collections that would share a place. "
                "Update it to 1.19, or take shared_chunks out of INDEX__OPTIONS."
            )

    async def _make(self, name: str, collection: Collection) -> models.CollectionInfo:
        options = self._options.of(collection)
        vectors, rest = options.vectors(collection), options.new()
        with suppress(Exists):
            await self._qdrant.write(lambda c: c.create_collection(name, vectors, SPARSE, **rest))
        return await self._qdrant.call(lambda c: c.get_collection(name))

    async def _change(self, collection: Collection, info: models.CollectionInfo) -> None:
        """Give a collection of other settings the present ones; the server does what takes long in
        the background, and answers as before meanwhile."""
        name, config, shards = self._name(collection), info.config, self._options.shards
        if changes := self._options.of(collection).changes(config):
            await self._qdrant.write(lambda c: c.update_collection(name, **changes))
        if shards not in (None, config.params.shard_number):
            log.warning(
                "Collection %r has %s shards and keeps them: the option shards=%s is for new ones. "
                "'ragstone rebuild' makes it anew.",
                collection.name,
                config.params.shard_number,
                shards,
            )

    async def _set_vectors(
        self,
        collection: Collection,
        rows: dict[str, dict[str, list[float]]],
        tokens: dict[str, bytes],
    ) -> None:
        """The server refuses all of them when one chunk is gone, so ask which are there."""
        name = self._name(collection)
        for left in reversed(range(SET_TRIES)):
            alive = [str(record.id) for record in await self._points(collection, list(rows))]
            changes = vector_changes({i: rows[i] for i in alive}, tokens)
            try:
                if alive:
                    await self._qdrant.write(update(name, changes))
            except Missing:
                if not left:
                    raise
            else:
                return

    async def _scroll(
        self, collection: Collection, condition: models.Filter, limit: int, offset: str | None
    ) -> tuple[list[Chunk], str | None]:
        place = self._place(collection)
        inside = place.only(condition)
        page = await self._read_or_none(
            collection,
            lambda c: c.scroll(
                place.name, inside, limit=limit, offset=offset, with_payload=WITHOUT_TOKENS
            ),
        )
        records, after = page or ([], None)
        chunks = [read_chunk(collection, place, record) for record in records]
        return chunks, None if after is None else str(after)

    async def _retrieve(
        self, collection: Collection, ids: Sequence[str], **what: Any
    ) -> dict[str, models.Record]:
        """Return the points of chunks by the ids of those."""
        place = self._place(collection)
        chunks = {place.point(id): id for id in ids}
        return {
            chunks[str(record.id)]: record
            for record in await self._points(collection, list(chunks), **what)
        }

    async def _points(
        self, collection: Collection, ids: Sequence[str], **what: Any
    ) -> list[models.Record]:
        name = self._name(collection)
        options = {"with_payload": False, "with_vectors": False, **what}
        if not ids:
            return []
        found = await self._read_or_none(collection, lambda c: c.retrieve(name, ids, **options))
        wanted = set(ids)
        return [record for record in found or [] if str(record.id) in wanted]

    async def _read_or_none(self, collection: Collection, call: Request[T]) -> T | None:
        """Return the answer of `call`, None for a collection that was never made."""
        try:
            return await self._qdrant.call(call)
        except Missing as error:
            self._refuse_if_opened(collection, error)
            return None

    def _refuse_if_opened(self, collection: Collection, error: Missing) -> None:
        """Refuse a collection that this process opened and another one has dropped."""
        if self._name(collection) in self._opened:
            raise UnknownCollection(collection.name) from error


def connect_index(settings: IndexSettings, data: Path) -> QdrantIndex:
    """Make the index at `http://host:6333`. Raises ConfigError for wrong options."""
    options = read_options(QdrantOptions, settings.options)
    key = settings.api_key.get_secret_value()
    return QdrantIndex(settings.url, key, settings.timeout, options=options)
