"""Keeps the hits that are worth an answer's room: near enough, not twice, and as many as asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ragstone.core.answer import Confidence
from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters, Vectors
from ragstone.retrieve.diversity import distinct, diverse
from ragstone.retrieve.searching import bridge
from ragstone.retrieve.strategies import SPARE

WORDS_COUNT = 0.5
"""A hit whose word score is this share of the best stays, however far its meaning seems: codes,
numbers and names have no meaning that an embedder knows."""


class Deduplicate(Stage):
    """Says how alike each hit and the question are, drops the unlike and the near-duplicates, and
    keeps the plan's number: the best, or different ones where the plan asks for those."""

    name: ClassVar[str] = "deduplicate"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    near_duplicate: float = Field(
        0.95, ge=0, le=1, description="Cosine above which a passage repeats a better one."
    )
    high: float = Field(0.7, ge=0, le=1, description="Similarity from which confidence is high.")
    medium: float = Field(0.45, ge=0, le=1, description="Similarity from which it is medium.")
    scored: bool = Field(False, description="Whether confidence is that of the score instead.")
    strict: bool = Field(
        False,
        description="Whether every passage below the least similarity goes that no word of the "
        "question finds, the last one too.",
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        plan = turn.plan
        # Whatever is unlike the question makes room for the next one.
        most = max(SPARE * plan.top_k, plan.reranked if plan.min_similarity else 0)
        if plan.strategy == "sequential":
            hits = turn.hits[: plan.top_k]
            return Step(replace(turn, hits=hits), f"{len(hits)} passages")
        hits = _of_each(turn.hits, plan.per_document)[:most]
        if turn.collection is None or turn.encoded is None:
            hits = hits[: plan.top_k]
            return Step(replace(turn, hits=hits), f"{len(hits)} passages")
        compared = bool(plan.diversity) or self.near_duplicate < 1
        wanted = [hit.chunk.chunk_id for hit in hits if compared or hit.dense is None]
        held = await adapters.index.vectors(turn.collection, wanted) if wanted else {}
        asked = bridge(turn.queries[0], turn.collection, adapters)
        low, high = (asked or adapters.embedders.find_indexing(turn.collection)).cosines
        measured = [self._with_similarity(h, turn.encoded.vector, held, low, high) for h in hits]
        near = _similar_hits(measured, plan.min_similarity, 0.0 if self.strict else WORDS_COUNT)
        if turn.ask.wanted.min_similarity is None and not self.strict:
            # Whether any of them answers is for the reader to say, unless the request decides.
            near = near or measured
        kept = distinct(near, held, self.near_duplicate)
        if plan.diversity:
            kept = diverse(kept, held, plan.diversity, plan.top_k)
        chosen = tuple(kept[: plan.top_k])
        return Step(
            replace(turn, hits=chosen),
            f"{len(chosen)} passages",
            f"{len(measured) - len(near)} unlike the question, "
            f"{len(near) - len(kept)} near-duplicates",
        )

    def _with_similarity(
        self, hit: Hit, question: Vectors, held: Mapping[str, Vectors], low: float, high: float
    ) -> Hit:
        vector = held.get(hit.chunk.chunk_id)
        if vector is not None:
            cosine = float(np.dot(vector, question))
        elif hit.dense is not None:
            cosine = hit.dense
        else:
            return hit
        similarity = min(1.0, max(0.0, (cosine - low) / (high - low)))
        confidence = self._confidence(hit.score if self.scored else similarity)
        return Hit(hit.chunk, hit.score, cosine, hit.bm25, hit.rerank, similarity, confidence)

    def _confidence(self, measured: float) -> Confidence:
        if measured >= self.high:
            return "high"
        return "medium" if measured >= self.medium else "low"


def _of_each(hits: Sequence[Hit], most: int) -> tuple[Hit, ...]:
    """Return the best `most` hits of each document; all where it is 0."""
    if not most:
        return tuple(hits)
    found = Counter[str]()
    kept = []
    for hit in hits:
        found[hit.chunk.document_id] += 1
        if found[hit.chunk.document_id] <= most:
            kept.append(hit)
    return tuple(kept)


def _similar_hits(hits: Sequence[Hit], least: float, share: float) -> list[Hit]:
    """Hits of at least this similarity. Those without a vector stay, and those that words find, to
    this share of the best by words."""
    best = max((hit.bm25 or 0.0 for hit in hits), default=0.0)
    return [
        hit
        for hit in hits
        if hit.similarity is None
        or hit.similarity >= least
        or (hit.bm25 and hit.bm25 >= share * best)
    ]
