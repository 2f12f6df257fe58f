"""Gives the code that a chosen sentence leads to, which the sentence itself does not say."""

from collections.abc import Sequence

from ragstone.answer.extractive.unit_ranking import RankedUnit, shows, units_beside, units_following
from ragstone.answer.extractive.units import AnswerUnit
from ragstone.core.turn import Passage


def with_code_behind(
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
) -> list[RankedUnit]:
    """What was chosen, and the code right behind the paragraph of the best sentence that has some,
    in its passage or the one that follows in its document; only what was chosen where that shows
    code itself."""
    if any(shows(one.unit) for one in chosen):
        return list(chosen)
    for sentence in chosen:
        if sentence.unit.form == "sentence" and (code := _behind(sentence, passages, found)):
            return [*chosen, code]
    return list(chosen)


def _behind(
    sentence: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> RankedUnit | None:
    own = units_beside(sentence, passages, found)
    block = sentence.unit.said[0].block
    for one in own[sentence.place + 1 :] + units_following(sentence, passages, found)[:1]:
        if one.unit.form == "code":
            return one
        if one.unit.said[0].block is not block:
            return None
    return None
