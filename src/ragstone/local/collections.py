"""Completes a question: the id of its collection, and the values that its ranges mean. Tells
whether who asked may still read the answer."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ragstone.conversation.reach import select_readable
from ragstone.core.errors import StateUnavailable, UnknownCollection
from ragstone.core.filters import expand_ranges, range_keys, simplify
from ragstone.core.readers import Reader
from ragstone.core.turn import Ask, Principal
from ragstone.language.similar_names import find_similar
from ragstone.ports import Catalog, CollectionNames, find_collection

SLIP_SIMILARITY = 0.85


async def identify_collection(names: CollectionNames, ask: Ask) -> Ask:
    """The question with the id of the collection that has the name now, and a filter that does not
    ask for the name. Where the store does not answer it stays as it is, and fails with that."""
    if ask.collection_id:
        return ask
    with suppress(StateUnavailable):
        id = await names.identity(ask.principal.tenant, ask.collection, make=False)
        where = ask.where and simplify(ask.where, "collection", ask.collection)
        return replace(ask, collection_id=id, where=where)
    return ask


async def identify_granted(names: CollectionNames, tenant: str, name: str) -> str:
    """Return the id of the collection of this name, for what is granted or set for it; or of the
    one to come. Raises UnknownCollection for a name like that of a collection that there is: it is
    a slip, and what was meant for that one would be of none."""
    if id := await names.identity(tenant, name, make=False):
        return id
    known = {item.name for item in await names.collections(tenant)}
    # The parts of a numbered series are as like, and no slips.
    others = [item for item in known if _without_digits(item) != _without_digits(name)]
    if nearest := find_similar(name.lower(), others, least=SLIP_SIMILARITY):
        raise UnknownCollection(name, nearest)
    return await names.identity(tenant, name)


async def identify_all_granted(
    names: CollectionNames, tenant: str, granted: Sequence[str]
) -> tuple[str, ...]:
    """Return `identify_granted` of each of these names; raises UnknownCollection."""
    return tuple([await identify_granted(names, tenant, name) for name in granted])


def _without_digits(name: str) -> str:
    return re.sub(r"\d", "", name)


async def may_still_read(
    names: CollectionNames, asker: Principal, documents: Sequence[str], origin: str | None
) -> bool:
    """Tell whether these documents, by their ids, are there and for who asked, and whether what the
    answer was made from beside them (`Provenance.text`) is, as far as that is known."""
    known = await names.find_documents(documents) if documents else {}
    theirs = set(asker.names)
    for id in documents:
        document = known.get(id)
        if document is None or not document.version or theirs.isdisjoint(document.allowed):
            return False
    reader = Reader(None, asker.names)
    return origin is None or bool(await select_readable([origin], reader, names, asker.tenant))


async def with_known_values(catalog: Catalog, ask: Ask) -> Ask:
    """Return the question with each range of metadata as the values that documents have within it.

    Raises InvalidFilter.
    """
    keys = range_keys(ask.where) if ask.where is not None else frozenset[str]()
    if ask.where is None or not keys:
        return ask
    collection = await find_collection(catalog, ask)
    if collection is None:
        return replace(ask, where=expand_ranges(ask.where, {}))
    counted = await catalog.metadata_values(collection.tenant, collection.id, keys)
    values = {key: [item.value for item in some] for key, some in counted.items()}
    return replace(ask, where=expand_ranges(ask.where, values))
