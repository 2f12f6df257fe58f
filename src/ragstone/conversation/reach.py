"""Who reads what is kept of conversations: whoever reaches all that it was answered from.

What an earlier version kept does not say what that was; it is for its user and for admins, by
credentials that are not limited to some collections.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from functools import reduce
from operator import or_

from ragstone.core.provenance import Provenance, Reader
from ragstone.ports import CollectionNames

UNKNOWN = Provenance(("",))
"""No collection has this id, so it is in nobody's reach."""


async def readable(
    origins: Sequence[str], reader: Reader, names: CollectionNames, tenant: str
) -> list[str] | None:
    """Those of the origins (`Provenance.text`) that the reader reaches; None for whatever there is.

    A collection that is gone is out of reach for who does not reach all: another may have its name.
    """
    if reader.collections is None and reader.names is None:
        return None
    known = {text: Provenance.of(text) for text in origins}
    called: dict[str, str] = {}
    closed: set[str] = set()
    if reader.collections is not None:
        reached = {id for item in known.values() if item for id in item.collections}
        called = dict(await names.names(tenant, reached)) if reached else {}
    ids = {id for item in known.values() if item for id in item.documents}
    if reader.names is not None and ids:
        mine = set(reader.names)
        documents = await names.known(sorted(ids))
        closed = {id for id, now in documents.items() if mine.isdisjoint(now.allowed)}
    return [text for text, item in known.items() if _reaches(reader, item, called, closed)]


def _reaches(
    reader: Reader, origin: Provenance | None, called: Mapping[str, str], closed: Set[str]
) -> bool:
    if origin is None:
        return reader.collections is None
    if not closed.isdisjoint(origin.documents):
        return False
    if reader.names is not None and not _shares_each(reader.names, origin.groups):
        return False
    reach = reader.collections
    return reach is None or all(called.get(id) in reach for id in origin.collections)


def _shares_each(names: Collection[str], groups: Sequence[Collection[str]]) -> bool:
    return all(any(name in names for name in group) for group in groups)


def join_origins(origins: Sequence[str]) -> Provenance:
    """All of these in one; with one that is not known it is for who reaches every collection."""
    return reduce(or_, (Provenance.of(text) or UNKNOWN for text in origins), Provenance())
