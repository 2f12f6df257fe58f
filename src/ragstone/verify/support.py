"""How well source sentences support a claim, as numbers that a small model weighs.

All lie in 0..1. A share counts words by their weight (`terms.weight`). `best` is the sentence that
holds most of the claim, `window` the three neighbours that do, `all` every sentence together.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragstone.language.polarity import opposed
from ragstone.language.quantities import replaces, states
from ragstone.verify.evidence import Evidence, Floats
from ragstone.verify.terms import Terms

FEATURES = (
    "all",
    "best",
    "best_two",
    "best_three",
    "neighbours_two",
    "neighbours_three",
    "scattered",
    "words_all",
    "names_all",
    "names_best",
    "names_window",
    "names_missing",
    "has_names",
    "quantities_all",
    "quantities_best",
    "quantities_window",
    "quantities_missing",
    "has_quantities",
    "heaviest_missing",
    "heaviest_missing_best",
    "missing",
    "missing_best",
    "pairs_best",
    "pairs_window",
    "phrases",
    "order",
    "weakest_clause",
    "negated",
    "opposed",
    "swapped",
    "replaced",
    "name_replaced",
    "quantity_replaced",
    "length",
    "sources",
)

WINDOW = 3
PREFERENCE = 0.05
MOST_PAIRS = 60
_CLAUSE = re.compile(
    r"[,;:()，；、：（）]|\b(?:and|which|who|while|but|where|when|und|aber|et|mais|y|pero)\b"
)
_NEAR = 0.5
"""What a word must be held to count as there."""

_NEARLY = 0.7
"""The share of a claim's words that a sentence must hold to say the same with another number."""

_ALIGNED = 0.5
"""The share of a claim that a sentence must hold to be about the same."""


@dataclass(frozen=True, slots=True)
class SupportFeatures:
    """The `values` of FEATURES, the number of the `best` sentence, and how much of the claim it
    holds (0..1). `exchanged` says that it has another number of the same unit where the claim has
    one: 30 days, for 14 days."""

    values: NDArray[np.float32]
    best: int
    held: float
    exchanged: bool = False

    def __getitem__(self, name: str) -> float:
        return float(self.values[FEATURES.index(name)])


def support(
    claim: str, terms: Terms, evidence: Evidence, preferred: Sequence[int] = ()
) -> SupportFeatures | None:
    """What the sentences hold of a claim; None if either has nothing to compare. Of sentences that
    hold about the same, one of those numbered `preferred` is the best."""
    if not evidence.texts or not (terms.words or terms.quantities):
        return None
    matrix, weights = evidence.held(terms)
    found = _ClaimMatrix(claim, terms, evidence, matrix, weights, preferred)
    numbers = {**found.shares(), **found.gaps(), **found.sequences(), **found.conflicts()}
    values = np.array([numbers[name] for name in FEATURES], np.float32)
    exchanged = found.exchanged()
    return SupportFeatures(np.clip(values, 0, 1), found.best, numbers["best"], exchanged)


class _ClaimMatrix:
    """The matrix of the claim's words in each sentence, and the features read from it."""

    def __init__(
        self,
        claim: str,
        terms: Terms,
        evidence: Evidence,
        matrix: Floats,
        weights: Floats,
        preferred: Sequence[int],
    ) -> None:
        self.terms, self.evidence, self.matrix, self.weights = terms, evidence, matrix, weights
        self.claim = claim
        count, total = len(terms.words), float(weights.sum())
        self.names = np.array([t.name for t in terms.words] + [False] * len(terms.quantities))
        self.numbers = np.arange(len(weights)) >= count
        self.total = total
        self.alone = matrix @ weights / total
        ranked = self.alone.copy()
        ranked[list(preferred)] += PREFERENCE * (ranked[list(preferred)] > 0)
        self.best = int(ranked.argmax())
        self.every = matrix.max(axis=0)
        self.two, self.three = neighbours(matrix, 2), neighbours(matrix, WINDOW)
        self.window = self.three[int((self.three @ weights).argmax())]
        self.row = matrix[self.best]

    def shares(self) -> dict[str, float]:
        best, several = self._combined_shares()
        return {
            "all": self._share(self.every),
            "best": best,
            "best_two": several[0],
            "best_three": several[1],
            "neighbours_two": float((self.two @ self.weights).max() / self.total),
            "neighbours_three": self._share(self.window),
            "scattered": self._share(self.every) - self._share(self.window),
            "words_all": self._share(self.every, ~self.numbers),
            "names_all": self._share(self.every, self.names),
            "names_best": self._share(self.row, self.names),
            "names_window": self._share(self.window, self.names),
            "has_names": float(self.names.any()),
            "quantities_all": self._share(self.every, self.numbers),
            "quantities_best": self._share(self.row, self.numbers),
            "quantities_window": self._share(self.window, self.numbers),
            "has_quantities": float(self.numbers.any()),
            "length": math.log1p(len(self.weights)) / 5,
            "sources": math.log1p(len(self.matrix)) / 7,
        }

    def gaps(self) -> dict[str, float]:
        lacking = (1 - self.every) * self.weights
        lacking_best = (1 - self.row) * self.weights
        return {
            "names_missing": min(3, int((self.every < _NEAR)[self.names].sum())) / 3,
            "quantities_missing": min(3, int((self.every < _NEAR)[self.numbers].sum())) / 3,
            "heaviest_missing": float(lacking.max()) / 1.5,
            "heaviest_missing_best": float(lacking_best.max()) / 1.5,
            "missing": float(lacking.sum()) / 6,
            "missing_best": float(lacking_best.sum()) / 10,
            "weakest_clause": self._weakest_clause(),
        }

    def sequences(self) -> dict[str, float]:
        stems = [term.stem for term in self.terms.words]
        source = [term.stem for term in self.evidence.terms[self.best].words]
        columns = list(pairwise(range(len(stems))))[:MOST_PAIRS]
        said = self.evidence.pairs()
        side = sum(pair in said for pair in pairwise(stems)) / max(1, len(stems) - 1)
        return {
            "pairs_best": self._pairs(self.matrix, columns),
            "pairs_window": self._pairs(self.three, columns),
            "phrases": side if columns else self._share(self.row),
            "order": common_subsequence(stems, source) / max(1, len(stems)),
        }

    def conflicts(self) -> dict[str, float]:
        """Signs that the best sentence says something else of the same."""
        source = self.evidence.terms[self.best]
        words, others = [{t.word for t in one.words} for one in (self.terms, source)]
        aligned = self._share(self.row, ~self.numbers) >= _ALIGNED
        odd = self.terms.negations % 2 != source.negations % 2
        gap = self.row < _NEAR
        closed = self._replaced_words(gap)
        return {
            "negated": float(aligned and odd),
            "opposed": float(aligned and opposed(words, others)),
            "swapped": float(aligned and self._names_swapped(source)),
            "replaced": float((closed * self.weights).sum()) / 4,
            "name_replaced": float(aligned and bool((closed & self.names).any())),
            "quantity_replaced": float(
                aligned
                and bool(source.quantities)
                and (bool((gap & self.numbers).any()) or not _repeats(self.terms, source))
            ),
        }

    def exchanged(self) -> bool:
        """Whether the best sentence has another number of the only unit that the claim has one of,
        and says nearly all else of it."""
        source, own = self.evidence.terms[self.best].quantities, self.terms.quantities
        if len(own) != 1 or self._share(self.row, ~self.numbers) < _NEARLY:
            return False
        same = any(states((other,), own[0]) for other in source)
        return not same and any(replaces(own[0], other) for other in source)

    def _share(self, held: Floats, which: NDArray[np.bool_] | None = None) -> float:
        """The share of the claim that is held; of the columns `which`, all if there are none."""
        if which is None:
            return float(held @ self.weights) / self.total
        whole = float(self.weights[which].sum())
        return float(held[which] @ self.weights[which]) / whole if whole else 1.0

    def _combined_shares(self) -> tuple[float, list[float]]:
        """The shares of the best sentence, and of it with one and two others from anywhere."""
        held, shares = self.row, []
        for _ in range(2):
            held = np.maximum(
                held, self.matrix[(np.maximum(self.matrix, held) @ self.weights).argmax()]
            )
            shares.append(self._share(held))
        return self._share(self.row), shares

    def _pairs(self, rows: Floats, columns: Sequence[tuple[int, int]]) -> float:
        """The share of neighbouring words that some row holds both of."""
        if not columns:
            return float((rows @ self.weights).max()) / self.total
        left, right = zip(*columns, strict=True)
        both = np.minimum(rows[:, list(left)], rows[:, list(right)]).max(axis=0)
        return float(both.mean())

    def _weakest_clause(self) -> float:
        """What the clause that is held least has, by the three neighbours that hold it best."""
        bounds = [match.start() for match in _CLAUSE.finditer(self.claim)]
        clauses: dict[int, list[int]] = {}
        places = np.searchsorted(bounds, [term.start for term in self.terms.words])
        for column, place in enumerate(places.tolist()):
            clauses.setdefault(place, []).append(column)
        shares = [
            float((self.three[:, own] @ self.weights[own]).max() / self.weights[own].sum())
            for own in clauses.values()
            if len(own) > 1
        ]
        return min(shares, default=self._share(self.window))

    def _replaced_words(self, gap: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The missing words with held ones on both sides: something stands in their place."""
        held = np.flatnonzero(~gap & ~self.numbers)
        inside = np.zeros_like(gap)
        if len(held):
            inside[held[0] : held[-1]] = True
        return gap & inside & ~self.numbers

    def _names_swapped(self, source: Terms) -> bool:
        """Whether names that both have come in another order."""
        own = list(dict.fromkeys(term.stem for term in self.terms.words if term.name))
        there = list(dict.fromkeys(term.stem for term in source.words if term.name))
        return [s for s in own if s in there] != [s for s in there if s in own]


def _repeats(claim: Terms, source: Terms) -> bool:
    """Whether the source states the claim's quantities, each as often as the claim does, and those
    that are no part of a date in the same order."""
    left = list(source.quantities)
    for one in claim.quantities:
        found = next((other for other in left if states((other,), one)), None)
        if found is None:
            return False
        left.remove(found)
    rest = iter([one for one in source.quantities if not one.of_date])
    return all(
        any(states((other,), q) for other in rest) for q in claim.quantities if not q.of_date
    )


def neighbours(matrix: Floats, count: int) -> Floats:
    """What each row holds together with the `count` - 1 rows after it."""
    held = matrix.copy()
    for step in range(1, min(count, len(matrix))):
        held[:-step] = np.maximum(held[:-step], matrix[step:])
    return held


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    row = 0
    for word in other:
        hits = row | places.get(word, 0)
        row = hits & ((hits - (row << 1 | 1)) ^ hits)
    return row.bit_count()
