"""The reader as a reranker: it reads question and passage together, as a cross-encoder does."""

from collections.abc import Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Judgement, Pair, PairReader


class ReadingReranker:
    """`ports.Reranker` that scores a passage by how likely it answers the question. What the reader
    cannot read has no score and keeps its place."""

    name = "reader"

    def __init__(self, reader: PairReader, weight: float) -> None:
        self._reader = reader
        self._weight = weight

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        pairs = [Pair(question, chunk.text, chunk.heading, question=True) for chunk in chunks]
        read = await self._reader.read(pairs)
        scores = np.array([item.answers if item.readable else np.nan for item in read], np.float32)
        return Judgement(scores, self._weight, "question and passage read together")

    async def aclose(self) -> None:
        """The reader is closed by who opened it."""
