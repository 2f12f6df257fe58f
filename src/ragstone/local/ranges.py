"""Conditions on metadata that compare with bounds, as indexes understand them."""

from dataclasses import replace

from ragstone.core.filters import expand_ranges, range_keys
from ragstone.core.turn import Ask
from ragstone.ports import Catalog, find_collection


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
