"""The chunk index on Elasticsearch 8 or 9: one index per collection.

An index that is missing reads as empty, and a write makes it, as with the embedded index. What was
written is refreshed once, at the end: waiting for the next scheduled refresh would hold each of a
document's few writes for up to a second. A bulk load is refreshed at its own end.

Makes the index of the settings.
"""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, InvalidFilter
from ragstone.core.filters import EVERYTHING, KEYWORDS, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList
from ragstone.index.bm25 import counter
from ragstone.index.late import check_searches, check_vectors, chunk_encodings, rerank_late
from ragstone.index.options import read_options
from ragstone.plugins.elasticsearch import answers
from ragstone.plugins.elasticsearch.answers import HAS_VECTOR, VALUE
from ragstone.plugins.elasticsearch.filter import RENAMED, Query, translate
from ragstone.plugins.elasticsearch.http import (
    FORBIDDEN,
    INDEX_EXISTS,
    INDEX_MISSING,
    NAME_TAKEN,
    Server,
)
from ragstone.plugins.elasticsearch.mapping import (
    ALL_INDICES,
    COUNTED,
    EMBEDDING,
    LATE,
    NUMBERS,
    PORTAL_TYPE,
    TERMS,
    TOKENS,
    alias_name,
    bulk,
    document,
    encode_json,
    index_name,
    mapping,
    ndjson,
)
from ragstone.plugins.elasticsearch.options import (
    MAX_HITS,
    QUANTIZES_FROM,
    USUAL,
    ElasticsearchOptions,
)
from ragstone.ports import Search, Vectors
from ragstone.settings import IndexSettings

T = TypeVar("T")

log = logging.getLogger(__name__)

IDS = 1_000
"""Ids in one request."""

UNSEEN = [EMBEDDING, LATE, TERMS, NUMBERS, TOKENS]
"""Fields that reading a chunk leaves out."""


class ElasticsearchIndex:
    """`ports.ChunkIndex` on the server at `url`; `timeout` is seconds for one request (`Server`).
    `options` say how collections are kept and searched."""

    searches_late = True

    def __init__(
        self, url: str, api_key: str, timeout: float, *, options: ElasticsearchOptions = USUAL
    ) -> None:
        self._server = Server(url, api_key, timeout, options.further_tries)
        self._options = options
        self._words: dict[str, edge.Bm25] = {}
        self._made: set[str] = set()
        self._loading: set[str] = set()

    async def create(self, collection: Collection) -> None:
        await self._check_version()
        path, settings = index_name(collection), self._options.new()
        body: dict[str, Any] = {"mappings": mapping(collection, self._options)}
        if settings:
            body["settings"] = {"index": settings}
        new = await self._server.ask(
            "PUT", path, encode_json(body), lambda answer: True, {INDEX_EXISTS: False}, writes=True
        )
        if not new:
            await self._change(collection, path)
        if alias := alias_name(collection):
            await self._add_alias(path, alias)
        self._made.add(path)

    async def _add_alias(self, path: str, alias: str) -> None:
        """Let other programs find an index by its alias, where that may be."""
        refused = {NAME_TAKEN: False, FORBIDDEN: False}
        added = await self._server.ask(
            "PUT", f"{path}/_alias/{alias}", b"", lambda _: True, refused, writes=True
        )
        if not added:
            log.warning(
                "The index %s has no alias %s: Elasticsearch has an index of that name, or "
                "INDEX__API_KEY may not give it.",
                path,
                alias,
            )

    async def _check_version(self) -> None:
        if self._options.quantization == "none":
            return
        found = await self._server.ask("GET", "", b"", answers.version)
        if found < QUANTIZES_FROM:
            here, needed = (".".join(map(str, item)) for item in (found, QUANTIZES_FROM))
            raise ConfigError(
                f"The option quantization={self._options.quantization} needs Elasticsearch "
                f"{needed} or newer, and that at {self._server.name} is {here}. Take a newer one, "
                "or set none."
            )

    async def _change(self, collection: Collection, path: str) -> None:
        """Give an index that is there what newer versions and other settings have."""
        newer = {NUMBERS: COUNTED, PORTAL_TYPE: {"type": "keyword"}}
        body = encode_json({"properties": newer})
        await self._server.ask("PUT", f"{path}/_mapping", body, lambda answer: None, writes=True)
        if changed := self._options.changeable_options():
            body = encode_json({"index": changed})
            await self._server.ask(
                "PUT", f"{path}/_settings", body, lambda answer: None, writes=True
            )
        wanted = self._options.shards
        if wanted is None:
            return
        held = await self._server.ask("GET", f"{path}/_settings", b"", answers.count_shards)
        if held != wanted:
            log.warning(
                "Collection %r has %s shards and keeps them: the option shards=%s is for new ones. "
                "'ragstone rebuild' makes it anew.",
                collection.name,
                held,
                wanted,
            )

    async def drop(self, collection: Collection) -> None:
        path = f"{index_name(collection)}?ignore_unavailable=true"
        await self._server.ask("DELETE", path, b"", lambda answer: None, writes=True)

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
            return self._bulk(
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
            return self._bulk(
                ({"update": {"_id": i, "retry_on_conflict": 3}}, {"doc": part})
                for i, part in zip(ids, parts, strict=True)
            )

        ready = await asyncio.to_thread(bodies)
        if ids and await self._server.exists(index_name(collection)):
            await self._write(collection, ready)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        query = _without_vectors(where)
        body = {"query": query, "size": min(limit, MAX_HITS), "_source": {"excludes": UNSEEN}}
        return await self._ask(collection, "_search", body, answers.chunks, [])

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        body = {"query": _without_vectors(where)}
        return await self._ask(collection, "_count", body, answers.read_count, 0)

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
        options = None if exact else self._options
        requests = [answers.search_request(s, condition, size, words, options) for s in searches]
        body = ndjson([line for request in requests for line in ({}, request)])

        def read(answer: Any) -> list[RankedList]:
            pairs = zip(searches, answer["responses"], strict=True)
            return [answers.read_ranking(search, item, exact) for search, item in pairs]

        found = await self._server.ask("POST", f"{index_name(collection)}/_msearch", body, read)
        return await rerank_late(self, collection, searches, found, limit)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        call = f"_mget?_source_excludes={','.join(UNSEEN)}"
        found: dict[str, Chunk] = {}
        for some in _slices(ids):
            found.update(
                await self._ask(collection, call, {"ids": some}, answers.read_chunks, found)
            )
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
        await self._refresh(collection)  # What a writer that died has left of a write.
        while not await self._ask(collection, call, body, answers.all_deleted, True, writes=True):
            pass

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        body = {"query": translate(where)}
        return await self._ask(collection, "_count", body, answers.read_count, 0)

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        if field not in KEYWORDS:
            known = ", ".join(sorted(KEYWORDS))
            raise InvalidFilter(f"The field {field!r} cannot be counted by value; use {known}.")
        query, name = translate(where), RENAMED.get(field, field)
        terms = {"field": name, "size": min(limit, MAX_HITS)}
        body = {"query": query, "size": 0, "aggs": {"values": {"terms": terms}}}
        none: tuple[dict[str, int], bool, bool] = {}, True, True
        read = answers.most_frequent
        found, exact, whole = await self._ask(collection, "_search", body, read, none)
        if exact and (whole or limit <= MAX_HITS):
            return found
        counts = await self._all_values(collection, query, name)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return dict(ordered[:limit])

    async def _all_values(self, collection: Collection, query: Query, name: str) -> dict[str, int]:
        """Return every value and how many documents have it, page by page."""
        page: dict[str, Any] = {"size": MAX_HITS, "sources": [{VALUE: {"terms": {"field": name}}}]}
        body = {"query": query, "size": 0, "aggs": {"values": {"composite": page}}}
        counts: dict[str, int] = {}
        while True:
            none: tuple[dict[str, int], str | None] = {}, None
            found, after = await self._ask(collection, "_search", body, answers.value_page, none)
            counts |= found
            if after is None:
                return counts
            page["after"] = {VALUE: after}

    @asynccontextmanager
    async def bulk_load(self, collection: Collection) -> AsyncIterator[None]:
        """`ports.LoadsInBulk`."""
        name = index_name(collection)
        self._loading.add(name)
        try:
            yield
        finally:
            self._loading.discard(name)
        await self._refresh(collection)

    async def optimize(self, collection: Collection) -> None:
        """Nothing: Elasticsearch merges its segments and their graphs by itself."""

    async def ready(self) -> None:
        await self._server.ask("GET", f"{ALL_INDICES}/_count", b"", answers.read_count)

    async def aclose(self) -> None:
        """Close the connections; the index cannot be used afterwards."""
        await self._server.aclose()

    def _counter(self, collection: Collection) -> edge.Bm25:
        language = collection.language
        if language not in self._words:
            self._words[language] = counter(language)
        return self._words[language]

    def _bulk(self, operations: Iterable[tuple[Any, Any]]) -> list[bytes]:
        return bulk(operations, self._options.write_chunks, self._options.write_bytes)

    async def _write(self, collection: Collection, bodies: Sequence[bytes]) -> None:
        name = index_name(collection)
        at_once = len(bodies) == 1 and name not in self._loading
        path = f"{name}/_bulk{'?refresh=true' if at_once else ''}"
        for body in bodies:
            await self._server.ask("POST", path, body, answers.check_written, writes=True)
        if not at_once and name not in self._loading:
            await self._refresh(collection)

    async def _refresh(self, collection: Collection) -> None:
        path = f"{index_name(collection)}/_refresh"
        missing = {INDEX_MISSING: None}
        await self._server.ask("POST", path, b"", answers.check_refreshed, missing, writes=True)

    async def _ask(
        self,
        collection: Collection,
        call: str,
        body: dict[str, Any],
        read: Callable[[Any], T],
        missing: T,
        *,
        writes: bool = False,
    ) -> T:
        """Return what `read` makes of the answer, `missing` if the collection has no index."""
        path, instead = f"{index_name(collection)}/{call}", {INDEX_MISSING: missing}
        return await self._server.ask("POST", path, encode_json(body), read, instead, writes=writes)


def _slices(ids: Sequence[str]) -> list[list[str]]:
    return [list(ids[i : i + IDS]) for i in range(0, len(ids), IDS)]


def _without_vectors(where: Filter) -> Query:
    return {"bool": {"filter": [translate(where)], "must_not": [HAS_VECTOR]}}


def connect(settings: IndexSettings, data: Path) -> ElasticsearchIndex:
    """Make the index at `elasticsearch+http://host:9200`. Raises ConfigError for wrong options."""
    options = read_options(ElasticsearchOptions, settings.options)
    url, key = settings.url.partition("+")[2], settings.api_key.get_secret_value()
    return ElasticsearchIndex(url, key, settings.timeout, options=options)
