"""The ports that turn text into vectors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion, PlacedTokens

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
        """The length of a token vector."""
        ...

    def token_scale(self) -> Vectors:
        """The usual deviation of each dimension of a token vector (token dimensions,), once the
        model is loaded."""
        ...

    async def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Like `embed_passages`, and each text's packed token vectors, in one pass."""
        ...

    async def embed_question(self, text: str) -> EncodedQuestion: ...

    async def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's tokens, without running the model."""
        ...

    async def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        """Where in each text its tokens are, without running the model."""
        ...

    def token_weights(self, ids: Sequence[int], rarity: Vectors) -> Vectors:
        """How much each token (n,) of a question counts, given its rarity."""
        ...


@runtime_checkable
class BridgingEmbedder(Embedder, Protocol):
    """An embedder that puts texts of many languages among those of an English one."""

    async def in_english(self, question: str) -> str:
        """English words for those of the question, as far as any are known."""
        ...


class Embedders(Protocol):
    """The embedders at hand, by the name or fingerprint that a collection carries."""

    def for_text(self, language: str) -> Embedder:
        """The one that a new collection of this language should use."""
        ...

    def of(self, collection: Collection) -> Embedder:
        """The one that indexed `collection`.

        Raises EmbeddingMismatch when the settings name another one.
        """
        ...

    def find_comparing(self, collection: Collection) -> Embedder | None:
        """One that compares texts of several languages: the collection's own if it does; None
        where the settings allow none."""
        ...

    def find_bridging(self, collection: Collection) -> BridgingEmbedder | None:
        """One for texts in other languages than English, whose vectors lie among those of a
        collection that was indexed in English; None where there is no need or none is allowed."""
        ...
