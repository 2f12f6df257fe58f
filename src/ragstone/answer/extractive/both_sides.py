"""An answer to a comparison: what the passages say of the one thing, and of the other.

The best unit is often about one of the two. Then the best one about the other is said beside it,
and who reads both can compare.
"""

import math
from collections.abc import Sequence

from ragstone.answer.extractive.lists import text_of
from ragstone.answer.extractive.unit_ranking import RankedUnit
from ragstone.answer.extractive.units import UNANSWERING
from ragstone.language.words import content_word_set, similar_words
from ragstone.understand.comparison import comparison

LEAST = 0.01
"""How likely a unit answers, by the best one's likelihood, to be said for its side."""


def both_sides(question: str, best: Sequence[RankedUnit]) -> list[RankedUnit]:
    """The best unit of each of the two things that are compared; none where nothing is, where the
    best unit speaks of both, or where nothing likely is about one of them."""
    compared = comparison(question)
    if compared is None or not best:
        return []
    first, second = (content_word_set(one) for one in (compared.first, compared.second))
    sides = (first - second, second - first)
    if not all(sides) or all(_holds(best[0], own) for own in sides):
        return []
    least = best[0].score + math.log(LEAST)
    likely = [one for one in best if one.score >= least and one.unit.form not in UNANSWERING]
    mine, theirs = (next((u for u in likely if _holds(u, own)), None) for own in sides)
    return [mine, theirs] if mine and theirs and mine is not theirs else []


def _holds(one: RankedUnit, wanted: frozenset[str]) -> bool:
    """Whether a unit, what stands above it or the document's subject names all of these words."""
    chunk = one.passage.hit.chunk
    text = f"{chunk.subject}\n{chunk.heading}\n{one.unit.context}\n{text_of(one)}"
    missing = wanted - content_word_set(text)
    return not missing - similar_words(missing, text.casefold())
