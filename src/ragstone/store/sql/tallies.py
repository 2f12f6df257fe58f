"""Counts documents of a collection by their state and by their metadata.

Every count reads the rows of all documents, so those that questions ask for are kept until the
collection's edition is another one.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Collection as Several
from typing import Any, TypeVar

from sqlalchemy import Select, select

from ragstone.core.filters import Scalar, token
from ragstone.ports import Edition, StatusCount, ValueCount
from ragstone.store.sql.database import Database
from ragstone.store.sql.tables import documents

T = TypeVar("T")
Key = tuple[str, str]
"""A collection's tenant and id."""

MOST_KEPT = 64
MOST_VALUES = 10_000
"""Values of more are counted anew for each question, instead of filling the memory."""

BATCH = 1_000


class Tallies:
    """The counts of one database; `edition` says which state of a collection they are of."""

    def __init__(
        self, database: Database, edition: Callable[[str, str], Awaitable[Edition | None]]
    ) -> None:
        self._database = database
        self._edition = edition
        self._kept: OrderedDict[tuple[str, ...], tuple[str, Any]] = OrderedDict()

    async def sources(self, tenant: str, collection: str) -> Mapping[str, Sequence[str]]:
        """`ports.Catalog`."""
        found: dict[str, list[str]] = {}
        wanted = _of((tenant, collection), documents.c.source, documents.c.path)
        async for source, path in self._rows(wanted.order_by(documents.c.path)):
            found.setdefault(source, []).append(path)
        return found

    async def statuses(self, tenant: str, collection: str) -> Sequence[StatusCount]:
        """`ports.Catalog`."""

        async def count() -> tuple[StatusCount, ...]:
            found = Counter[tuple[str, tuple[str, ...]]]()
            wanted = _of((tenant, collection), documents.c.status, documents.c.allowed)
            async for status, allowed in self._rows(wanted.where(documents.c.version > 0)):
                found[status, tuple(allowed)] += 1
            return tuple(StatusCount(*kind, number) for kind, number in found.items())

        return await self._at_edition((tenant, collection), ("statuses",), count)

    async def metadata_keys(
        self, tenant: str, collection: str
    ) -> Mapping[str, frozenset[tuple[str, ...]]]:
        """`ports.Catalog`."""

        async def read() -> dict[str, frozenset[tuple[str, ...]]]:
            found: dict[str, set[tuple[str, ...]]] = {}
            async for metadata, allowed in self._rows(_described((tenant, collection))):
                for key in metadata:
                    found.setdefault(key, set()).add(tuple(allowed))
            return {key: frozenset(readers) for key, readers in found.items()}

        return await self._at_edition((tenant, collection), ("keys",), read)

    async def metadata_values(
        self, tenant: str, collection: str, keys: Several[str]
    ) -> Mapping[str, Sequence[ValueCount]]:
        """`ports.Catalog`."""
        wanted = sorted(set(keys))

        async def count() -> dict[str, tuple[ValueCount, ...]]:
            return await self._values((tenant, collection), wanted)

        return await self._at_edition((tenant, collection), ("values", *wanted), count)

    async def _values(self, place: Key, keys: Sequence[str]) -> dict[str, tuple[ValueCount, ...]]:
        counts: dict[str, Counter[tuple[str, tuple[str, ...]]]] = {key: Counter() for key in keys}
        values: dict[str, Scalar] = {}
        async for metadata, allowed in self._rows(_described(place)):
            readers = tuple(allowed)
            for key in keys:
                held = metadata.get(key)
                # A value that stands twice in a document's list is one document's.
                for one in {token(key, v): v for v in _scalars(held)}.items():
                    values.setdefault(*one)
                    counts[key][one[0], readers] += 1
        return {
            key: tuple(ValueCount(values[name], readers, n) for (name, readers), n in some.items())
            for key, some in counts.items()
        }

    async def _rows(self, wanted: Select[Any]) -> AsyncIterator[Any]:
        """The rows, with turns for other work in between."""
        async with self._database.reading() as connection:
            result = await connection.stream(wanted)
            async for rows in result.partitions(BATCH):
                for row in rows:
                    yield row
                await asyncio.sleep(0)

    async def _at_edition(
        self, place: Key, what: tuple[str, ...], make: Callable[[], Awaitable[T]]
    ) -> T:
        """What `make` gives, or what it gave when the collection was the same."""
        edition = await self._edition(*place)
        name, stamp = (*place, *what), edition.stamp if edition else ""
        known = self._kept.get(name)
        if known is not None and known[0] == stamp:
            self._kept.move_to_end(name)
            found: T = known[1]
            return found
        made = await make()
        if _size(made) <= MOST_VALUES:
            self._kept[name] = stamp, made
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made


def _of(place: Key, *columns: Any) -> Select[Any]:
    tenant, collection = place
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    return select(*columns).where(mine)


def _described(place: Key) -> Select[Any]:
    some = _of(place, documents.c.metadata, documents.c.allowed)
    return some.where(documents.c.version > 0, documents.c.metadata.is_not(None))


def _scalars(held: Any) -> list[Scalar]:
    several = held if isinstance(held, list) else [held]
    return [one for one in several if isinstance(one, Scalar)]


def _size(made: Any) -> int:
    if isinstance(made, dict):
        return sum(len(some) for some in made.values())
    return len(made)
