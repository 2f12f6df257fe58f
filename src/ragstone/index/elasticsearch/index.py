"""The chunk index on Elasticsearch 8 or 9: one index per collection.

An index that is missing reads as empty, and a write makes it, as with the embedded index. Writes
refresh at once: waiting for the next scheduled refresh would hold each of a document's few writes
for up to a second.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InvalidFilter
from ragstone.core.filters import EVERYTHING, KEYWORDS, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList
from ragstone.index.bm25 import counter
from ragstone.index.elasticsearch import answers
from ragstone.index.elasticsearch.answers import HAS_VECTOR, MAX_HITS
from ragstone.index.elasticsearch.filter import RENAMED, translate
from ragstone.index.elasticsearch.http import INDEX_EXISTS, INDEX_MISSING, Server
from ragstone.index.elasticsearch.mapping import (
    ALL_INDICES,
    COUNTED,
    EMBEDDING,
    LATE,
    NUMBERS,
    TERMS,
    TOKENS,
    bulk,
    document,
    encoded,
    index_name,
    mapping,
    ndjson,
)
from ragstone.index.late import chunk_encodings, compared
from ragstone.index.vectors import check_searches, check_vectors
from ragstone.ports import Search, Vectors

T = TypeVar("T")

IDS = 1_000
"""Ids in one request."""

UNSEEN = [EMBEDDING, LATE, TERMS, NUMBERS, TOKENS]
"""Fields that reading a chunk leaves out."""


class ElasticsearchIndex:
    """`ports.ChunkIndex` on the server at `url`; `timeout` is seconds for one request."""

    searches_late = True

    def __init__(self, url: str, api_key: str, timeout: float) -> None:
        self._server = Server(url, api_key, timeout)
        self._words: dict[str, edge.Bm25] = {}
        self._made: set[str] = set()

    async def create(self, collection: Collection) -> None:
        body = encoded({"mappings": mapping(collection)})
        path = index_name(collection)
        new = await self._server.ask("PUT", path, body, lambda answer: True, {INDEX_EXISTS: False})
        if not new:  # Made by a version whose mapping had no numbers.
            body = encoded({"properties": {NUMBERS: COUNTED}})
            await self._server.ask("PUT", f"{path}/_mapping", body, lambda answer: None)
        self._made.add(path)

    async def drop(self, collection: Collection) -> None:
        path = f"{index_name(collection)}?ignore_unavailable=true"
        await self._server.ask("DELETE", path, b"", lambda answer: None)

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        if vectors is not None:
            check_vectors(collection, vectors)
        if not chunks:
            return
        words = self._counter(collection)

        def bodies() -> list[bytes]:
            rows = [None] * len(chunks) if vectors is None else vectors.tolist()
            packed = [None] * len(chunks) if tokens is None else tokens
            encodings = chunk_encodings(collection, tokens)
            lates = [None] * len(chunks) if encodings is None else encodings.tolist()
            return bulk(
                ({"index": {"_id": c.chunk_id}}, document(c, row, held, late, words))
                for c, row, held, late in zip(chunks, rows, packed, lates, strict=True)
            )

        ready = await asyncio.to_thread(bodies)
        name = index_name(collection)
        if name not in self._made or not await self._server.exists(name):
            await self.create(collection)
        await self._write(collection, ready)

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        check_vectors(collection, vectors)

        def bodies() -> list[bytes]:
            parts = [{EMBEDDING: row} for row in vectors.tolist()]
            for part, packed in zip(parts, tokens or (), strict=False):
                part[TOKENS] = base64.b64encode(packed).decode()
            encodings = chunk_encodings(collection, tokens)
            lates = [] if encodings is None else encodings.tolist()
            for part, late in zip(parts, lates, strict=False):
                part[LATE] = late
            return bulk(
                ({"update": {"_id": i, "retry_on_conflict": 3}}, {"doc": part})
                for i, part in zip(ids, parts, strict=True)
            )

        ready = await asyncio.to_thread(bodies)
        if ids and await self._server.exists(index_name(collection)):
            await self._write(collection, ready)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        query = {"bool": {"filter": [translate(where)], "must_not": [HAS_VECTOR]}}
        body = {"query": query, "size": min(limit, MAX_HITS), "_source": {"excludes": UNSEEN}}
        return await self._ask(collection, "_search", body, answers.chunks, [])

    async def count_without_vectors(self, collection: Collection) -> int:
        body = {"query": {"bool": {"must_not": [HAS_VECTOR]}}}
        return await self._ask(collection, "_count", body, answers.counted, 0)

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
        if not searches:
            return []
        words, size = self._counter(collection), min(limit, MAX_HITS)
        requests = [answers.search_request(s, condition, size, exact, words) for s in searches]
        body = ndjson([line for request in requests for line in ({}, request)])

        def read(answer: Any) -> list[RankedList]:
            pairs = zip(searches, answer["responses"], strict=True)
            return [answers.ranked(search, one, exact) for search, one in pairs]

        found = await self._server.ask("POST", f"{index_name(collection)}/_msearch", body, read)
        return await compared(self, collection, searches, found, limit)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        call = f"_mget?_source_excludes={','.join(UNSEEN)}"
        found: dict[str, Chunk] = {}
        for some in _slices(ids):
            found.update(await self._ask(collection, call, {"ids": some}, answers.fetched, found))
        return {i: found[i] for i in ids if i in found}

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for some in _slices(ids):
            query = {"bool": {"filter": [{"terms": {"chunk_id": some}}, HAS_VECTOR]}}
            body = {"query": query, "size": IDS, "_source": False, "fields": [EMBEDDING]}
            found.update(await self._ask(collection, "_search", body, answers.vectors, found))
        return found

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for some in _slices(ids):
            query = {"bool": {"filter": [{"terms": {"chunk_id": some}}]}}
            body = {"query": query, "size": IDS, "_source": [TOKENS]}
            found.update(await self._ask(collection, "_search", body, answers.tokens, found))
        return found

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        body: dict[str, Any] = {
            "query": translate(where),
            "size": min(batch, MAX_HITS),
            "sort": [{"chunk_id": "asc"}],
            "_source": {"excludes": UNSEEN},
        }
        while True:
            chunks: list[Chunk] = await self._ask(collection, "_search", body, answers.chunks, [])
            if chunks:
                yield chunks
            if len(chunks) < body["size"]:
                return
            body["search_after"] = [chunks[-1].chunk_id]

    async def delete(self, collection: Collection, where: Filter) -> None:
        call = f"_delete_by_query?refresh=true&conflicts=proceed&max_docs={MAX_HITS}"
        body = {"query": translate(where)}
        while not await self._ask(collection, call, body, answers.all_deleted, True):
            pass

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        body = {"query": translate(where)}
        return await self._ask(collection, "_count", body, answers.counted, 0)

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        if field not in KEYWORDS:
            known = ", ".join(sorted(KEYWORDS))
            raise InvalidFilter(f"The field {field!r} cannot be counted by value; use {known}.")
        terms = {"field": RENAMED.get(field, field), "size": min(limit, MAX_HITS)}
        body = {"query": translate(where), "size": 0, "aggs": {"values": {"terms": terms}}}
        return await self._ask(collection, "_search", body, answers.buckets, {})

    async def optimize(self, collection: Collection) -> None:
        """Nothing: Elasticsearch merges its segments and their graphs by itself."""

    async def ready(self) -> None:
        await self._server.ask("GET", f"{ALL_INDICES}/_count", b"", answers.counted)

    async def aclose(self) -> None:
        """Close the connections; the index cannot be used afterwards."""
        await self._server.aclose()

    def _counter(self, collection: Collection) -> edge.Bm25:
        language = collection.language
        if language not in self._words:
            self._words[language] = counter(language)
        return self._words[language]

    async def _write(self, collection: Collection, bodies: Sequence[bytes]) -> None:
        path = f"{index_name(collection)}/_bulk?refresh=true"
        for body in bodies:
            await self._server.ask("POST", path, body, answers.written)

    async def _ask(
        self,
        collection: Collection,
        call: str,
        body: dict[str, Any],
        read: Callable[[Any], T],
        missing: T,
    ) -> T:
        """What `read` makes of the answer, `missing` if the collection has no index."""
        path = f"{index_name(collection)}/{call}"
        return await self._server.ask("POST", path, encoded(body), read, {INDEX_MISSING: missing})


def _slices(ids: Sequence[str]) -> list[list[str]]:
    return [list(ids[i : i + IDS]) for i in range(0, len(ids), IDS)]
