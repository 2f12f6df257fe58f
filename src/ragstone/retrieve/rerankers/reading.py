"""The reader as a reranker: it reads question and passage together, as a cross-encoder does."""

import time
from collections.abc import Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Judgement, Pair, PairReader
from ragstone.retrieve.rerank import RERANKER_WEIGHT

BATCH = 10
"""Passages that are read at a time."""

MAX_SECONDS = 15.0
"""Seconds after which no other batch is begun: on two busy cores 50 passages took over 30."""


class ReadingReranker:
    """`ports.Reranker` that scores a passage by how likely it answers the question. What the reader
    cannot read, or has no time for, has no score and keeps its place."""

    name = "reader"

    def __init__(self, reader: PairReader) -> None:
        self._reader = reader

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        pairs = [Pair(question, chunk.text, chunk.heading, question=True) for chunk in chunks]
        scores = np.full(len(pairs), np.nan, np.float32)
        until = time.monotonic() + MAX_SECONDS
        done = 0
        while done < len(pairs) and (not done or time.monotonic() < until):
            for item in await self._reader.read(pairs[done : done + BATCH]):
                scores[done] = item.answers if item.readable else np.nan
                done += 1
        reason = f"{done} of {len(pairs)} passages read together with the question"
        return Judgement(scores, RERANKER_WEIGHT, reason)

    async def aclose(self) -> None:
        """The reader is closed by who opened it."""
