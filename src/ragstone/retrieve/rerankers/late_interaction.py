"""Reranking by late interaction with the embedder's own token vectors: no further model.

Its share of the score follows from how specific the question is for the collection: comparing
tokens helps a question that names what it wants and misleads one about a broad topic.
"""

from collections.abc import Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.language import detect
from ragstone.language.late_interaction import (
    EncodedQuestion,
    Floats,
    maxsim,
    score_word_order,
    unpack_tokens,
)
from ragstone.ports import Embedders, Judgement, LateEmbedder, Vectors
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.sampled_rarity import SampledRarity

MAXSIM, PHRASES = 0.5, 0.2
"""Weights beside the fused score's 1 - MAXSIM, for a wholly specific question; all are scaled to
sum to 1. Flat around these values on every set that was tried (`benchmarks/results/notes.md`)."""


class LateInteraction:
    """`ports.Reranker` for collections whose embedder gives token vectors.

    They are read from the index, and computed for the chunks that have none there. Chunks in other
    languages are left as they are: the tokens say nothing of them.
    """

    name = "late interaction"

    def __init__(self, tokens: HeldTokens, embedders: Embedders, rarity: SampledRarity) -> None:
        self._tokens = tokens
        self._embedders = embedders
        self._rarity = rarity

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        none = np.zeros(len(chunks), np.float32)
        embedder = self._embedders.find_indexing(collection)
        if not isinstance(embedder, LateEmbedder):
            return Judgement(none, 0.0, f"{embedder.name} gives no token vectors")
        asked = (encoded or await embedder.embed_question(question)).tokens
        if asked is None or not len(asked.ids):
            return Judgement(none, 0.0, "the question has no tokens")
        ids = asked.ids.tolist()
        rarity = await self._rarity.rarity(collection, embedder)
        specific = rarity.specificity(ids)
        if not specific:
            return Judgement(none, 0.0, "the question is topical")
        packed = await self._pack_tokens(collection, embedder, chunks)
        places = [place for place, chunk in enumerate(chunks) if chunk.chunk_id in packed]
        if not places:
            return Judgement(none, 0.0, "the passages wait for their vectors")
        scale = embedder.token_scale()
        passages = [unpack_tokens(packed[chunks[place].chunk_id], scale) for place in places]
        idf = rarity.idf(ids)
        said = maxsim(asked, embedder.token_weights(ids, idf), passages)
        both = MAXSIM * _spread(said) + PHRASES * score_word_order(asked, idf, passages)
        scores = np.full(len(chunks), np.nan, np.float32)
        scores[places] = both / (MAXSIM + PHRASES)
        language = detect(question)
        scores[[language not in ("", c.language) and c.language != "" for c in chunks]] = np.nan
        weight = (MAXSIM + PHRASES) * specific / (1 + PHRASES * specific)
        return Judgement(scores, weight, f"the question is {specific:.0%} specific")

    async def _pack_tokens(
        self, collection: Collection, embedder: LateEmbedder, chunks: Sequence[Chunk]
    ) -> dict[str, bytes]:
        """Return the token vectors by chunk. Those that an ingest has still to embed are ranked
        without: a question does not do its work."""
        held = await self._tokens.of(collection, [chunk.chunk_id for chunk in chunks])
        missing = [chunk for chunk in chunks if chunk.chunk_id not in held]
        if missing:
            pending = await self._tokens.find_pending(collection, [c.chunk_id for c in missing])
            missing = [chunk for chunk in missing if chunk.chunk_id not in pending]
        if missing:
            _, packed = await embedder.embed_with_tokens([c.searchable for c in missing])
            held.update(zip((c.chunk_id for c in missing), packed, strict=True))
        return held

    async def aclose(self) -> None:
        """Close nothing."""


def _spread(scores: Floats) -> Vectors:
    """Return the scores between the worst and the best, as 0..1."""
    low, high = float(scores.min()), float(scores.max())
    spread: Vectors = (scores - low) / (high - low) if high > low else np.ones_like(scores)
    return spread
