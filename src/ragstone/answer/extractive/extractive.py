"""Answers without a language model: the sentences of the passages that answer the question.

Every unit of the passages (`units`) gets a score from how near its tokens and words are
to the question, from its passage's place, and from whether it holds the kind of thing that is asked
for (`unit_ranking`). The best one is said first, each with its source. Where the passages seem to
be of something else, or the answer not to be what was asked (`answering_likelihood`), nothing is
said but that. A document is summed up by its own structure (`summary`).
"""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ragstone.answer.extractive.answering_evidence import evidence
from ragstone.answer.extractive.answering_likelihood import likelihood
from ragstone.answer.extractive.both_sides import both_sides
from ragstone.answer.extractive.code_behind import with_code_behind
from ragstone.answer.extractive.labelled_lines import with_labelled_line
from ragstone.answer.extractive.lists import text_of, with_lists
from ragstone.answer.extractive.meaning_closeness import MeaningCloseness, in_other_languages
from ragstone.answer.extractive.summary import excerpted, summary
from ragstone.answer.extractive.unit_ranking import (
    RankedUnit,
    asks_how_to,
    ranked,
    shows,
    units_beside,
)
from ragstone.answer.extractive.unit_reading import read_units, whether
from ragstone.answer.extractive.unit_words import leans
from ragstone.answer.extractive.units import UNANSWERING, AnswerUnit, Excerpt, Form, units
from ragstone.answer.extractive.wanted_form import wanted_form
from ragstone.core.answer import Instructions
from ragstone.core.code_spans import by_code, without_spans
from ragstone.core.turn import Ask, Passage
from ragstone.language.code_blocks import fence_around
from ragstone.language.markers import bare, neutral
from ragstone.ports import PairReader, Said, Vectors

Closeness = Callable[
    [Ask, Sequence[Passage], Sequence[Sequence[AnswerUnit]]], Awaitable[list[Vectors] | None]
]
"""Per passage the features (units, `unit_closeness.NAMES`), None without token vectors."""

PASSAGES = 10
PASSAGE_CHARS = 20_000
"""Characters of a passage that are read."""

MOST_SENTENCES = 3

SECOND, THIRD = 0.05, 0.5
"""Another unit is said too if it holds the answer with this probability by the best one's: a second
one in case the first does not, a third one only if it seems nearly as good."""

SAME_QUESTION = 0.95
"""How likely the answer of a FAQ that asks the same is what was asked."""

_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\w{1,3}[.)])\s")

WHOLE: frozenset[Form] = frozenset({"list", "answer", "code"})
"""Forms that are an answer by themselves."""

ALONE: frozenset[Form] = WHOLE | UNANSWERING
"""Forms that add nothing to another one."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages that are read, their units, the best of them, and how surely (0..1) the passages
    are of what is asked; `across` says that question and passages differ in language."""

    passages: list[Passage]
    units: list[list[AnswerUnit]]
    best: list[RankedUnit]
    sure: float
    across: bool = False


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One line of the answer from one source, and whether it stands on a line of its own."""

    text: str
    number: int
    apart: bool
    code: bool = False


class Extractive:
    """`ports.Answerer` that needs no model, `ports.Answerability` and `ports.AnswerJudge`."""

    name = "extractive"

    def __init__(
        self,
        closeness: Closeness,
        refuse_below: float,
        meaning: MeaningCloseness | None = None,
        refuse_unlikely: float = 0.0,
        reader: PairReader | None = None,
    ) -> None:
        self._closeness = closeness
        self._refuse_below = refuse_below
        self._refuse_unlikely = refuse_unlikely
        self._meaning = meaning
        self._reader = reader

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        told = _excerpts_text if instructions.excerpts else _summary_text
        if instructions.sums_up and (summed := await asyncio.to_thread(told, passages)):
            yield Said(summed)
            yield Said(finish="stop", confidence=instructions.sums_up)
            return
        ranking = await self.rank(ask, passages)
        form = wanted_form(ask.guidance)
        sides = both_sides(ask.question, ranking.best)
        chosen = sides or (choose_units(ranking, form.sentences) if ranking.best else [])
        if chosen and not sides:
            chosen = with_lists(ask.question, chosen, ranking.passages, ranking.units)
            if asks_how_to(ask.question):
                chosen = with_code_behind(chosen, ranking.passages, ranking.units)
            else:
                chosen = with_labelled_line(ask.question, chosen, ranking.passages, ranking.units)
        lines = [replace(one, apart=one.apart or bool(sides)) for one in answer_lines(chosen)]
        if form.bullets:
            lines = [_bulleted(line) for line in lines]
        said = "\n".join(line.text for line in lines)
        likely = await asyncio.to_thread(_likelihood, ask.question, said, chosen, ranking)
        if not lines or self._refuses(ranking.sure, likely, instructions):
            yield Said(
                instructions.no_answer, finish="refused", confidence=min(ranking.sure, likely)
            )
            return
        if self._reader and (word := await whether(ask.question, chosen[0], self._reader)):
            yield Said(word + ("\n" if lines[0].apart or lines[0].code else " "))
        before: AnswerLine | None = None
        for line in lines:
            joint = "" if before is None else "\n" if before.apart or line.apart else " "
            marked = not line.code or before is None or before.number != line.number
            space = "\n" if line.code else " "
            yield Said(f"{joint}{line.text}{space}[{line.number}]" if marked else joint + line.text)
            before = line
        yield Said(finish="stop", confidence=likely)

    def _refuses(self, sure: float, likely: float, told: Instructions) -> bool:
        below = self._refuse_below if told.refuse_below is None else told.refuse_below
        unlikely = self._refuse_unlikely if told.refuse_unlikely is None else told.refuse_unlikely
        return sure < below or likely < unlikely

    async def likelihood(self, ask: Ask, passages: Sequence[Passage]) -> float:
        """`ports.Answerability`."""
        return (await self._nearest(ask, passages)).sure

    async def answers(self, ask: Ask, said: str, passages: Sequence[Passage]) -> float:
        """`ports.AnswerJudge`: by the units of the passages that come nearest to the question."""
        ranking = await self.rank(ask, passages)
        chosen = choose_units(ranking) if ranking.best else []
        text = bare(said)
        return await asyncio.to_thread(_likelihood, ask.question, text, chosen, ranking)

    async def rank(self, ask: Ask, passages: Sequence[Passage]) -> Ranking:
        """The units of the passages by how likely each answers."""
        ranking = await self._nearest(ask, passages)
        if self._reader is None:
            return ranking
        return replace(ranking, best=await read_units(ask.question, ranking.best, self._reader))

    async def _nearest(self, ask: Ask, passages: Sequence[Passage]) -> Ranking:
        """The ranking by words and vectors."""
        read = [passage for passage in passages[:PASSAGES] if passage.text.strip()]
        ranking = await self._rank_together(ask, read)
        foreign = in_other_languages(ask.question, read)
        if ranking.sure >= self._refuse_below or not 0 < len(foreign) < len(read):
            return ranking
        # What the passages in the question's language do not say, others may.
        return max(ranking, await self._rank_together(ask, foreign), key=lambda one: one.sure)

    async def _rank_together(self, ask: Ask, read: list[Passage]) -> Ranking:
        found = await asyncio.to_thread(_units, read)
        meant = await self._meaning(ask, read, found) if read and self._meaning else None
        near = await self._closeness(ask, read, found) if read and meant is None else None
        english = await self._meaning.words(ask) if self._meaning and meant is not None else ""
        asked = f"{ask.question} {english}".strip()
        best, sure = await asyncio.to_thread(ranked, asked, read, found, near, meant)
        return Ranking(read, found, best, sure, meant is not None)

    async def ready(self) -> None:
        """There is nothing to wait for: the embedder is asked with the first question."""

    async def aclose(self) -> None:
        """There is nothing to close."""


def _likelihood(question: str, said: str, chosen: Sequence[RankedUnit], ranking: Ranking) -> float:
    """How likely what is said, which rests on the chosen units, is what was asked."""
    if not chosen:
        return 0.0
    if chosen[0].asked:
        return SAME_QUESTION
    found = evidence(question, said, chosen, ranking.best, ranking.passages, ranking.sure)
    how_to = asks_how_to(question)
    shown = how_to and any(shows(one.unit) for one in chosen)
    return likelihood(question, found, ranking.across, how_to, shown)


def _excerpts_text(passages: Sequence[Passage]) -> str:
    """A summary by sentences as text: these as they stand, each section's under its heading."""
    said: list[str] = []
    for line in excerpted(passages):
        heading = f"### {_clean_line(line.heading)}\n" if line.heading else ""
        joint = ("\n" if heading else " ") if said else ""
        said.append(f"{joint}{heading}{_clean_line(line.text)} [{line.number}]")
    return "".join(said)


def _summary_text(passages: Sequence[Passage]) -> str:
    """A summary as text: its title, its beginning as prose, the sections as a list."""
    lines = summary(passages)
    said: list[str] = []
    for place, line in enumerate(lines):
        text = _clean_line(": ".join(filter(None, (line.heading, line.text))))
        joint = " " if not line.heading and place and not lines[place - 1].heading else "\n"
        bullet = "- " if line.heading and place else ""
        said += [joint if place else "", f"{bullet}{text} [{line.number}]"]
    return "".join(said)


def _units(passages: Sequence[Passage]) -> list[list[AnswerUnit]]:
    return [units(passage.text[:PASSAGE_CHARS], passage.blocks) for passage in passages]


def choose_units(ranking: Ranking, sentences: int | None = None) -> list[RankedUnit]:
    """The best unit, the sentence that it depends on, and further likely answers: at most so many
    of these with the best, if it is said how many."""
    best = ranking.best
    first = best[0]
    chosen = [first]
    if first.unit.form in WHOLE and (first.asked or first.unit.form == "list"):
        return chosen
    before = _preceding_unit(first, ranking.passages, ranking.units)
    most = min(MOST_SENTENCES - (before is not None), sentences or MOST_SENTENCES)
    for candidate in best[1:]:
        least = SECOND if len(chosen) == 1 else THIRD
        if len(chosen) == most or candidate.score < first.score + math.log(least):
            break
        if candidate.unit.form not in ALONE and not any(_repeats(candidate, one) for one in chosen):
            chosen.append(candidate)
    if before is not None and not any(_repeats(before, one) for one in chosen):
        chosen.append(before)
    return [one for one in chosen if not any(_is_code_of(one, other) for other in chosen)]


def _preceding_unit(
    candidate: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> RankedUnit | None:
    """The sentence or code before, where the candidate begins with what stands for it."""
    unit, passage = candidate.unit, candidate.passage
    if unit.form != "sentence" or not candidate.place or not leans(text_of(candidate)):
        return None
    earlier = units_beside(candidate, passages, found)[candidate.place - 1]
    between = passage.text[earlier.unit.end : unit.start]
    apart = earlier.unit.form == "sentence" and between.count("\n") > 1
    return None if earlier.unit.form not in ("sentence", "code") or apart else earlier


def _repeats(one: RankedUnit, other: RankedUnit) -> bool:
    mine, theirs = without_spans(text_of(one)), without_spans(text_of(other))
    return mine in theirs or theirs in mine


def _is_code_of(one: RankedUnit, other: RankedUnit) -> bool:
    """Whether a unit is code alone that another one shows with what introduces it."""
    code = text_of(one) if one.unit.form == "code" and other.unit.form != "code" else ""
    shown = other.passage.text
    return bool(code) and any(
        part.kind == "code" and shown[part.start : part.end] == code for part in other.unit.said
    )


def answer_lines(chosen: Sequence[RankedUnit]) -> list[AnswerLine]:
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


def _bulleted(line: AnswerLine) -> AnswerLine:
    """A sentence as an item of a list; code and what is one already stay as they are."""
    if line.code or _ITEM.match(line.text):
        return line
    return replace(line, text=f"- {line.text}", apart=True)


def _clean_line(text: str) -> str:
    """One line, without markers of its own; code in it stays as it is."""
    parts = by_code(neutral(text))
    return "".join(one if is_code else re.sub(r"\s+", " ", one) for one, is_code in parts).strip()
