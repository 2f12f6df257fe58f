"""Gives the code that a chosen sentence leads to, which the sentence itself does not say."""

from collections.abc import Sequence

from ragstone.answer.extractive.unit_ranking import RankedUnit, shows, units_beside
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
    block, place = sentence.unit.said[0].block, sentence.place + 1
    while place < len(own) and own[place].said[0].block is block and own[place].form != "code":
        place += 1
    if place < len(own):
        unit = own[place]
        return (
            RankedUnit(unit, sentence.passage, place, sentence.score)
            if unit.form == "code"
            else None
        )
    chunk = sentence.passage.hit.chunk
    for passage, units in zip(passages, found, strict=True):
        other = passage.hit.chunk
        if other.revision == chunk.revision and other.chunk_index == chunk.chunk_index + 1:
            new = [(n, u) for n, u in enumerate(units) if other.start + u.start >= chunk.end]
            if new and new[0][1].form == "code":
                return RankedUnit(new[0][1], passage, new[0][0], sentence.score)
    return None
