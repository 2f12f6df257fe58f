"""Who reads what is kept of conversations: whoever reaches all that it was answered from.

What an earlier version kept does not say what that was; it is for its user and for admins, by
credentials that are not limited to some collections.
"""

from collections.abc import Mapping, Sequence, Set
from functools import reduce
from operator import or_

from ragstone.core.readers import Provenance, Reader
from ragstone.ports import CollectionNames

UNKNOWN = Provenance(("",))
"""No collection has this id, so it is in nobody's reach."""


async def select_readable(
    origins: Sequence[str], reader: Reader, names: CollectionNames, tenant: str
) -> list[str] | None:
    """Select those of the origins (`Provenance.text`) that the reader reaches; None for all."""
    if reader.collections is None and reader.names is None:
        return None
    known = {text: Provenance.read(text) for text in origins}
    called: dict[str, str] = {}
    closed: set[str] = set()
    if reader.collections is not None:
        reached = {id for item in known.values() if item for id in item.collections}
        called = dict(await names.names(tenant, reached)) if reached else {}
    ids = {id for item in known.values() if item for id in item.documents}
    if reader.names is not None and ids:
        mine = set(reader.names)
        readers = await names.find_readers(sorted(ids))
        closed = {id for id, allowed in readers.items() if mine.isdisjoint(allowed)}
    return [text for text, item in known.items() if _reaches(reader, item, called, closed)]


def _reaches(
    reader: Reader, origin: Provenance | None, called: Mapping[str, str], closed: Set[str]
) -> bool:
    if origin is None:
        return reader.collections is None
    if not closed.isdisjoint(origin.documents):
        return False
    if reader.names is not None and not all(
        any(name in reader.names for name in group) for group in origin.groups
    ):
        return False
    reach = reader.collections
    # A collection that is gone has no name here: another one may have got its name since.
    return reach is None or all(called.get(id) in reach for id in origin.collections)


def join_origins(origins: Sequence[str]) -> Provenance:
    """All of these in one; with one that is not known it is for who reaches every collection."""
    return reduce(or_, (Provenance.read(text) or UNKNOWN for text in origins), Provenance())
