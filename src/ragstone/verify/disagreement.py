"""Whether two sentences of different passages disagree on the same thing.

That one is near to another and has another number is not a conflict: a forecast, another year,
another
row and another product have one too. Each has to contradict the other, and they have to be about
the same but for one value, and of the same time and document's subject.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from ragstone.core.turn import Passage
from ragstone.language.named import find_names
from ragstone.language.quantities import Quantity, quantities
from ragstone.language.sentences import sentences
from ragstone.language.words import content_word_set
from ragstone.ports import Checker, Claim, EvidenceSource
from ragstone.verify.terms import common_share

SAME = 0.7
"""The share (Dice) of common words from which two sentences say the same of the same."""

MAX_COMPARED = 4
"""Pairs of sentences about the same that are read."""


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence and the passage that it stands in."""

    text: str
    passage: Passage


def split_passage(passage: Passage) -> list[PassageSentence]:
    """Return the sentences of a passage, in order."""
    spans = sentences(passage.text)
    return [PassageSentence(passage.text[span.start : span.end], passage) for span in spans]


async def find_disagreement(
    pairs: Sequence[tuple[PassageSentence, PassageSentence]], checker: Checker
) -> int | None:
    """Find the place of the first pair whose sentences contradict each other; None if none does."""
    alike = [
        place
        for place, (one, other) in enumerate(pairs)
        if one.text != other.text
        and same_matter(one.text, other.text)
        and same_subject(one.passage, other.passage)
    ]
    for place in alike[:MAX_COMPARED]:
        texts = [sentence.text for sentence in pairs[place]]
        for claim, source in (texts, texts[::-1]):
            [support] = await checker.support([Claim(claim)], [EvidenceSource(source)])
            if not support.contradicted:
                break
        else:
            return place
    return None


async def do_passages_disagree(passages: Sequence[Passage], checker: Checker) -> bool:
    """Whether a sentence of one of these passages and one of another contradict each other."""
    stated = [sentence for passage in passages for sentence in split_passage(passage)]
    pairs = [
        (one, other)
        for one, other in combinations(stated, 2)
        if one.passage.number != other.passage.number
    ]
    return await find_disagreement(pairs, checker) is not None


def same_subject(one: Passage, other: Passage) -> bool:
    """Whether their documents are of the same product, version, year: not one of it and one of
    another."""
    mine, theirs = (
        find_names(f"{p.hit.chunk.heading}\n{p.hit.chunk.subject}") for p in (one, other)
    )
    if mine.years and theirs.years and mine.years.isdisjoint(theirs.years):
        return False
    return not any(
        a.alike(b) and not a.same(b) for a in mine.numbered for b in theirs.numbered
    ) and not (_differ_by_name(one.hit.chunk.title, other.hit.chunk.title))


def _differ_by_name(one: str, other: str) -> bool:
    """Whether two titles are alike but for a name: the handbooks of two houses."""
    mine, theirs = content_word_set(one), content_word_set(other)
    return mine != theirs and 2 * len(mine & theirs) >= max(len(mine), len(theirs)) > 1


def same_matter(one: str, other: str) -> bool:
    """Whether two sentences are about the same but for one value, and of the same time."""
    if common_share(one, other) < SAME:
        return False
    own, there = quantities(one), quantities(other)
    dated = [q for q in chain(own, there) if _is_time(q)]
    only_times = len(dated) == len(own) + len(there)
    return only_times or _times(own) == _times(there)


def _times(found: Sequence[Quantity]) -> set[frozenset[float]]:
    return {quantity.values for quantity in found if _is_time(quantity)}


def _is_time(quantity: Quantity) -> bool:
    """Whether a quantity is a year or a month."""
    return quantity.unit == "month" or (
        not quantity.unit and all(1900 <= v <= 2100 for v in quantity.values)
    )
