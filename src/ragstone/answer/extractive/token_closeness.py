"""Reads the passages' token vectors from the index and compares them with the question, by unit."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ragstone.answer.extractive.unit_closeness import OwnedVectors, closeness
from ragstone.answer.extractive.units import AnswerUnit
from ragstone.core.turn import Ask, Passage
from ragstone.language.late_interaction import PlacedTokens, TokenVectors, unpack_tokens
from ragstone.ports import Catalog, Embedders, LateEmbedder, Vectors, find_collection
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.sampled_rarity import SampledRarity


class TokenCloseness:
    """For collections whose embedder gives token vectors."""

    def __init__(
        self, catalog: Catalog, tokens: HeldTokens, embedders: Embedders, rarity: SampledRarity
    ) -> None:
        self._catalog = catalog
        self._tokens = tokens
        self._embedders = embedders
        self._rarity = rarity

    async def __call__(
        self, ask: Ask, passages: Sequence[Passage], units: Sequence[Sequence[AnswerUnit]]
    ) -> list[Vectors] | None:
        """Per passage `unit_closeness` of its units; None where token vectors are missing:
        there is no such collection here, its embedder gives none, the index has none, or a
        passage is wider than its chunk."""
        collection = await find_collection(self._catalog, ask)
        if collection is None:
            return None
        embedder = self._embedders.find_indexing(collection)
        if not isinstance(embedder, LateEmbedder):
            return None
        asked = (await embedder.embed_question(ask.question)).tokens
        chunks = [passage.hit.chunk for passage in passages]
        held = await self._tokens.of(collection, [chunk.chunk_id for chunk in chunks])
        if asked is None or not len(asked.ids) or any(c.chunk_id not in held for c in chunks):
            return None
        placed = await embedder.place_tokens([chunk.searchable for chunk in chunks])
        scale = embedder.token_scale()
        vectors = [unpack_tokens(held[chunk.chunk_id], scale) for chunk in chunks]
        owned = [
            _vectors_by_unit(*item) for item in zip(passages, vectors, placed, units, strict=True)
        ]
        if any(item is None for item in owned):
            return None
        ids = asked.ids.tolist()
        rarity = await self._rarity.rarity(collection, embedder)
        weights = embedder.token_weights(ids, rarity.idf(ids))
        own = replace(asked, vectors=asked.vectors[: len(asked.ids)])
        return closeness(own, weights, [item for item in owned if item is not None])


def _vectors_by_unit(
    passage: Passage, tokens: TokenVectors, placed: PlacedTokens, units: Sequence[AnswerUnit]
) -> OwnedVectors | None:
    """Return the vectors by unit, None if they are not those of this text."""
    if not np.array_equal(tokens.ids, placed.ids) or len(tokens.vectors) != len(placed.starts):
        return None
    chunk = passage.hit.chunk
    marks = np.array(list(chunk.code_marks()), np.int64).reshape(-1, 2)
    text_length = len(chunk.text) - int((marks[:, 1] - marks[:, 0]).sum())
    starts = placed.starts - (len(chunk.searchable) - text_length)
    firsts = _without_marks(np.array([unit.start for unit in units], np.int64), marks)
    owners = np.searchsorted(firsts, starts, side="right") - 1
    owners = np.where(starts < 0, -1, owners)
    inside = starts < _without_marks(np.array([len(passage.text)]), marks)[0]
    return OwnedVectors(tokens.vectors[inside], owners[inside].astype(np.int64), len(units))


def _without_marks(positions: NDArray[np.int64], marks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count positions in what is left of a text without the marks (n, 2)."""
    removed = np.concatenate([[0], np.cumsum(marks[:, 1] - marks[:, 0])])
    before = np.searchsorted(marks[:, 0], positions, side="left")
    kept: NDArray[np.int64] = positions - removed[before]
    return kept
