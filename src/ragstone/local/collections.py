"""Collections by their names: which one a question means, and giving one another name."""

from contextlib import suppress
from dataclasses import replace

from ragstone.core.errors import StateUnavailable
from ragstone.core.filters import simplify
from ragstone.core.limits import check_collection_name
from ragstone.core.records import Collection
from ragstone.core.turn import Ask
from ragstone.ports import Catalog, CollectionNames


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


async def rename(catalog: Catalog, known: Collection, name: str) -> Collection:
    """Call a collection otherwise. Raises InputError for what is not a name, Conflict for one that
    is taken, UnknownCollection."""
    check_collection_name(name)
    return known if name == known.name else await catalog.rename_collection(known, name)
