"""Answers without a language model: the sentences of the passages that answer the question.

Every unit of the passages (`units`) gets a score from how near its tokens and words are
to the question, from its passage's place, and from whether it holds the kind of thing that is asked
for (`models.unit_ranking`). The best one is said first, each with its source; below `refuse_below`
nothing is said but that. A document is summed up by its own structure (`summary`).
"""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ragstone.answer.extractive.answer_type import kind_of
from ragstone.answer.extractive.meaning_closeness import MeaningCloseness, in_other_languages
from ragstone.answer.extractive.summary import SummaryLine, summary
from ragstone.answer.extractive.unit_ranking import RankedUnit, asks_for_several, ranked
from ragstone.answer.extractive.unit_words import leans
from ragstone.answer.extractive.units import (
    LIST_CHARS,
    LIST_ITEMS,
    AnswerUnit,
    Excerpt,
    Form,
    units,
)
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.language.code_blocks import fence_around
from ragstone.language.markers import neutral
from ragstone.language.outline import outline
from ragstone.ports import Said, Vectors

Closeness = Callable[
    [Ask, Sequence[Passage], Sequence[Sequence[AnswerUnit]]], Awaitable[list[Vectors] | None]
]
"""Per passage the features (units, `unit_closeness.NAMES`), None without token vectors."""

PASSAGES = 10
PASSAGE_CHARS = 20_000
"""Characters of a passage that are read."""

MOST_SENTENCES = 3

LEADS = (":", "：")

LEAST_ITEMS = 2
"""Items that make a list."""

SECOND, THIRD = 0.05, 0.5
"""Another unit is said too if it holds the answer with this probability by the best one's: a second
one in case the first does not, a third one only if it seems nearly as good."""

WHOLE: frozenset[Form] = frozenset({"list", "answer", "code"})
"""Forms that are an answer by themselves."""

ALONE: frozenset[Form] = WHOLE | {"heading", "fragment"}
"""Forms that add nothing to another one."""

_Ranked = tuple[list[Passage], list[list[AnswerUnit]], list[RankedUnit], float]
"""The passages that are read, their units, the best of them, and the confidence."""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One line of the answer from one source, and whether it stands on a line of its own."""

    text: str
    number: int
    apart: bool
    code: bool = False


class Extractive:
    """`ports.Answerer` that needs no model, and `ports.Answerability`."""

    name = "extractive"

    def __init__(
        self, closeness: Closeness, refuse_below: float, meaning: MeaningCloseness | None = None
    ) -> None:
        self._closeness = closeness
        self._refuse_below = refuse_below
        self._meaning = meaning

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        if instructions.sums_up and (lines := await asyncio.to_thread(summary, passages)):
            yield Said(_told(lines))
            yield Said(finish="stop", confidence=instructions.sums_up)
            return
        read, found, best, confidence = await self._rank_units(ask, passages)
        least = instructions.refuse_below
        if not best or confidence < (self._refuse_below if least is None else least):
            yield Said(instructions.no_answer, finish="refused", confidence=confidence)
            return
        before: AnswerLine | None = None
        chosen = _choose_units(best, read, found)
        several = asks_for_several(ask.question)
        if several or not kind_of(ask.question):
            chosen = _with_list_behind(chosen, read, found, several)
        listed = next((one for one in chosen if one.unit.form == "list"), chosen[0])
        for line in _lines([*chosen, *_list_goes_on(listed, read, found)]):
            joint = "" if before is None else "\n" if before.apart or line.apart else " "
            marked = not line.code or before is None or before.number != line.number
            space = "\n" if line.code else " "
            yield Said(f"{joint}{line.text}{space}[{line.number}]" if marked else joint + line.text)
            before = line
        yield Said(finish="stop", confidence=confidence)

    async def likelihood(self, ask: Ask, passages: Sequence[Passage]) -> float:
        """`ports.Answerability`."""
        return (await self._rank_units(ask, passages))[3]

    async def _rank_units(self, ask: Ask, passages: Sequence[Passage]) -> _Ranked:
        read = [passage for passage in passages[:PASSAGES] if passage.text.strip()]
        found = await self._rank(ask, read)
        if found[3] < self._refuse_below and (foreign := in_other_languages(ask.question, read)):
            # What the passages in the question's language do not say, others may.
            other = await self._rank(ask, foreign) if len(foreign) < len(read) else found
            return max(found, other, key=lambda one: one[3])
        return found

    async def _rank(self, ask: Ask, read: list[Passage]) -> _Ranked:
        found = await asyncio.to_thread(_units, read)
        meant = await self._meaning(ask, read, found) if read and self._meaning else None
        compared = read and meant is None
        near = await self._closeness(ask, read, found) if compared else None
        english = await self._meaning.words(ask) if self._meaning and meant is not None else ""
        asked = f"{ask.question} {english}".strip()
        best, confidence = await asyncio.to_thread(ranked, asked, read, found, near, meant)
        return read, found, best, confidence

    async def ready(self) -> None:
        """There is nothing to wait for: the embedder is asked with the first question."""

    async def aclose(self) -> None:
        """There is nothing to close."""


def _told(lines: Sequence[SummaryLine]) -> str:
    """A summary as text: its title, its beginning as prose, the sections as a list."""
    said: list[str] = []
    for place, line in enumerate(lines):
        text = _clean_line(": ".join(filter(None, (line.heading, line.text))))
        joint = " " if not line.heading and place and not lines[place - 1].heading else "\n"
        bullet = "- " if line.heading and place else ""
        said += [joint if place else "", f"{bullet}{text} [{line.number}]"]
    return "".join(said)


def _units(passages: Sequence[Passage]) -> list[list[AnswerUnit]]:
    return [units(passage.text[:PASSAGE_CHARS], passage.blocks) for passage in passages]


def _choose_units(
    best: Sequence[RankedUnit], passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[RankedUnit]:
    """The best unit, the sentence that it depends on, and further likely answers."""
    first = best[0]
    chosen = [first]
    if first.unit.form in WHOLE and (first.asked or first.unit.form == "list"):
        return chosen
    before = _preceding_unit(first, passages, found)
    most = MOST_SENTENCES - (before is not None)
    for candidate in best[1:]:
        least = SECOND if len(chosen) == 1 else THIRD
        if len(chosen) == most or candidate.score < first.score + math.log(least):
            break
        if candidate.unit.form not in ALONE and not any(_repeats(candidate, one) for one in chosen):
            chosen.append(candidate)
    if before is not None and not any(_repeats(before, one) for one in chosen):
        chosen.append(before)
    return chosen


def _with_list_behind(
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
    several: bool,
) -> list[RankedUnit]:
    """The best sentence with the list that its paragraph leads in, instead of what was chosen;
    what was chosen where there is none. Where the question asks for `several` things, the next best
    sentences are looked at too, and a paragraph leads in a list without a colon."""
    if chosen[0].unit.form == "list":
        return list(chosen)
    for sentence in chosen if several else chosen[:1]:
        own = found[[one is sentence.passage for one in passages].index(True)]
        if listed := _list_behind(sentence, own, several):
            return [sentence, replace(sentence, unit=listed)]
    return list(chosen)


def _list_behind(
    sentence: RankedUnit, own: Sequence[AnswerUnit], several: bool
) -> AnswerUnit | None:
    """The list that a sentence, or a later one of its paragraph, leads in."""
    if sentence.unit.form != "sentence" or sentence.unit.said[0].kind == "item":
        return None
    block, later = sentence.unit.said[0].block, sentence.place + 1
    while later < len(own) and own[later].said[0].block is block:
        if own[later].form == "list":
            return own[later]
        later += 1
    items = _items(sentence.passage, own[later:])
    if not items or not (several or _text(sentence).endswith(LEADS)):
        return None
    torn = not sentence.passage.text[items[-1].end :].strip()
    if len(items) < LEAST_ITEMS and not torn:
        return None
    return AnswerUnit(items[0].start, items[0].end, items, "list")


def _items(passage: Passage, own: Sequence[AnswerUnit]) -> tuple[Excerpt, ...]:
    """The items with which these units begin, as many as are said of a list."""
    blocks = passage.blocks or outline(passage.text)
    found: list[Excerpt] = []
    for unit in own:
        block = next((one for one in blocks if one.start <= unit.start < one.end), None)
        if block is None or block.kind != "item" or unit.end - own[0].start > LIST_CHARS:
            break
        start = found.pop().start if found and found[-1].block is block else unit.start
        found.append(Excerpt(start, unit.end, block))
        if len(found) > LIST_ITEMS:
            return tuple(found[:-1])
    return tuple(found)


def _list_goes_on(
    first: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[RankedUnit]:
    """The rest of a list in the passage that follows in its document."""
    last = first.unit.said[-1]
    chunk = first.passage.hit.chunk
    leads = first.unit.form == "sentence" and first.passage.text[: last.end].endswith(LEADS)
    if (not leads and first.unit.form != "list") or first.passage.text[last.end :].strip():
        return []
    for passage, own in zip(passages, found, strict=True):
        other = passage.hit.chunk
        if other.revision != chunk.revision or other.chunk_index != chunk.chunk_index + 1:
            continue
        new = [unit for unit in own if other.start + unit.start >= chunk.end]
        if rest := _items(passage, new):
            unit = AnswerUnit(rest[0].start, rest[0].end, rest, "list")
            return [RankedUnit(unit, passage, 0, first.score)]
    return []


def _preceding_unit(
    candidate: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> RankedUnit | None:
    """The sentence before, where the candidate begins with something that stands for it."""
    unit, passage = candidate.unit, candidate.passage
    if unit.form != "sentence" or not candidate.place or not leans(_text(candidate)):
        return None
    earlier = found[[one is passage for one in passages].index(True)][candidate.place - 1]
    between = passage.text[earlier.end : unit.start]
    if earlier.form != "sentence" or between.count("\n") > 1:
        return None
    return RankedUnit(earlier, passage, candidate.place - 1, candidate.score)


def _repeats(one: RankedUnit, other: RankedUnit) -> bool:
    mine, theirs = _text(one), _text(other)
    return mine in theirs or theirs in mine


def _text(candidate: RankedUnit) -> str:
    return candidate.passage.text[candidate.unit.start : candidate.unit.end]


def _lines(chosen: Sequence[RankedUnit]) -> list[AnswerLine]:
    """Everything that is said, in order; a header that several rows share is said once."""
    lines: list[AnswerLine] = []
    for candidate in chosen:
        for excerpt in candidate.unit.said:
            line = _line(candidate, excerpt)
            if line.text and line not in lines:
                lines.append(line)
    return lines


def _line(candidate: RankedUnit, excerpt: Excerpt) -> AnswerLine:
    """An excerpt as it is said: code as a block, an item of a whole list with its number and
    indent, one by itself without a bullet."""
    text = candidate.passage.text[excerpt.start : excerpt.end]
    block, number = excerpt.block, candidate.passage.number
    if excerpt.kind == "code":
        return AnswerLine(fence_around(text, block.label), number, True, True)
    apart = candidate.unit.form in ("list", "row") or excerpt.kind == "table"
    said = _clean_line(text)
    if excerpt.kind == "item" and apart:
        said = "  " * max(0, block.level - 1) + said
    elif excerpt.kind == "item" and excerpt.begins and not any(map(str.isalnum, block.label)):
        said = said.removeprefix(block.label).lstrip()
    return AnswerLine(said, number, apart)


def _clean_line(text: str) -> str:
    """One line, without markers of its own."""
    return re.sub(r"\s+", " ", neutral(text)).strip()
