"""Conditions on metadata that compare with bounds, as indexes understand them."""

from dataclasses import replace

from ragstone.core.filters import ranged, with_values
from ragstone.core.turn import Ask
from ragstone.ports import Catalog, collection_of


async def with_known_values(catalog: Catalog, ask: Ask) -> Ask:
    """The question with each range of metadata as the values that documents have within it.

    Raises InvalidFilter.
    """
    keys = ranged(ask.where) if ask.where is not None else frozenset[str]()
    if ask.where is None or not keys:
        return ask
    collection = await collection_of(catalog, ask)
    if collection is None:
        return replace(ask, where=with_values(ask.where, {}))
    counted = await catalog.metadata_values(collection.tenant, collection.id, keys)
    values = {key: [one.value for one in some] for key, some in counted.items()}
    return replace(ask, where=with_values(ask.where, values))
