"""How near texts are to a question, on one scale whatever the embedder."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import UnknownCollection
from ragstone.ports import Catalog, Embedders
from ragstone.turn import Ask


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
        low, high = embedder.cosines
        scaled: NDArray[np.float32] = (vectors[1:] @ vectors[0] - low) / (high - low)
        return np.clip(scaled, 0, 1)
