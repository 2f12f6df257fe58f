"""Gives the labelled line that stands beside a chosen sentence: "Default: 100" beside what the
setting is for."""

import re
from collections.abc import Iterator, Sequence

from ragstone.answer.extractive.answer_type import kind_of, things
from ragstone.answer.extractive.lists import text_of
from ragstone.answer.extractive.unit_ranking import EXACT, RankedUnit, units_beside
from ragstone.answer.extractive.units import AnswerUnit
from ragstone.core.turn import Passage
from ragstone.language.words import content_word_set

LONGEST = 200
"""Characters of a labelled line."""

_LABELLED = re.compile(
    r"\W*(?P<label>[^\W\d_][\w -]{0,30}?)[*_`]{0,3} ?[:：][*_`]{0,3}\s*(?P<said>\S.*)"
)
_ENDS = re.compile(r"[.!?。！？:：;)]['\"”’»」』`*_]*$")


def with_labelled_line(
    question: str,
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
) -> list[RankedUnit]:
    """What was chosen, and behind the best sentence the line of its section whose label the
    question has ("What is the default of ...?"), or that alone holds the exact thing that is asked
    for."""
    first = chosen[0]
    if first.unit.form != "sentence" or _LABELLED.fullmatch(text_of(first)):
        return list(chosen)
    asked, kind = content_word_set(question), kind_of(question)
    said = "\n".join(text_of(one) for one in chosen)
    lacks = kind in EXACT and not things(kind, said, question)
    for line in _section(first, passages, found):
        labelled = _LABELLED.fullmatch(text_of(line))
        if labelled is None or line.unit.end - line.unit.start > LONGEST:
            continue
        label = content_word_set(labelled["label"])
        named = bool(label) and label <= asked
        if named or (lacks and things(kind, labelled["said"], question)):
            return [first, line, *(one for one in chosen[1:] if one.unit != line.unit)]
    return list(chosen)


def _section(
    first: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> Iterator[RankedUnit]:
    """The units behind and before the first one, up to a heading or a line that is a name alone."""
    own = units_beside(first, passages, found)
    for places in (range(first.place + 1, len(own)), range(first.place - 1, -1, -1)):
        for place in places:
            one = RankedUnit(own[place], first.passage, place, first.score)
            text = text_of(one)
            closed = _ENDS.search(text) or _LABELLED.fullmatch(text)
            if own[place].form == "heading" or not closed:
                break
            yield one
