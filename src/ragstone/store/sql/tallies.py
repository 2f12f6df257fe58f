"""Counts documents of a collection by their state and by their metadata.

Every count reads the rows of all documents, so those that questions ask for are kept until the
collection's edition is another one.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Several
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, String, cast, func, select, type_coerce

from ragstone.core.filters import Scalar, token
from ragstone.ports import Edition, StatusCount, Total, ValueCount
from ragstone.store.sql.database import Database
from ragstone.store.sql.tables import documents
from ragstone.store.sql.visibility import ALLOWED

T = TypeVar("T")
Key = tuple[str, str]
"""A collection's tenant and id."""

_METADATA = cast(documents.c.metadata, String)

MAX_KEPT = 64
MAX_VALUES = 10_000
"""Values of more are counted anew for each question, instead of filling the memory."""


class Tallies:
    """The counts of one database; `edition` says which state of a collection they are of."""

    def __init__(
        self, database: Database, edition: Callable[[str, str], Awaitable[Edition | None]]
    ) -> None:
        self._database = database
        self._edition = edition
        self._kept: OrderedDict[tuple[str, ...], tuple[str, Any]] = OrderedDict()

    async def statuses(self, tenant: str, collection: str) -> Sequence[StatusCount]:
        """`ports.Catalog`."""

        def count(connection: Connection) -> tuple[StatusCount, ...]:
            counted = _counts(connection, tenant, collection).get(collection, ())
            return tuple(item for item in counted if item.answers)

        return await self._at_edition((tenant, collection), ("statuses",), count)

    async def counts(
        self, tenant: str, collection: str | None = None
    ) -> Mapping[str, Sequence[StatusCount]]:
        """`ports.Catalog`."""
        return await self._database.read(partial(_counts, tenant=tenant, collection=collection))

    async def totals(self) -> Sequence[Total]:
        """`ports.Catalog`."""
        wanted = select(documents.c.status, func.count(), func.sum(documents.c.chunks))
        grouped = wanted.group_by(documents.c.status)
        return await self._database.read(
            lambda connection: [Total(*row) for row in connection.execute(grouped)]
        )

    async def metadata_keys(
        self, tenant: str, collection: str
    ) -> Mapping[str, frozenset[tuple[str, ...]]]:
        """`ports.Catalog`."""

        def read(connection: Connection) -> dict[str, frozenset[tuple[str, ...]]]:
            found: dict[str, set[str]] = {}
            for metadata, names, _ in connection.execute(_select_described((tenant, collection))):
                for key in json.loads(metadata):
                    found.setdefault(key, set()).add(names)
            return {key: frozenset(map(_readers, some)) for key, some in found.items()}

        return await self._at_edition((tenant, collection), ("keys",), read)

    async def metadata_values(
        self, tenant: str, collection: str, keys: Several[str]
    ) -> Mapping[str, Sequence[ValueCount]]:
        """`ports.Catalog`."""
        wanted = sorted(set(keys))

        def count(connection: Connection) -> dict[str, tuple[ValueCount, ...]]:
            return _values(connection.execute(_select_described((tenant, collection))), wanted)

        return await self._at_edition((tenant, collection), ("values", *wanted), count)

    async def _at_edition(
        self, place: Key, what: tuple[str, ...], make: Callable[[Connection], T]
    ) -> T:
        """Return what `make` gives, or what it gave when the collection was the same."""
        edition = await self._edition(*place)
        name, stamp = (*place, *what), edition.stamp if edition else ""
        known = self._kept.get(name)
        if known is not None and known[0] == stamp:
            self._kept.move_to_end(name)
            found: T = known[1]
            return found
        made = await self._database.read(make)
        if _size(made) <= MAX_VALUES:
            self._kept[name] = stamp, made
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return made


def _select_place(place: Key, *columns: Any) -> Select[Any]:
    tenant, collection = place
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    return select(*columns).where(mine)


def _counts(
    connection: Connection, tenant: str, collection: str | None
) -> dict[str, list[StatusCount]]:
    # SQLite reads the groups in the order of its index, without sorting, where they are columns.
    sqlite = connection.dialect.name == "sqlite"
    allowed = type_coerce(documents.c.allowed, String) if sqlite else ALLOWED
    kind = (documents.c.collection, documents.c.status, documents.c.version, allowed)
    wanted = select(*kind, func.count(), func.sum(documents.c.chunks)).group_by(*kind)
    wanted = wanted.where(documents.c.tenant == tenant)
    if collection is not None:
        wanted = wanted.where(documents.c.collection == collection)
    found: dict[tuple[str, str, str, bool], tuple[int, int]] = {}
    for place, status, version, names, n, chunks in connection.execute(wanted):
        group = (place, status, names, version > 0)
        before = found.get(group, (0, 0))
        found[group] = before[0] + n, before[1] + int(chunks)
    counts: dict[str, list[StatusCount]] = {}
    for (place, status, names, answers), (n, chunks) in found.items():
        count = StatusCount(status, _readers(names), n, chunks, answers)
        counts.setdefault(place, []).append(count)
    return counts


def _select_described(place: Key) -> Select[Any]:
    """Metadata and readers, with how many documents have just these: to read JSON takes longer than
    to count, and many documents have the same."""
    same = (_METADATA, ALLOWED)
    some = _select_place(place, *same, func.count()).group_by(*same)
    return some.where(documents.c.version > 0, documents.c.metadata.is_not(None))


def _values(rows: Iterable[Any], keys: Sequence[str]) -> dict[str, tuple[ValueCount, ...]]:
    counts: dict[str, Counter[tuple[str, str]]] = {key: Counter() for key in keys}
    values: dict[str, Scalar] = {}
    for metadata, names, many in rows:
        said = json.loads(metadata)
        for key in said.keys() & counts.keys():
            # A value that stands twice in a document's list is one document's.
            for name, value in {token(key, v): v for v in _scalars(said[key])}.items():
                values.setdefault(name, value)
                counts[key][name, names] += many
    return {
        key: tuple(
            ValueCount(values[name], _readers(names), n) for (name, names), n in some.items()
        )
        for key, some in counts.items()
    }


def _readers(names: str) -> tuple[str, ...]:
    return tuple(json.loads(names))


def _scalars(held: Any) -> list[Scalar]:
    several = held if isinstance(held, list) else [held]
    return [item for item in several if isinstance(item, Scalar)]


def _size(made: Any) -> int:
    if isinstance(made, dict):
        return sum(len(some) for some in made.values())
    return len(made)
