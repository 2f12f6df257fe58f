"""Reads the question beside the parts of the passages that the best units stand in.

Words and vectors find what a question is about; only who reads the two together sees whether it is
answered there, and where. The best units get the log-odds of the part that they are in, and more
if the likeliest place of the answer is in them. Of several sentences of a part, the one that
answers is seen when each is read by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragstone.answer.extractive.unit_ranking import SAME_QUESTION, RankedUnit, UnitReading
from ragstone.core.answer import log_odds
from ragstone.core.document import find_missing_lead
from ragstone.core.turn import Passage
from ragstone.language.polarity import yes_no
from ragstone.language.sentences import whole_sentences
from ragstone.language.words import is_mostly_paired
from ragstone.ports import Pair, PairReader, PairReading

PARTS = 6
"""Parts that are read."""

REACH, REACH_IN_PAIRS = 320, 110
"""Characters before and after a unit that are read with it; fewer in scripts without spaces. The
whole is one window of the reader, or two."""

CLEAR_YES, CLEAR_NO = 0.75, 0.85
"""How likely, at the mean, a passage supports the one word and contradicts the other, from which it
is said. The reader takes what a passage does not say for a no too readily."""

MIN_PROBABILITY = 0.005
"""Probabilities nearer to 0 or 1 than this count as this."""

PART, ALONE, PLACE = 0.6, 0.4, 0.5
"""Added to a unit's score: times the log-odds of its part, times those of the unit alone, and for
the place of the answer. Of 425 questions of public sets in eight languages 356 were answered
rightly by 1.0 for the part and nothing alone, 364 by these; .5 to .8 for the part measure the
same. More for the place helps Chinese and German, and harms English."""

READ_ALONE = 4
"""Best units of which the sentences are read by themselves; 6 measure the same."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Characters of a passage; `lead` is read before them: the header of a row, or what introduces
    a list and stands further above."""

    passage: int
    start: int
    end: int
    lead: str = ""

    def holds(self, unit: RankedUnit) -> bool:
        inside = self.start <= unit.unit.start and unit.unit.end <= self.end
        return self.passage == unit.passage.number and inside


_BOXES = tuple("☐☑☒")


async def read_units(
    question: str, best: Sequence[RankedUnit], reader: PairReader
) -> list[RankedUnit]:
    """Return the units with what the reader makes of them (`RankedUnit.reading`), best first by
    both. What the reader cannot read stays as it is."""
    parts = _parts(question, best)
    texts = {unit.passage.number: unit.passage for unit in best}
    readings = await reader.read([_pair(question, texts[item.passage], item) for item in parts])
    if not readings or not all(reading.readable for reading in readings):
        return list(best)
    read = [_with_reading(unit, parts, readings) for unit in best]
    return await _read_alone(question, sorted(read, key=lambda item: -item.score), reader)


async def _read_alone(
    question: str, best: Sequence[RankedUnit], reader: PairReader
) -> list[RankedUnit]:
    """Return the units ordered also by what each of the best ones says by itself. A row or a list
    has been read alone already; what nobody read counts as the least of these."""
    odds = {_key(unit): unit.reading.odds for unit in best[:READ_ALONE] if unit.reading}
    sentences = [unit for unit in best[:READ_ALONE] if unit.unit.form == "sentence"]
    if len(odds) > 1 and sentences:
        readings = await reader.read([_alone(question, unit) for unit in sentences])
        if not all(reading.readable for reading in readings):
            return list(best)
        for unit, reading in zip(sentences, readings, strict=True):
            odds[_key(unit)] = log_odds(reading.answers, MIN_PROBABILITY)
    least = min(odds.values(), default=0.0)
    read = [replace(unit, score=unit.score + ALONE * odds.get(_key(unit), least)) for unit in best]
    return sorted(read, key=lambda item: -item.score)


async def whether(question: str, unit: RankedUnit, reader: PairReader) -> str:
    """Yes or no in the question's language, where it asks for that and what stands about the unit
    says it clearly; else nothing."""
    words = yes_no(question)
    if unit.passage.text[unit.unit.start : unit.unit.end].lstrip("-*• ").startswith(_BOXES):
        # The reader does not see whether a box is ticked: the box itself is the answer.
        return ""
    # The reader takes an item for what its list says, whatever the line above it denies: such an
    # answer is the line and the item alone.
    if words is None or (unit.unit.context and unit.unit.form != "row"):
        return ""
    (part,) = _parts(question, [unit])
    pairs = [
        replace(_pair(f"{question} {word}", unit.passage, part), question=False) for word in words
    ]
    yes, no = await reader.read(pairs)
    for word, said, other, clear in ((words[0], yes, no, CLEAR_YES), (words[1], no, yes, CLEAR_NO)):
        if said.readable and (said.supported + other.contradicted) / 2 >= clear:
            return word
    return ""


def _parts(question: str, best: Sequence[RankedUnit]) -> list[_Part]:
    """About the best units that are in no other's part."""
    reach = REACH_IN_PAIRS if is_mostly_paired(question) else REACH
    found: list[_Part] = []
    for unit in best:
        if len(found) == PARTS:
            break
        if not any(part.holds(unit) for part in found):
            start, end = _span_to_read(unit, reach)
            lead = unit.unit.context
            if unit.unit.form != "row":
                lead = find_missing_lead(unit.passage.text, unit.passage.blocks, start, end)
            lead = f"{lead}\n" if lead else ""
            found.append(_Part(unit.passage.number, start, end, lead))
    return found


def _span_to_read(item: RankedUnit, reach: int) -> tuple[int, int]:
    """What is read with a unit: a row alone, of a list what it introduces, else the sentences
    within `reach` characters. What another list says beside it would be taken for its own."""
    unit, text = item.unit, item.passage.text
    if unit.form == "row":
        return whole_sentences(text, unit.start, unit.end, 0)
    start, end = whole_sentences(text, unit.start, unit.end, reach)
    if unit.form == "list":
        return unit.start, max(unit.end, min(end, unit.said[-1].end))
    if not unit.context:
        return start, end
    lead = unit.context.split("\n")[0]
    same = [block for block in item.passage.blocks if block.lead.split("\n")[0] == lead]
    inside = [block for block in same if start <= block.start and block.end <= end]
    return (
        min((block.start for block in inside), default=unit.start),
        max((block.end for block in inside), default=unit.end),
    )


def _pair(question: str, passage: Passage, part: _Part) -> Pair:
    beside = passage.text[part.start : part.end]
    return Pair(question, part.lead + beside, passage.hit.chunk.heading, question=True)


def _key(item: RankedUnit) -> tuple[int, int]:
    return item.passage.number, item.place


def _alone(question: str, item: RankedUnit) -> Pair:
    unit = item.unit
    lead = f"{unit.context}\n" if unit.context else ""
    return _pair(question, item.passage, _Part(item.passage.number, unit.start, unit.end, lead))


def _with_reading(
    unit: RankedUnit, parts: Sequence[_Part], readings: Sequence[PairReading]
) -> RankedUnit:
    """Let what nobody read count as what answers least."""
    odds = log_odds(min(reading.answers for reading in readings), MIN_PROBABILITY)
    placed = False
    for read, reading in zip(parts, readings, strict=True):
        if read.holds(unit):
            odds = max(odds, log_odds(reading.answers, MIN_PROBABILITY))
            placed = placed or _meets(unit, read, reading)
    score = unit.score + PART * odds + PLACE * placed
    asked = unit.asked and odds > 0
    if unit.asked and not asked:
        # Other words ask another thing: "Why was it made?" has most words of "When was it made?".
        score -= SAME_QUESTION
    return replace(unit, score=score, asked=asked, reading=UnitReading(odds, placed))


def _meets(unit: RankedUnit, part: _Part, reading: PairReading) -> bool:
    if reading.span is None:
        return False
    start, end = (part.start - len(part.lead) + at for at in reading.span)
    return unit.unit.start < end and start < unit.unit.end
