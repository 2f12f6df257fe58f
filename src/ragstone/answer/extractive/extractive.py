"""Answers without a language model: the sentences of the passages that answer the question.

Every unit of the passages (`units`) gets a score from how near its tokens and words are to the
question and from its passage's place (`unit_ranking`), and from reading (`unit_reading`). The best
is said first, each with its source. Where the passages seem to be of something else, or the answer
not to be what was asked (`answering_likelihood`), nothing is said but that. A document is summed up
by its own structure (`summary`).
"""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ragstone.answer.extractive.answering_likelihood import likelihood
from ragstone.answer.extractive.lists import candidate_text, with_lists
from ragstone.answer.extractive.meaning_closeness import MeaningCloseness, in_other_languages
from ragstone.answer.extractive.summary import excerpt_sentences, summary
from ragstone.answer.extractive.unit_ranking import RankedUnit, passage_units, rank_units
from ragstone.answer.extractive.unit_reading import read_units, whether
from ragstone.answer.extractive.unit_words import leans
from ragstone.answer.extractive.units import (
    LED,
    LIST_ITEMS,
    UNANSWERING,
    AnswerUnit,
    Excerpt,
    Form,
    units,
)
from ragstone.answer.extractive.values_apart import (
    ValuesApart,
    both_sides,
    find_values_apart,
    name_source,
    speaks_of_both,
    without_other_editions,
)
from ragstone.answer.extractive.wanted_form import read_form
from ragstone.answer.extractive.which_document import which_document
from ragstone.core.answer import Instructions, probability
from ragstone.core.code_spans import by_code, without_spans
from ragstone.core.document import HIDDEN, announces, find_page
from ragstone.core.turn import Ask, Passage
from ragstone.language.code_blocks import fence_around
from ragstone.language.markers import neutralize_markers
from ragstone.language.words import content_word_set
from ragstone.ports import PairReader, Said, Vectors
from ragstone.understand.document_questions import (
    DocumentList,
    find_document_list,
    find_topic,
    sought_in_documents,
)
from ragstone.understand.subquestions import coordination
from ragstone.verify.checker import ReadingChecker

Closeness = Callable[
    [Ask, Sequence[Passage], Sequence[Sequence[AnswerUnit]]], Awaitable[list[Vectors] | None]
]
"""Per passage the features (units, `unit_closeness.NAMES`), None without token vectors."""

PASSAGES = 10
PASSAGE_CHARS = 20_000
"""Characters of a passage that are read."""

MAX_SENTENCES = 3

ALSO = 0.05
"""Another unit is said too if it holds the answer with this probability by the best one's, in case
that does not."""

WEIGHED = 2
"""Units of those that are said by which it is judged whether they answer."""

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
    """One line of the answer from one source, whether it stands on a line of its own, and whether
    its source is named behind it."""

    text: str
    number: int
    apart: bool
    code: bool = False
    cites: bool = True


SURE = 0.5
"""How surely passages are of what is asked, by words and vectors, from which that is believed."""

REFUSE_UNLIKELY = 0.38
"""How likely an answer is what was asked, under which it is refused; it is the answer's confidence
too. `docs/verdict.md` says how right it is there."""

READ_NOTHING = 0.12
"""How likely the best passage answers under which the reader sees nothing either: of 550 questions
that SQuAD 2 answers .009 have less, and .13 of its own unanswerable ones."""


class Extractive:
    """`ports.Answerer` that needs no model, and `ports.Answerability`."""

    name = "extractive"

    def __init__(
        self,
        closeness: Closeness,
        meaning: MeaningCloseness | None = None,
        refuse_unlikely: float = 0.0,
        reader: PairReader | None = None,
    ) -> None:
        self._closeness = closeness
        self._refuse_unlikely = refuse_unlikely
        self._meaning = meaning
        self._reader = reader
        self._checker = ReadingChecker(reader) if reader else None

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        told = _excerpts_text if instructions.excerpts else _summary_text
        if instructions.sums_up and (summed := await asyncio.to_thread(told, passages)):
            yield Said(summed)
            yield Said(finish="stop", confidence=instructions.sums_up)
            return
        listed = find_document_list(ask.question)
        if listed and instructions.lists:
            yield Said(_document_list(listed, passages))
            yield Said(finish="stop", confidence=SAME_QUESTION)
            return
        if instructions.questions:
            replies = await self._answer_each(ask, instructions.questions, passages, instructions)
            for reply in _join_replies(instructions.questions, replies):
                yield reply
            return
        async for said in self._answer_single(ask, passages, instructions):
            yield said

    async def _answer_each(
        self,
        ask: Ask,
        questions: Sequence[str],
        passages: Sequence[Passage],
        instructions: Instructions,
    ) -> list[Said]:
        """Answer each question by itself: its whole text and how it ended."""
        replies = []
        for question in questions:
            single = self._answer_single(replace(ask, question=question), passages, instructions)
            pieces = [piece async for piece in single]
            replies.append(replace(pieces[-1], text="".join(piece.text for piece in pieces)))
        return replies

    async def _answer_single(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        listed = find_document_list(ask.question)
        sought = f"{listed.about}?" if listed else sought_in_documents(ask.question)
        # Who reads "Which document mentions X?" looks for a document's name beside X.
        ask = replace(ask, question=sought or find_topic(ask.question) or ask.question)
        if document := which_document(ask.question, passages):
            yield Said(f"{_clean_line(name_source(document))} [{document.number}]")
            yield Said(finish="stop", confidence=SAME_QUESTION)
            return
        ranking = await self.rank(ask, passages)
        form = read_form(ask.guidance)
        apart = await self._find_apart(ask.question, ranking, passages, bool(sought))
        chosen = list(apart.units) if apart else self._choose(ask, ranking, form.sentences)
        if not apart and (both := await self._answer_both(ask, chosen, passages, instructions)):
            for reply in both:
                yield reply
            return
        lines = answer_lines(chosen)
        if apart:
            lines = _with_labels([replace(line, apart=True) for line in lines], apart)
        if form.bullets:
            lines = [_format_bullet(line) for line in lines]
        said = "\n".join(line.text for line in lines)
        compares = apart is not None and apart.compares
        likely = await asyncio.to_thread(_likelihood, ask.question, said, chosen, ranking, compares)
        if not lines or likely < self._refuse_unlikely:
            yield Said(instructions.no_answer, finish="refused", confidence=likely)
            return
        if opening := await self._open(ask.question, chosen[0], apart):
            yield Said(opening + ("\n" if lines[0].apart or lines[0].code else " "))
        before: AnswerLine | None = None
        for line in lines:
            joint = "" if before is None else "\n" if before.apart or line.apart else " "
            marked = line.cites and (
                not line.code or before is None or before.number != line.number
            )
            space = "\n" if line.code else " "
            yield Said(f"{joint}{line.text}{space}[{line.number}]" if marked else joint + line.text)
            before = line
        yield Said(finish="stop", confidence=likely)

    async def _answer_both(
        self,
        ask: Ask,
        chosen: Sequence[RankedUnit],
        passages: Sequence[Passage],
        instructions: Instructions,
    ) -> list[Said]:
        """Answer what is asked of two things for each, where the best unit speaks of one alone;
        empty elsewhere."""
        pair = coordination(ask.question)
        if pair is None or not chosen or speaks_of_both(chosen[0], *pair.things):
            return []
        replies = await self._answer_each(ask, pair.questions, passages, instructions)
        if all(reply.finish == "refused" for reply in replies):
            return []
        return _join_replies(pair.questions, replies)

    def _choose(self, ask: Ask, ranking: Ranking, sentences: int | None) -> list[RankedUnit]:
        """Return the units that answer, with the lists that belong to them."""
        if not ranking.best:
            return []
        chosen = choose_units(ranking, sentences)
        return with_lists(ask.question, chosen, ranking.passages, ranking.units)

    async def _find_apart(
        self, question: str, ranking: Ranking, passages: Sequence[Passage], names_documents: bool
    ) -> ValuesApart | None:
        """Return what is said line by line: two things that are compared, what sources disagree on,
        or what each document says where the documents are asked for."""
        if not ranking.best:
            return None
        if sides := both_sides(_spell_file_names(question, passages), ranking.best):
            return sides
        apart = await find_values_apart(question, ranking.best, self._checker)
        if apart or not names_documents:
            return apart
        best_of_each = {unit.passage.number: unit for unit in reversed(choose_units(ranking))}
        units = list(best_of_each.values())[::-1]
        return ValuesApart(units, [_document_and_page(unit) for unit in units])

    async def _open(self, question: str, first: RankedUnit, apart: ValuesApart | None) -> str:
        """Return what is said before everything: that sources disagree, or yes or no."""
        if apart and apart.opening is not None:
            return apart.opening
        return await whether(question, first, self._reader) if self._reader else ""

    async def likelihood(self, ask: Ask, passages: Sequence[Passage]) -> float:
        """`ports.Answerability`. Words of another form, script or language may share nothing with
        what answers them: what words and vectors take for nothing is read before it is believed,
        and what cannot be read may answer."""
        ranking = await self._nearest(ask, passages)
        if ranking.sure >= SURE or not ranking.best or self._reader is None:
            return ranking.sure
        best = await read_units(ask.question, ranking.best, self._reader)
        odds = [unit.reading.odds for unit in best if unit.reading]
        if not odds:
            return 1.0
        read = probability(max(odds))
        return ranking.sure if read < READ_NOTHING else max(ranking.sure, read)

    async def rank(self, ask: Ask, passages: Sequence[Passage]) -> Ranking:
        """Return the units of the passages by how likely each answers."""
        ask = replace(ask, question=_spell_file_names(ask.question, passages))
        ranking = await self._nearest(ask, passages)
        if self._reader is None:
            return ranking
        read = await read_units(ask.question, ranking.best, self._reader)
        return replace(ranking, best=without_other_editions(ask.question, read))

    async def _nearest(self, ask: Ask, passages: Sequence[Passage]) -> Ranking:
        """Return the ranking by words and vectors."""
        read = [passage for passage in passages[:PASSAGES] if passage.text.strip()]
        ranking = await self._rank_together(ask, read)
        foreign = in_other_languages(ask.question, read)
        if ranking.sure >= SURE or not 0 < len(foreign) < len(read):
            return ranking
        # What the passages in the question's language do not say, others may.
        other = await self._rank_together(ask, foreign)
        return other if other.sure >= SURE else ranking

    async def _rank_together(self, ask: Ask, read: list[Passage]) -> Ranking:
        found = await asyncio.to_thread(_units, read)
        meant = await self._meaning(ask, read, found) if read and self._meaning else None
        near = await self._closeness(ask, read, found) if read and meant is None else None
        english = await self._meaning.words(ask) if self._meaning and meant is not None else ""
        asked = f"{ask.question} {english}".strip()
        best, sure = await asyncio.to_thread(rank_units, asked, read, found, near, meant)
        return Ranking(read, found, best, sure, meant is not None)

    async def ready(self) -> None:
        """Wait for nothing: the embedder is asked with the first question."""

    async def aclose(self) -> None:
        """Close nothing."""


def _join_replies(questions: Sequence[str], replies: Sequence[Said]) -> list[Said]:
    """Join the answers to several questions, as sure as the least sure of them; of a question
    that is refused beside others that is said."""
    answered = [reply for reply in replies if reply.finish != "refused"]
    if not answered:
        return [max(replies, key=lambda reply: reply.confidence or 0.0)]
    texts = []
    for question, reply in zip(questions, replies, strict=True):
        # A question that leans on the first begins with it.
        own = question.removeprefix(questions[0]).lstrip() or question
        texts.append(f"{own} {reply.text}" if reply.finish == "refused" else reply.text)
    least = min(answered, key=lambda reply: reply.confidence or 0.0)
    return [Said("\n\n".join(dict.fromkeys(texts))), replace(least, text="")]


def _spell_file_names(question: str, passages: Sequence[Passage]) -> str:
    """Return the question with the names of the passages' files in words, as texts have them."""
    for path in {PurePosixPath(passage.hit.chunk.path) for passage in passages}:
        if path.suffix and path.name in question:
            question = question.replace(path.name, re.sub(r"[\W_]+", " ", path.stem))
    return question


def _likelihood(
    question: str, said: str, chosen: Sequence[RankedUnit], ranking: Ranking, compares: bool
) -> float:
    """Tell how likely what is said, which rests on the chosen units, is what was asked."""
    if not chosen:
        return 0.0
    if chosen[0].asked:
        return SAME_QUESTION
    best, passages = ranking.best, ranking.passages
    cited = [unit.passage for unit in chosen]
    is_foreign = ranking.across and len(in_other_languages(question, cited)) == len(cited)
    # "larger" and "than" are nothing that two sides have to say.
    shares_words = not (compares or is_foreign)
    return likelihood(question, said, chosen[:WEIGHED], best, passages, ranking.sure, shares_words)


def _excerpts_text(passages: Sequence[Passage]) -> str:
    """A summary by sentences as text: these as they stand, each section's under its heading."""
    said: list[str] = []
    for line in excerpt_sentences(passages):
        heading = f"### {_clean_line(line.heading)}\n" if line.heading else ""
        joint = ("\n" if heading else " ") if said else ""
        said.append(f"{joint}{heading}{_clean_line(line.text)} [{line.number}]")
    return "".join(said)


def _document_list(wanted: DocumentList, passages: Sequence[Passage]) -> str:
    """Tell how many documents say what is wanted of all, and of each its name and the sentence that
    says most of it."""
    about = content_word_set(wanted.about)
    said = [f"{wanted.called[:1].upper()}{wanted.called[1:]} ({len(passages)}):"]
    for passage in passages[:LIST_ITEMS]:
        found = _units([passage])[0]
        answering = [unit for unit in found if unit.form not in ALONE] or found
        texts = [_clean_line(passage.text[unit.start : unit.end]) for unit in answering]
        best = max(texts, key=lambda text: len(about & content_word_set(text)), default="")
        # A sentence alone on its line is a quotation, which is supported as such.
        said.append(f"- {_clean_line(name_source(passage))}:\n  {best} [{passage.number}]")
    return "\n".join(said)


def _summary_text(passages: Sequence[Passage]) -> str:
    """Return a summary as text: its title, its beginning as prose, the sections as a list; each of
    several documents under its title."""
    lines = summary(passages)
    said: list[str] = []
    for place, line in enumerate(lines):
        text = _clean_line(": ".join(filter(None, (line.heading, line.text))))
        joint = " " if not line.heading and place and not lines[place - 1].heading else "\n"
        mark = "### " if line.is_title else "- " if line.heading and place else ""
        said += [joint if place else "", f"{mark}{text} [{line.number}]"]
    return "".join(said)


def _units(passages: Sequence[Passage]) -> list[list[AnswerUnit]]:
    return [units(passage.text[:PASSAGE_CHARS], passage.blocks) for passage in passages]


def choose_units(ranking: Ranking, sentences: int | None = None) -> list[RankedUnit]:
    """Return the best unit, the sentence that it depends on, and further likely answers: at most so
    many of these with the best, if it is said how many."""
    best = _exclude_hidden(ranking.best)
    first = best[0]
    chosen = [first]
    if first.unit.form in WHOLE and (first.asked or first.unit.form == "list"):
        return chosen
    before = _previous_unit(first, ranking.passages, ranking.units)
    most = min(MAX_SENTENCES - (before is not None), sentences or MAX_SENTENCES)
    for candidate in best[1:]:
        if len(chosen) == most or candidate.score < first.score + math.log(ALSO):
            break
        if candidate.unit.form not in ALONE and not any(
            _repeats(candidate, item) for item in chosen
        ):
            chosen.append(candidate)
    if before is not None and not any(_repeats(before, item) for item in chosen):
        chosen.append(before)
    return chosen


def _exclude_hidden(best: Sequence[RankedUnit]) -> Sequence[RankedUnit]:
    """Return the units without those that the author hides, where another one is as likely."""
    visible = [candidate for candidate in best if not _is_hidden(candidate)]
    is_answered = visible and visible[0].score >= best[0].score + math.log(ALSO)
    return visible if is_answered else best


def _is_hidden(candidate: RankedUnit) -> bool:
    """Tell whether a unit is of a hidden sheet, or a hidden row, whose first cell says so."""
    start = candidate.unit.start
    labels = (block.label for block in candidate.passage.blocks if block.start <= start < block.end)
    first_cell = candidate_text(candidate).partition("; ")[0]
    return first_cell.endswith(HIDDEN) or any(label.endswith(HIDDEN) for label in labels)


def _previous_unit(
    candidate: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> RankedUnit | None:
    """Return the sentence or code before, where the candidate begins with what stands for it."""
    unit, passage = candidate.unit, candidate.passage
    if unit.form != "sentence" or not candidate.place or not leans(candidate_text(candidate)):
        return None
    earlier = passage_units(candidate, passages, found)[candidate.place - 1]
    between = passage.text[earlier.unit.end : unit.start]
    apart = earlier.unit.form == "sentence" and between.count("\n") > 1
    return None if earlier.unit.form not in ("sentence", "code") or apart else earlier


def _repeats(one: RankedUnit, other: RankedUnit) -> bool:
    mine, theirs = without_spans(candidate_text(one)), without_spans(candidate_text(other))
    return mine in theirs or theirs in mine


def answer_lines(chosen: Sequence[RankedUnit]) -> list[AnswerLine]:
    """Everything that is said, in order; a header that several rows share is said once, and so are
    the lines that introduce several items. A single item continues the line that introduces it."""
    lines: list[AnswerLine] = []
    leads = [_lead_lines(candidate) for candidate in chosen]
    for candidate, lead in zip(chosen, leads, strict=True):
        said = [_line(candidate, excerpt) for excerpt in candidate.unit.said]
        if lead and len(said) == 1 and leads.count(lead) == 1 and not said[0].code:
            item = said[0].text.removeprefix(candidate.unit.said[0].block.label).lstrip()
            text = f"{lead[-1].text} {item}"
            lead, said = lead[:-1], [replace(said[0], text=text, apart=True)]
        for line in [*lead, *said]:
            if line.text and line not in lines:
                lines.append(line)
    return lines


def _lead_lines(candidate: RankedUnit) -> list[AnswerLine]:
    """Return the lines that announce a unit with a colon. Other sentences before it are read only:
    they may say something of their own, which this source need not support."""
    lines = candidate.unit.context.split("\n") if candidate.unit.form in LED else []
    number = candidate.passage.number
    texts = [_clean_line(line) for line in lines if announces(line)]
    return [AnswerLine(text, number, apart=True, cites=False) for text in texts if text]


def _document_and_page(unit: RankedUnit) -> str:
    """Return the document that a unit stands in, and the page where it has pages."""
    page = find_page(unit.passage.blocks, unit.unit.start) or unit.passage.hit.chunk.page
    return f"{name_source(unit.passage)}, p. {page}" if page else name_source(unit.passage)


def _with_labels(lines: Sequence[AnswerLine], apart: ValuesApart) -> list[AnswerLine]:
    """Return the lines, the first of each unit with what the unit is called."""
    labels = {u.passage.number: n for u, n in zip(apart.units, apart.labels, strict=True)}
    return [
        replace(line, text=f"{_clean_line(label)}: {line.text}")
        if (label := labels.pop(line.number, "")) and not line.code
        else line
        for line in lines
    ]


def _line(candidate: RankedUnit, excerpt: Excerpt) -> AnswerLine:
    """Return an excerpt as it is said: code as a block, an item of a whole list with its number and
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


def _format_bullet(line: AnswerLine) -> AnswerLine:
    """Return a sentence as an item of a list; code and what is one already stay as they are."""
    if line.code or _ITEM.match(line.text):
        return line
    return replace(line, text=f"- {line.text}", apart=True)


def _clean_line(text: str) -> str:
    """Return one line, without markers of its own; code in it stays as it is."""
    parts = by_code(neutralize_markers(text))
    return "".join(
        item if is_code else re.sub(r"\s+", " ", item) for item, is_code in parts
    ).strip()
