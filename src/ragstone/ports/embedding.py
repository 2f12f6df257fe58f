"""The ports that turn text into vectors."""

from collections.abc import Collection as AbstractCollection
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragstone.core.answer import Usage
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion, LateQuery, PlacedTokens

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), rows of unit length."""


IN_BULK: ContextVar[bool] = ContextVar("in_bulk", default=False)
"""Whether what is embedded now is a part of much that nobody waits for, as in an ingest. Embedders
of this machine have a lane of its own for that, so that no question waits behind it."""


@contextmanager
def in_bulk() -> Iterator[None]:
    """What is embedded in here may wait for questions."""
    token = IN_BULK.set(True)
    try:
        yield
    finally:
        IN_BULK.reset(token)


class Embedder(Protocol):
    """Turns texts into vectors of unit length. Safe to call from several tasks at once."""

    @property
    def name(self) -> str:
        """The model's name, as `/v1/models` shows it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def cosines(self) -> tuple[float, float]:
        """The cosines of unrelated and of nearly equal texts, which differ from model to model."""
        ...

    @property
    def multilingual(self) -> bool:
        """Whether texts of different languages that say the same get similar vectors."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors: ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors: ...


@runtime_checkable
class LateEmbedder(Embedder, Protocol):
    """An embedder whose token vectors can be compared one by one (`language.late_interaction`)."""

    def token_dimensions(self) -> int:
        """Return the length of a token vector."""
        ...

    def token_scale(self) -> Vectors:
        """Return the usual deviation of each dimension of a token vector (token dimensions,), once
        the model is loaded."""
        ...

    async def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Like `embed_passages`, and each text's packed token vectors, in one pass."""
        ...

    async def embed_question(self, text: str) -> EncodedQuestion: ...

    async def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's tokens, without running the model."""
        ...

    async def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        """Return where in each text its tokens are, without running the model."""
        ...

    def token_weights(self, ids: Sequence[int], rarity: Vectors) -> Vectors:
        """Tell how much each token (n,) of a question counts, given its rarity."""
        ...


@runtime_checkable
class EquatingEmbedder(Embedder, Protocol):
    """An embedder whose vectors also tell the language, so that a question is nearer to passages in
    its own whatever they are about, and that can take this out of a question's."""

    def equate_languages(self, vectors: Vectors, languages: AbstractCollection[str]) -> Vectors:
        """Return vectors of questions (n, dimensions), as near to passages in one of the languages
        as to those in another that say the same; of unit length."""
        ...


@runtime_checkable
class BridgingEmbedder(Embedder, Protocol):
    """An embedder that puts texts of many languages among those of an English one."""

    async def english_words(self, question: str) -> str:
        """Return English words for those of the question, as far as any are known."""
        ...


class Embedders(Protocol):
    """The embedders at hand, by the name or fingerprint that a collection carries."""

    def choose(self, language: str) -> Embedder:
        """Return the one that a new collection of this language should use."""
        ...

    def multilingual(self) -> Embedder:
        """Return the bundled one for texts of many languages, whatever the settings: learned
        weights are those of its vectors."""
        ...

    def find_indexing(self, collection: Collection) -> Embedder:
        """Return the one that indexed `collection`.

        Raises EmbeddingMismatch when the settings name another one.
        """
        ...

    def find_comparing(self, collection: Collection) -> Embedder | None:
        """Return one that compares texts of several languages: the collection's own if it does;
        None where the settings allow none."""
        ...

    def find_bridging(self, collection: Collection) -> BridgingEmbedder | None:
        """Return one for texts in other languages than English, whose vectors lie among those of a
        collection that was indexed in English; None where there is no need or none is allowed."""
        ...


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
        """Tell how specific a question is for the collection, 0 (topical) to 1; None if unknown."""
        ...

    async def languages(self, collection: Collection) -> frozenset[str]:
        """Return the languages of its passages, of a large collection the more frequent ones."""
        ...

    async def late_query(
        self, collection: Collection, question: EncodedQuestion
    ) -> LateQuery | None:
        """Return the question as the index compares it with token vectors, weighted by the rarity
        of its tokens in the collection; None where it has none that count."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, or with `question` a question, beside a passage and the title that it stands
    under."""

    text: str
    passage: str
    title: str = ""
    question: bool = False


@dataclass(frozen=True, slots=True)
class PairReading:
    """What a reader makes of a pair; all are probabilities, 0..1.

    `answers`: that the passage answers the question, and `span` the likeliest place of the answer
    in the passage, None where nothing answers. `supported`, `contradicted` and `not_said` add up
    to 1 and are of the claim. What was not asked for is 0.

    Without `readable` the reader does not know the script, or the claim is too long for it: then
    the claim is not said, and nothing is answered.
    """

    answers: float = 0.0
    span: tuple[int, int] | None = None
    supported: float = 0.0
    contradicted: float = 0.0
    not_said: float = 0.0
    readable: bool = True


class PairReader(Protocol):
    """Says of pairs what a person would who reads the two together."""

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        """Read the pairs. Raises ModelUnavailable if the model cannot be opened."""
        ...

    async def aclose(self) -> None:
        """Free the model's memory and its thread."""
        ...
