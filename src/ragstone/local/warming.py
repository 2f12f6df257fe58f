"""Loads models and tables before the first question."""

import asyncio
import contextlib
from uuid import UUID

from ragstone.core.answer import Instructions
from ragstone.core.chunk import Chunk
from ragstone.core.errors import RagstoneError
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Hit, Passage, Principal
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.language.dictionary import english
from ragstone.language.language import detect
from ragstone.ports import Adapters, Claim, EvidenceSource
from ragstone.understand.question_kinds import LANGUAGES, by_rules

ANYTHING = "ready"
"""The text of the warming calls; only the loading matters."""

QUESTION = "Which document of the first folder tells what the readiness of a machine depends on?"
"""Asked beforehand, so that every stage has read its tables and patterns."""

UNSURE = "Is readiness achieved momentarily?"
"""Text whose language takes statistics to tell."""

CLAIM, BESIDE = "It is ready now.", "The first machine was ready early. The second one was not."
"""A claim that is not a quotation of its source, so that a reader is loaded."""

ANSWERED = "When was the first machine ready?"
"""What `BESIDE` answers: of a strange collection no question is known that is not refused."""

MAX_SECONDS = 60.0
"""Loading that takes longer is left to the first question."""

MAX_COLLECTIONS = 4
"""Collections that are warmed: with more, the first questions would wait."""


async def warm(adapters: Adapters, recipe: Recipe | None = None) -> None:
    """Load models and tables for the collections that are there; nothing where there are none.

    Asks no other machine for anything that costs: a model server is not called, and only without
    one is a question asked, by `recipe` without its tail: nothing is kept of it.
    """
    collections = await adapters.catalog.collections()
    if not collections:
        return
    await adapters.intents.likeness(ANYTHING)
    for collection in collections[:MAX_COLLECTIONS]:
        with contextlib.suppress(RagstoneError):  # A question will be told.
            await adapters.statistics.specificity(collection, ANYTHING)
    with contextlib.suppress(RagstoneError):
        await adapters.checker.support([Claim(CLAIM)], [EvidenceSource(BESIDE)])
    await asyncio.to_thread(_load_tables)
    if recipe and adapters.completer is None and adapters.external_retriever is None:
        await _ask(adapters, recipe, collections[0])
        await _answer(adapters, collections[0])


def _load_tables() -> None:
    """Read what any question is compared with: words, languages, patterns of what is asked."""
    english().candidates(ANYTHING + "z")
    detect(UNSURE)
    for language in LANGUAGES:
        by_rules(ANYTHING, language)


async def _ask(adapters: Adapters, recipe: Recipe, collection: Collection) -> None:
    ask = Ask(
        QUESTION, principal=Principal(collection.tenant), collection=collection.name, cache=False
    )
    tailless = Recipe(recipe.stages)
    async with contextlib.aclosing(Engine(adapters, {ask.level: tailless})) as engine:
        with contextlib.suppress(RagstoneError):
            await engine.answer(ask)


async def _answer(adapters: Adapters, collection: Collection) -> None:
    """Answer from a passage that no document holds."""
    ask = Ask(ANSWERED, principal=Principal(collection.tenant), collection=collection.name)
    chunk = Chunk(
        chunk_id=str(UUID(int=0)),
        document_id="",
        version=1,
        chunk_index=0,
        text=BESIDE,
        title="",
        path="",
        tenant=collection.tenant,
        collection=collection.id,
        start=0,
        end=len(BESIDE),
    )
    passages = [Passage(1, BESIDE, Hit(chunk, 1.0))]
    with contextlib.suppress(RagstoneError):
        async for _ in adapters.answerer.answer(ask, passages, Instructions()):
            pass
