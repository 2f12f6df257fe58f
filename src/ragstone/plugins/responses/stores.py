"""Vector stores of OpenAI's API: collections, and what clients say of them."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ragstone.core.caller import Caller
from ragstone.core.errors import Forbidden, UnknownCollection
from ragstone.core.limits import check_collection_name
from ragstone.core.source import Source, hit_sources
from ragstone.core.turn import Ask
from ragstone.http.identity import narrow_principal
from ragstone.plugins.responses.contract import VECTOR_STORES, VectorStore
from ragstone.plugins.responses.kept_files import create_timed_id
from ragstone.plugins.responses.members import STATES, Members, attributes, file_id
from ragstone.service import CollectionSummary, Service

Object = dict[str, Any]

PREFIX = "vs_"
TOUCHED_SECONDS = 60.0
"""How exact it is known when a store was last used: not every search writes."""


class Stores:
    """A vector store is a collection, and its id the collection's name. What is said of the store
    is there at once, the collection with its first document."""

    def __init__(self, service: Service, members: Members) -> None:
        self._service = service
        self._members = members

    async def create(self, caller: Caller, store: VectorStore, files: Sequence[str]) -> Object:
        """Make a store, called by its title unless that is empty or taken, and begin to fill it.

        Raises InputError for what is not a name, Forbidden for a credential of other collections,
        UnknownFile.
        """
        await self._members.check(caller, files)
        name = store.title
        if name:
            check_collection_name(name)
        if not name or await self._find(caller, name) != (None, None):
            name = create_timed_id(PREFIX)
        if not caller.reaches(name):
            raise Forbidden(
                "Your credential is for single collections, and this store would be another one. "
                "Use one of them by its name."
            )
        await VECTOR_STORES.of(self._service).put(replace(store, collection=name))
        if files:
            await self._members.add(caller, name, {id: {} for id in files})
        return await self.find(caller, name)

    async def list_all(self, caller: Caller) -> list[Object]:
        """Return the stores that the credential reaches."""
        stores = await VECTOR_STORES.of(self._service).list_all(caller.principal)
        said = {store.collection: store for store in stores}
        there = {
            collection.name: collection
            for collection in await self._service.collections(caller.principal)
        }
        waiting = await self._members.count_waiting(caller.principal)
        return [
            _store_json(name, said.get(name), there.get(name), waiting.get(name, 0))
            for name in {**said, **there}
            if caller.reaches(name)
        ]

    async def find(self, caller: Caller, name: str) -> Object:
        """Return one of them; raises UnknownCollection."""
        store, summary = await self.find_store(caller, name)
        waiting = await self._members.count_waiting(caller.principal)
        return _store_json(name, store, summary, waiting.get(name, 0))

    async def find_store(
        self, caller: Caller, name: str
    ) -> tuple[VectorStore | None, CollectionSummary | None]:
        """Return what is said of a store, and its collection if there is one yet. Raises
        UnknownCollection where there is neither, or the credential does not reach it."""
        narrow_principal(caller, name)
        found = await self._find(caller, name)
        if found == (None, None):
            raise UnknownCollection(name)
        return found

    async def update(self, caller: Caller, name: str, changes: Object) -> Object:
        """Say something else of a store; raises UnknownCollection."""
        store, _ = await self.find_store(caller, name)
        # Nobody kept when a collection was made that was never said to be a store.
        store = store or VectorStore(caller.principal.tenant, name, name, 0.0, 0.0)
        changed = replace(store, **changes, active_at=time.time())
        await VECTOR_STORES.of(self._service).put(changed)
        return await self.find(caller, name)

    async def drop(self, caller: Caller, name: str) -> Object:
        """Delete a store with its documents, but not the files; raises UnknownCollection."""
        _, summary = await self.find_store(caller, name)
        if summary is None:
            await VECTOR_STORES.of(self._service).drop(caller.principal, name)
        else:
            await self._service.delete(caller.principal, name)
        return {"id": name, "object": "vector_store.deleted", "deleted": True}

    async def search(self, caller: Caller, ask: Ask, least: float) -> Object:
        """Return the passages of a store that fit best; raises UnknownCollection."""
        query, found = ask.question, tuple[Source, ...]()
        if not await self.is_empty(caller, ask.collection):
            result = await self._service.search(replace(ask, principal=caller.principal))
            query, found = result.corrected or query, hit_sources(result.hits)
        return {
            "object": "vector_store.search_results.page",
            "search_query": [query],
            "data": [_result(item) for item in found if item.score >= least],
            "has_more": False,
            "next_page": None,
        }

    async def open(self, caller: Caller, name: str) -> None:
        """Note that a store is filled, so that it does not expire; raises UnknownCollection."""
        store, _ = await self.find_store(caller, name)
        await self._touch(store)

    async def is_empty(self, caller: Caller, name: str) -> bool:
        """Whether a store was made and has no document yet. It is used, and so does not expire.

        Raises UnknownCollection for one that the credential does not reach.
        """
        narrow_principal(caller, name)
        store = await VECTOR_STORES.of(self._service).find(caller.principal, name)
        await self._touch(store)
        return store is not None and await self._summary(caller, name) is None

    async def _touch(self, store: VectorStore | None) -> None:
        if store and store.days and time.time() - store.active_at > TOUCHED_SECONDS:
            await VECTOR_STORES.of(self._service).put(replace(store, active_at=time.time()))

    async def _find(
        self, caller: Caller, name: str
    ) -> tuple[VectorStore | None, CollectionSummary | None]:
        store = await VECTOR_STORES.of(self._service).find(caller.principal, name)
        return store, await self._summary(caller, name)

    async def _summary(self, caller: Caller, name: str) -> CollectionSummary | None:
        with suppress(UnknownCollection):
            return await self._service.collection(caller.principal, name)
        return None


def _store_json(
    name: str, store: VectorStore | None, summary: CollectionSummary | None, waiting: int
) -> Object:
    """Return a vector store, and how many files are `waiting` to be read."""
    documents = summary.documents if summary else 0
    failed = min(summary.failed, documents) if summary else 0
    counts = {
        **dict.fromkeys(STATES, 0),
        "in_progress": waiting,
        "completed": documents - failed,
        "failed": failed,
        "total": documents + waiting,
    }
    expires_at = store.expires_at if store else None
    expired = expires_at is not None and expires_at <= time.time()
    status = "expired" if expired else "in_progress" if waiting else "completed"
    return {
        "id": name,
        "object": "vector_store",
        "created_at": int(store.created_at) if store else 0,
        "last_active_at": int(store.active_at) if store else None,
        "name": (store.title if store else "") or name,
        "description": store.description if store else "",
        "status": status,
        "usage_bytes": 0,
        "file_counts": counts,
        "metadata": dict(store.metadata) if store else {},
        "expires_after": (
            {"anchor": "last_active_at", "days": store.days} if store and store.days else None
        ),
        "expires_at": None if expires_at is None else int(expires_at),
    }


def _result(source: Source) -> Object:
    return {
        "file_id": file_id(source),
        "filename": source.filename,
        "score": source.score,
        "attributes": attributes(source.metadata),
        "content": [{"type": "text", "text": source.text}],
    }
