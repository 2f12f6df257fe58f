"""Compares the question with the units by the meaning of each, where they are in other languages.

Words and token vectors agree only within a language. The multilingual embedder's vectors of whole
sentences do not care, but each sentence has to be embedded for it.
"""

from collections.abc import Sequence

import numpy as np

from ragstone.answer.extractive.units import AnswerUnit
from ragstone.core.turn import Ask, Passage
from ragstone.language.language import detect
from ragstone.ports import Catalog, Embedders, EquatingEmbedder, Vectors, find_collection

COMPARED = 4
"""Passages whose units are compared: those that come first."""

MAX_UNITS = 60
"""Units that are embedded, about a second on two cores."""


class MeaningCloseness:
    """For collections whose embedder compares languages."""

    def __init__(self, catalog: Catalog, embedders: Embedders) -> None:
        self._catalog = catalog
        self._embedders = embedders

    async def __call__(
        self, ask: Ask, passages: Sequence[Passage], units: Sequence[Sequence[AnswerUnit]]
    ) -> list[Vectors] | None:
        """Per passage the likeness (units,) of its units to the question, 0 (unrelated) to 1; 0
        for those that are not compared. None where question and passages share a language or the
        embedder knows one only."""
        collection = await find_collection(self._catalog, ask)
        if collection is None:
            return None
        embedder = self._embedders.find_comparing(collection)
        if embedder is None or not _is_foreign(ask.question, passages[:COMPARED]):
            return None
        places = [(p, u) for p in range(min(COMPARED, len(units))) for u in range(len(units[p]))]
        places = places[:MAX_UNITS]
        texts = [passages[p].text[units[p][u].start : units[p][u].end] for p, u in places]
        asked = await embedder.embed_queries([ask.question])
        if isinstance(embedder, EquatingEmbedder):
            languages = {passage.hit.chunk.language for passage in passages[:COMPARED]}
            asked = embedder.equate_languages(asked, languages)
        cosines = (await embedder.embed_passages(texts)) @ asked[0]
        low, high = embedder.cosines
        found = [np.zeros(len(own), np.float32) for own in units]
        for (p, u), cosine in zip(places, cosines, strict=True):
            found[p][u] = min(1.0, max(0.0, (float(cosine) - low) / (high - low)))
        return found

    async def words(self, ask: Ask) -> str:
        """English words for those of a question in another language than a collection that was
        indexed in English; empty where there is no need."""
        collection = await find_collection(self._catalog, ask)
        if collection is None or detect(ask.question) in ("", "en"):
            return ""
        bridge = self._embedders.find_bridging(collection)
        return await bridge.english_words(ask.question) if bridge else ""


def in_other_languages(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages in another language than the question."""
    asked = detect(question)
    return [p for p in passages if asked and p.hit.chunk.language not in ("", asked)]


def _is_foreign(question: str, passages: Sequence[Passage]) -> bool:
    """Tell whether half of the passages or more are in another language than the question."""
    known = sum(bool(passage.hit.chunk.language) for passage in passages)
    return known > 0 and 2 * len(in_other_languages(question, passages)) >= known
