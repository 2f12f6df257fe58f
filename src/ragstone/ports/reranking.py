"""The ports that compare a question with candidates a second time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.answer import Usage
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion, LateQuery
from ragstone.ports.embedding import Vectors


@dataclass(frozen=True, slots=True)
class Judgement:
    """`scores` (n,) in 0..1, one a candidate, NaN for one that cannot be judged; `weight`
    (0..1) is the share of the final score that they deserve, 0 when the reranker cannot judge;
    `reason` says why, `usage` what it took."""

    scores: Vectors
    weight: float
    reason: str = ""
    usage: Usage = Usage()


class Reranker(Protocol):
    """Compares the question with the text of each candidate."""

    @property
    def name(self) -> str: ...

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        """Score `chunks`; `encoded` is the question as the collection's embedder sees it.

        Raises ModelUnavailable.
        """
        ...

    async def aclose(self) -> None: ...


class TermStatistics(Protocol):
    """What is known of a collection's words."""

    async def specificity(self, collection: Collection, question: str) -> float | None:
        """How specific a question is for the collection, 0 (topical) to 1; None if unknown."""
        ...

    async def late_query(
        self, collection: Collection, question: EncodedQuestion
    ) -> LateQuery | None:
        """The question as the index compares it with token vectors, weighted by the rarity of its
        tokens in the collection; None where it has none that count."""
        ...
