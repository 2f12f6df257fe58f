"""Loads models and tables before the first question."""

import asyncio
import contextlib

from ragstone.core.errors import RagstoneError
from ragstone.language.dictionary import english
from ragstone.ports import Adapters, Claim, EvidenceSource

ANYTHING = "ready"
"""The text of the warming calls; only the loading matters."""

CLAIM, BESIDE = "It is ready now.", "It was ready early."
"""A claim that is no quotation of its source, so that a reader is loaded."""

MOST = 4
"""Collections that are warmed: with more, the first questions would wait."""


async def warm(adapters: Adapters) -> None:
    """Load models and tables for the collections that are there; nothing where there are none.

    Asks no other machine for anything that costs: a model server is not called.
    """
    collections = await adapters.catalog.collections()
    if not collections:
        return
    await adapters.intents.likeness(ANYTHING)
    for collection in collections[:MOST]:
        with contextlib.suppress(RagstoneError):  # A question will be told.
            await adapters.statistics.specificity(collection, ANYTHING)
    with contextlib.suppress(RagstoneError):
        await adapters.checker.support([Claim(CLAIM)], [EvidenceSource(BESIDE)], None)
    await asyncio.to_thread(english)
