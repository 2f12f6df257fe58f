"""Which collection a question means by its name."""

from contextlib import suppress
from dataclasses import replace

from ragstone.core.errors import StateUnavailable
from ragstone.core.filters import simplify
from ragstone.core.turn import Ask
from ragstone.ports import CollectionNames


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
