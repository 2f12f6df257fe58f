"""The source sentences of an answer, and how well each holds the words of a claim."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragstone.language.english import forms, means
from ragstone.language.quantities import Quantity, states
from ragstone.verify.terms import Term, Terms, terms

Floats = NDArray[np.float32]

SAME, FORM, SYNONYM, KIN = 1.0, 0.9, 0.75, 0.6
"""What a source's word is worth for a claim's: the same, another form of it, one that means the
same, one that begins alike (`Kenya`, `Kenyan`)."""

COUNT = 0.5
PREFIX = 5
QUANTITY_WEIGHT = 1.2


@dataclass(slots=True)
class Evidence:
    """Sentences, in order, with an index of their words."""

    texts: tuple[str, ...]
    terms: tuple[Terms, ...]
    titles: tuple[Terms, ...]
    title_of: tuple[int, ...]
    stems: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    forms: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    prefixes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    neighbours: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, texts: Sequence[str], titles: Sequence[str] = ()) -> "Evidence":
        """Index the sentences; `titles` has the title that each stands under, or is empty."""
        known = {title: place for place, title in enumerate(dict.fromkeys(filter(None, titles)))}
        found = cls(
            tuple(texts),
            tuple(terms(text) for text in texts),
            tuple(terms(title) for title in known),
            tuple(known.get(title, -1) for title in titles),
        )
        for place, one in enumerate(found.terms):
            for term in one.words:
                found.stems[term.stem].append(place)
                if len(term.word) >= PREFIX:
                    found.prefixes[term.word[:PREFIX]].append(place)
                if term.word.isascii():
                    for form in forms(term.word):
                        found.forms[form].append(place)
        return found

    def pairs(self) -> frozenset[tuple[str, str]]:
        """Stems that stand side by side in a sentence."""
        if not self.neighbours:
            stems = ([term.stem for term in one.words] for one in self.terms)
            self.neighbours = frozenset(pair for one in stems for pair in pairwise(one))
        return self.neighbours

    def held(self, claim: Terms) -> tuple[Floats, Floats]:
        """How well each sentence (rows) holds each word and then each quantity of the claim
        (columns), 0..1; and what each column weighs."""
        count = len(claim.words) + len(claim.quantities)
        matrix = np.zeros((len(self.texts), count), np.float32)
        for column, term in enumerate(claim.words):
            self._mark(matrix[:, column], term)
        for column, quantity in enumerate(claim.quantities, start=len(claim.words)):
            for row, one in enumerate(self.terms):
                if one.quantities or quantity.counted:
                    matrix[row, column] = _quantity_share(one, quantity)
        self._add_titles(matrix, claim)
        weights = [term.weight for term in claim.words]
        weights += [QUANTITY_WEIGHT] * len(claim.quantities)
        return matrix, np.array(weights, np.float32)

    def lacks(self, wanted: Sequence[Quantity]) -> bool:
        """Whether a quantity that is no mere count is nowhere stated."""
        stated = [quantity for one in (*self.terms, *self.titles) for quantity in one.quantities]
        return any(not quantity.counted and not states(stated, quantity) for quantity in wanted)

    def _add_titles(self, matrix: Floats, claim: Terms) -> None:
        """A sentence holds what the title that it stands under does."""
        for place, title in enumerate(self.titles):
            stems = {term.stem for term in title.words}
            held = [float(term.stem in stems) for term in claim.words]
            held += [float(states(title.quantities, one)) for one in claim.quantities]
            if any(held):
                rows = [row for row, own in enumerate(self.title_of) if own == place]
                matrix[rows] = np.maximum(matrix[rows], np.array(held, np.float32))

    def _mark(self, column: Floats, term: Term) -> None:
        if len(term.word) >= PREFIX:
            column[self.prefixes.get(term.word[:PREFIX], [])] = KIN
        if term.word.isascii():
            for other in means(term.word):
                column[self.forms.get(other, [])] = SYNONYM
            for form in forms(term.word):
                column[self.forms.get(form, [])] = FORM
        column[self.stems.get(term.stem, [])] = SAME


def _quantity_share(source: Terms, quantity: Quantity) -> float:
    """The share for a quantity. An unstated count may be that of a list in the sentence, if it
    counts nothing else."""
    if states(source.quantities, quantity):
        return SAME
    return COUNT if quantity.counted and not any(q.counted for q in source.quantities) else 0.0
