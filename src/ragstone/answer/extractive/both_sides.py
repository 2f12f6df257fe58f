"""An answer to a comparison: what the passages say of the one thing, and of the other.

The best unit is often about one of the two. Then the best one about the other is said beside it,
and who reads both can compare.
"""

import math
from collections.abc import Sequence
from pathlib import PurePosixPath

from ragstone.answer.extractive.lists import candidate_text
from ragstone.answer.extractive.unit_ranking import RankedUnit
from ragstone.answer.extractive.units import UNANSWERING
from ragstone.answer.extractive.values_apart import ValuesApart, name_source
from ragstone.language.words import content_word_set
from ragstone.retrieve.documents_saying import says_all
from ragstone.understand.comparison import comparison

LEAST = 0.01
"""How likely a unit answers, by the best one's likelihood, to be said for its side."""


def both_sides(question: str, best: Sequence[RankedUnit]) -> ValuesApart | None:
    """The best unit of each of the two things that are compared, with its document where it does
    not name the thing; None where nothing is compared, where the best unit speaks of both, or where
    nothing likely is about one of them."""
    compared = comparison(question)
    if compared is None or not best:
        return None
    first, second = content_word_set(compared.first), content_word_set(compared.second)
    mine, theirs = first - second, second - first
    if not (mine and theirs) or speaks_of_both(best[0], compared.first, compared.second):
        return None
    least = best[0].score + math.log(LEAST)
    likely = [item for item in best if item.score >= least and item.unit.form not in UNANSWERING]
    # "Valid from 2021" names the side; what is compared may stand in the sentence behind it.
    common = content_word_set(question) - mine - theirs
    likely.sort(key=lambda unit: len(common & content_word_set(candidate_text(unit))), reverse=True)
    one = next((unit for unit in likely if _is_about(unit, mine, theirs)), None)
    other = next((unit for unit in likely if _is_about(unit, theirs, mine)), None)
    if one is None or other is None or one is other:
        return None
    labels = [
        "" if says_all(candidate_text(unit), own) else name_source(unit.passage)
        for unit, own in ((one, mine), (other, theirs))
    ]
    return ValuesApart((one, other), labels, compares=True)


def speaks_of_both(unit: RankedUnit, first: str, second: str) -> bool:
    """Whether a unit speaks of both things, by the words that only one of them has."""
    text = _unit_text(unit)
    words, others = content_word_set(first), content_word_set(second)
    return says_all(text, words - others) and says_all(text, others - words)


def _is_about(unit: RankedUnit, own: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a unit names one of the things, or its passage this one alone."""
    if says_all(_unit_text(unit), own):
        return True
    whole = f"{_unit_titles(unit)}\n{unit.passage.text}"
    return says_all(whole, own) and not any(says_all(whole, frozenset((item,))) for item in others)


def _unit_text(unit: RankedUnit) -> str:
    return f"{_unit_titles(unit)}\n{unit.unit.context}\n{candidate_text(unit)}"


def _unit_titles(unit: RankedUnit) -> str:
    """What the document and the section are called."""
    chunk = unit.passage.hit.chunk
    return f"{chunk.subject}\n{PurePosixPath(chunk.path).stem}\n{chunk.heading}"
