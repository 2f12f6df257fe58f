"""A reranker that counts which words of the question a passage has."""

import re
from collections.abc import Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Judgement, Reranker
from ragstone.retrieve.rerankers import RerankerParts

WORDS = re.compile(r"\w{3,}")
WEIGHT = 0.7
"""What the score counts beside that of the search."""


class OverlapReranker:
    """`ports.Reranker`: the share of the question's words that the passage has."""

    name = "overlap"

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        wanted = set(WORDS.findall(question.casefold()))
        if not wanted:
            return Judgement(np.zeros(len(chunks), np.float32), 0.0, "the question has no word")
        found = [wanted.intersection(WORDS.findall(c.searchable.casefold())) for c in chunks]
        scores = np.array([len(item) / len(wanted) for item in found], np.float32)
        return Judgement(scores, WEIGHT, f"{len(wanted)} words were looked for")

    async def aclose(self) -> None:
        """There is nothing to close."""


def overlap_reranker(parts: RerankerParts) -> Reranker:
    """The share of the question's words in the passage."""
    return OverlapReranker()
