"""How rare tokens are in a collection, estimated from a sample of its chunks."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BROAD, NARROW = 0.25, 0.40
"""Mean rarity of the tokens of a topical and of a specific question. Between them lie most
questions: cranfield .25 to .38 (a narrow field, broad questions), squad2_dev .32 to .56."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """Document frequencies of token ids among `sampled` chunks."""

    sampled: int
    frequency: Counter[int]

    @classmethod
    def of(cls, texts: Iterable[Iterable[int]]) -> "Rarity":
        """Count in how many of `texts` (their token ids) each token occurs."""
        frequency: Counter[int] = Counter()
        sampled = 0
        for ids in texts:
            frequency.update(set(ids))
            sampled += 1
        return cls(sampled, frequency)

    def idf(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Inverse document frequencies (n,), as BM25 defines them."""
        n = self.sampled
        found = (self.frequency.get(token, 0) for token in ids)
        return np.array([math.log(1 + (n - f + 0.5) / (f + 0.5)) for f in found], np.float32)

    def specificity(self, ids: Sequence[int]) -> float:
        """How specific a question of these tokens is for the collection, 0 (topical) to 1.

        The mean inverse document frequency, a predictor of how well the words alone will do
        (He and Ounis, "Inferring query performance", 2004), by its greatest possible value.
        """
        if not len(ids) or not self.sampled:
            return 1.0
        mean = float(self.idf(ids).mean()) / math.log(self.sampled + 1)
        return min(1.0, max(0.0, (mean - BROAD) / (NARROW - BROAD)))
