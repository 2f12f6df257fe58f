"""The reader as a reranker: it reads question and passage together, as a cross-encoder does."""

from collections.abc import Iterable, Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Judgement, Pair, PairReader
from ragstone.retrieve.rerank import RERANKER_WEIGHT
from ragstone.retrieve.rerankers.in_time import score_in_time


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

        async def score(batch: slice) -> Iterable[float]:
            read = await self._reader.read(pairs[batch])
            return [item.answers if item.readable else np.nan for item in read]

        scores, done = await score_in_time(len(pairs), score)
        reason = f"{done} of {len(pairs)} passages read together with the question"
        return Judgement(scores, RERANKER_WEIGHT, reason)

    async def aclose(self) -> None:
        """The reader is closed by who opened it."""
