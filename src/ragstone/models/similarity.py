"""How near texts are to a question, on one scale whatever the embedder."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import UnknownCollection
from ragstone.ports import Catalog, Embedders
from ragstone.turn import Ask

SCALES = {"all-MiniLM-L6-v2": (0.0, 0.8), "multilingual-e5-small": (0.75, 0.95)}
"""The cosines of unrelated and of nearly equal texts: 0 and 1 on the common scale."""

UNKNOWN_SCALE = (0.2, 0.9)


class QuestionSimilarity:
    """Embeds with the model of the collection that is asked."""

    def __init__(self, catalog: Catalog, embedders: Embedders) -> None:
        self._catalog = catalog
        self._embedders = embedders

    async def __call__(self, ask: Ask, texts: Sequence[str]) -> NDArray[np.float32]:
        """Each text's likeness to the question, 0..1."""
        collection = await self._catalog.collection(ask.principal.tenant, ask.collection)
        if collection is None:
            raise UnknownCollection(ask.collection)
        embedder = self._embedders.of(collection)
        vectors = await embedder.embed_queries([ask.question, *texts])
        low, high = SCALES.get(embedder.name, UNKNOWN_SCALE)
        scaled: NDArray[np.float32] = (vectors[1:] @ vectors[0] - low) / (high - low)
        return np.clip(scaled, 0, 1)
