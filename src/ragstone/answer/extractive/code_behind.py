"""Gives the code that a chosen sentence leads to, which the sentence itself does not say."""

from collections.abc import Sequence

from ragstone.answer.extractive.unit_ranking import (
    RankedUnit,
    passage_units,
    shows,
    units_following,
)
from ragstone.answer.extractive.units import AnswerUnit
from ragstone.core.turn import Passage


def add_code_after_best(
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
) -> list[RankedUnit]:
    """What was chosen, and the code right behind the paragraph of the best sentence that has some,
    in its passage or the one that follows in its document; only what was chosen where that shows
    code itself."""
    if any(shows(unit.unit) for unit in chosen):
        return list(chosen)
    for sentence in chosen:
        if sentence.unit.form == "sentence" and (code := _next_code(sentence, passages, found)):
            return [*chosen, code]
    return list(chosen)


def _next_code(
    sentence: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> RankedUnit | None:
    own = passage_units(sentence, passages, found)
    block = sentence.unit.said[0].block
    for item in own[sentence.place + 1 :] + units_following(sentence, passages, found)[:1]:
        if item.unit.form == "code":
            return item
        if item.unit.said[0].block is not block:
            return None
    return None
