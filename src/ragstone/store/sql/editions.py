"""Which documents each collection shows, as one number that changes whenever they do.

The number is the exclusive or of a hash per document, so a change costs the documents that it
touches. Hashes are of 128 bits: two different sets have the same number never in practice.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.ports import Edition
from ragstone.store.sql.rows import batches
from ragstone.store.sql.tables import documents

T = TypeVar("T")
Key = tuple[str, str]
"""A collection's tenant and id."""

_COLUMNS = (
    documents.c.id,
    documents.c.tenant,
    documents.c.collection,
    documents.c.version,
    documents.c.content_hash,
    documents.c.allowed,
    documents.c.metadata,
    documents.c.status,
)


@dataclass(slots=True)
class _Shown:
    """`readers` only grow: a name too many makes two principals differ that need not."""

    number: int = 0
    readers: set[str] = field(default_factory=set)

    def add(self, other: "_Shown") -> None:
        self.number ^= other.number
        self.readers |= other.readers


class Editions:
    """The numbers of the collections that have been asked for; writers keep them right."""

    def __init__(self) -> None:
        self._known: dict[Key, _Shown] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def get(self, key: Key) -> Edition:
        """The edition of a known collection."""
        shown = self._known[key]
        return Edition(f"{shown.number:032x}", frozenset(shown.readers))

    async def load(self, connection: AsyncConnection, key: Key) -> None:
        """Read a collection's documents; call it in turn with the writers."""
        tenant, collection = key
        mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
        shown = _Shown()
        result = await connection.stream(select(*_COLUMNS).where(mine))
        async for row in result.mappings():
            shown.add(_visible_part(row))
        self._known[key] = shown

    async def around(
        self,
        connection: AsyncConnection,
        document_ids: Sequence[str],
        work: Callable[[AsyncConnection], Awaitable[T]],
    ) -> tuple[T, Mapping[Key, "_Shown"]]:
        """Run `work`; returns its changes to these documents, for `apply` after the commit."""
        changed: defaultdict[Key, _Shown] = defaultdict(_Shown)
        await self._collect(connection, document_ids, changed)
        result = await work(connection)
        await self._collect(connection, document_ids, changed)
        return result, changed

    async def _collect(
        self,
        connection: AsyncConnection,
        document_ids: Sequence[str],
        changed: defaultdict[Key, _Shown],
    ) -> None:
        if not self._known:
            return
        for ids in batches(document_ids):
            rows = await connection.execute(select(*_COLUMNS).where(documents.c.id.in_(ids)))
            for row in rows.mappings():
                changed[row["tenant"], row["collection"]].add(_visible_part(row))

    def apply(self, changed: Mapping[Key, "_Shown"]) -> None:
        """Apply the changes of a committed transaction."""
        for key, shown in changed.items():
            if key in self._known:
                self._known[key].add(shown)

    def forget(self, key: Key) -> None:
        """The collection is gone, or is to be read anew."""
        self._known.pop(key, None)


def _visible_part(row: Mapping[Any, Any]) -> _Shown:
    """The part of one document; empty until a version of it is live."""
    if not row["version"]:
        return _Shown()
    readers = set(row["allowed"])
    parts = [row["id"], row["version"], row["content_hash"], sorted(readers), row["metadata"]]
    number = _hash(parts)
    if row["status"] == "ready":
        number ^= _hash(["vectors", row["id"], row["version"]])
    return _Shown(number, readers)


def _hash(parts: list[Any]) -> int:
    text = json.dumps(parts, sort_keys=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())
