"""Gives the labelled line that stands beside a chosen sentence: "Default: 100" beside what the
setting is for."""

import re
from collections.abc import Iterator, Sequence

from ragstone.answer.extractive.answer_type import kind_of, things
from ragstone.answer.extractive.lists import text_of
from ragstone.answer.extractive.unit_ranking import EXACT, RankedUnit, units_beside, units_following
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
    for. Such a label is instead of a list, which tells what else there may be."""
    first = chosen[0]
    itself = _LABELLED.fullmatch(text_of(first)) and not _is_definition(first)
    if first.unit.form not in ("sentence", "list") or itself:
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
        if named and first.unit.form == "list":
            return [line]
        if named or (lacks and things(kind, labelled["said"], question)):
            return [first, line, *(one for one in chosen[1:] if one.unit != line.unit)]
    return list(chosen)


def _section(
    first: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> Iterator[RankedUnit]:
    """The units behind and before the first one, up to a heading, the definition of something else
    or a line that is a name alone. Those behind go on in the passage that follows."""
    own = units_beside(first, passages, found)
    behind = own[first.place + 1 :] + units_following(first, passages, found)
    before = [] if _is_definition(first) else own[: first.place][::-1]
    for side in (behind, before):
        for one in side:
            text = text_of(one)
            closed = _ENDS.search(text) or _LABELLED.fullmatch(text)
            if one.unit.form == "heading" or _is_definition(one) or not closed:
                break
            yield one


def _is_definition(one: RankedUnit) -> bool:
    """Whether a unit begins with the term that its paragraph defines."""
    excerpt = one.unit.said[0]
    return excerpt.kind == "paragraph" and excerpt.block.label != "" and excerpt.begins
