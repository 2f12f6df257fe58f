"""What can be said before a chat model is asked: the answer of a FAQ, or that there is none."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from ragstone.answer.extractive.units import units
from ragstone.answer.stream import AnswerStream
from ragstone.cache.same_question import compare
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.turn import Passage, Turn
from ragstone.engine.stage import Step, prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.faq_rows import FAQ_ROW
from ragstone.language.json_answer import json_answer
from ragstone.language.language import detect
from ragstone.language.markers import neutralize_markers
from ragstone.language.polarity import negations
from ragstone.language.sentences import Span
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters, Completer

_ASKS = re.compile(
    r"^[\s#*_>•-]*(?:\d{1,3}[.)]\s*)?(?:(?:q|question|frage|pregunta|问题?|問題?|質問|질문|문|问|問)"
    r"\s?\d{0,3}\s?[:：.)]\s*)?",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?。！？…:：;)\]|][\"'”’»」』*_]*$")
MAX_ANSWER_CHARS = 2_000
"""Characters of an answer; a longer text is read like any other passage."""


@dataclass(frozen=True, slots=True)
class FaqEntry:
    """A question as it is compared, and where its answer stands."""

    question: str
    answer: Span


def pairs(text: str) -> list[FaqEntry]:
    """Return the pairs in a passage, without those whose answer seems cut off or is too long."""
    found = units(text)
    starts = [unit.start for unit in found if unit.form in ("answer", "heading")]
    made = []
    for unit in found:
        row = FAQ_ROW.fullmatch(text, unit.start, unit.end)
        if row and len(row["answer"]) <= MAX_ANSWER_CHARS:
            made.append(FaqEntry(row["question"], Span(*row.span("answer"))))
        if unit.form != "answer":
            continue
        start = unit.said[0].start
        end = next((item for item in starts if item > start), len(text))
        end = start + len(text[start:end].rstrip())
        question = _ASKS.sub("", text[unit.start : unit.end], count=1).rstrip("*_ ")
        whole = end - start <= MAX_ANSWER_CHARS and (
            end < len(text.rstrip()) or _ends(text[start:end])
        )
        if whole and question:
            made.append(FaqEntry(question, Span(start, end)))
    return made


def _ends(answer: str) -> bool:
    """Tell whether the answer ends as a text does: the passage may end in the midst of it."""
    return _ENDS.search(answer) is not None


FAQ = "faq"
"""The kind of passages that are FAQs, and the name of who answers from them."""

READ = 5
"""The best passages in which the question itself is looked for."""

ALIKE = 0.55
"""Likeness of the best passage from which nothing is refused: of the questions that would be, 99 in
100 have less, and only 13 in 100 of those that the documents answer, so that the others need not
wait until the passages are read (squad2_dev and scifact's questions over it)."""

REFUSE_BELOW = 0.02
"""Likelihood that the passages answer at all, under which a question of fact is refused without
asking the chat model: none of SQuAD's own 2,971 is (`docs/questions.md`)."""

RATED = 0.5
"""Score of a retrieval service from which its best passage, if that is a FAQ, is the answer."""

GENERAL = frozenset({"summary", "list", "comparison", "analytical", "aggregation", "follow_up"})
"""Intents whose questions need not share anything with the passages that answer them."""


GATE_SECONDS = 5.0
"""What looking may take; then the chat model is asked."""

COMPARED = 0.35
"""Likeness of a FAQ's question from which the chat model is asked whether it asks the same: of 22
paraphrases in English, German and Chinese none has less."""

MAX_COMPARED = 5
MAX_QUESTION_CHARS = 300
"""What the chat model compares: so many questions of a FAQ, and none that is longer."""

REPLY_TOKENS = 20

_NUMBER = re.compile(r"\d+")


async def answer_without_model(turn: Turn, adapters: Adapters, compares_faqs: bool = False) -> Step:
    """Answer what is known without the chat model, which is so spared.

    A FAQ passage that holds the very question is answered with its own words. With `compares_faqs`
    one that asks it in other words is too: the chat model says whether it does, since neither
    likeness nor the reader tells "cancel" from "return".

    Where the extractive answerer is all but sure that the passages hold nothing of the kind, the
    answer is the refusal: only for questions of fact in the passages' own language, and not where
    the chat model graded the passages itself.
    """
    known = adapters.answerable
    if known is None or not turn.passages:
        return Step(turn, "skipped", "no chat model is spared" if known is None else "")
    found, said_by = await _faq(turn, adapters), ""
    judge = adapters.evaluator or adapters.completer
    if found is None and compares_faqs and judge is not None:
        turn, found = await _judge_faqs(turn, adapters, judge)
        said_by = f", says {judge.name}"
    if found:
        answer = _answer(turn, *found)
        return _step(turn, answer, f"a FAQ asks the same{said_by}: {found[1].question!r}")
    if why := _skip_reason(turn):
        return Step(turn, "the chat model", why)
    sure = await known.likelihood(replace(turn.ask, question=turn.question), turn.passages)
    reason = f"the passages hold an answer with a likelihood of {sure:.3f}"
    if sure >= REFUSE_BELOW:
        return Step(turn, "the chat model", reason)
    refusal = turn.instructions.no_answer
    answer = GeneratedAnswer(refusal, finish="refused", model=known.name, confidence=sure)
    return _step(turn, answer, reason)


def _step(turn: Turn, answer: GeneratedAnswer, reason: str) -> Step:
    return Step(replace(turn, answer=answer), f"{answer.model}, {answer.finish}", reason)


def _skip_reason(turn: Turn) -> str:
    """Tell why a refusal is not considered; empty if it is."""
    if turn.grades:
        return "it has graded the passages"
    if turn.plan.strategy == "sequential" or (turn.intent and turn.intent.name in GENERAL):
        return "the question is a general one"
    if max((p.hit.similarity or 0.0 for p in turn.passages), default=0.0) >= ALIKE:
        return "a passage is alike"
    spoken = {detect(passage.text) for passage in turn.passages[:READ]}
    if detect(turn.question) not in spoken:
        return "the question is in another language than the passages"
    return ""


async def _faq(turn: Turn, adapters: Adapters) -> tuple[Passage, FaqEntry] | None:
    """Return the FAQ that asks the same, and its passage."""
    if turn.lists and turn.lists[0].source == "service":
        return _service_faq(turn)
    for passage, pair in _match_faqs(turn):
        [likeness] = await _likeness(turn, [pair.question], adapters)
        if compare(turn.question, pair.question, likeness).same:
            return passage, pair
    return None


def _service_faq(turn: Turn) -> tuple[Passage, FaqEntry] | None:
    """Return the best passage of a retrieval service, if it is a FAQ: the service has compared it
    with the question already. Of several in it the one whose question has most words of this one,
    and all that it says where it has no questions."""
    passage = turn.passages[0]
    hit = passage.hit
    if turn.subqueries or hit.chunk.kind != FAQ or hit.score < RATED:
        return None
    asked = content_word_set(turn.question)
    found = pairs(passage.text)
    return passage, max(
        found,
        key=lambda pair: len(asked & content_word_set(pair.question)),
        default=FaqEntry(turn.question, Span(0, len(passage.text))),
    )


def _match_faqs(turn: Turn) -> Iterator[tuple[Passage, FaqEntry]]:
    """Yield the FAQ entries with an equivalent question."""
    for passage in turn.passages[:READ]:
        if passage.hit.chunk.kind == FAQ:
            for pair in pairs(passage.text):
                if compare(turn.question, pair.question).same:
                    yield passage, pair


async def _judge_faqs(
    turn: Turn, adapters: Adapters, judge: Completer
) -> tuple[Turn, tuple[Passage, FaqEntry] | None]:
    """Have the chat model name the entry that asks the same in other words, if one does.

    Returns:
        The turn with what that took, and the entry. A wrong one is worse than none, so what differs
        in a number or a negation is not even compared, and any doubtful reply means none.
    """
    entries = await _alike_faqs(turn, adapters)
    if not entries:
        return turn, None
    lines = [f"{number}. {pair.question}" for number, (_, pair) in enumerate(entries, start=1)]
    asked = fence_text("question", turn.question)
    text = "\n".join([asked, fence_text("faq", "\n".join(lines))])
    rules = await prompt(turn, adapters, "same_question")
    said = await judge.complete(rules, text, REPLY_TOKENS)
    turn = replace(turn, usage=turn.usage + said.usage)
    reply = json_answer(said.text)
    same = reply.get("same") if isinstance(reply, dict) else None
    if type(same) is not int or not 0 < same <= len(entries):
        return turn, None
    return turn, entries[same - 1]


async def _alike_faqs(turn: Turn, adapters: Adapters) -> list[tuple[Passage, FaqEntry]]:
    """Return the FAQ entries that may ask the same in other words, the most alike first."""
    if turn.passages[0].hit.chunk.kind != FAQ or turn.subqueries:
        return []
    if len(turn.question) > MAX_QUESTION_CHARS:
        return []
    marks = _marks(turn.question)
    found = [
        (passage, pair)
        for passage in turn.passages[:READ]
        if passage.hit.chunk.kind == FAQ
        for pair in pairs(passage.text)
        if len(pair.question) <= MAX_QUESTION_CHARS and _marks(pair.question) == marks
    ]
    likeness = await _likeness(turn, [pair.question for _, pair in found], adapters)
    ranked = sorted(zip(likeness, found, strict=True), key=itemgetter(0), reverse=True)
    return [entry for alike, entry in ranked[:MAX_COMPARED] if alike >= COMPARED]


def _marks(question: str) -> tuple[frozenset[str], int]:
    """What no other wording of a question changes: its numbers, and how often it says not."""
    return frozenset(_NUMBER.findall(question)), negations(question)


async def _likeness(turn: Turn, questions: Sequence[str], adapters: Adapters) -> list[float]:
    """Tell how alike in meaning each is to the question; 0 where nothing can compare them."""
    if turn.collection is None or not questions:
        return [0.0] * len(questions)
    embedder = adapters.embedders.find_indexing(turn.collection)
    asked, *vectors = await embedder.embed_queries([turn.question, *questions])
    unrelated = embedder.cosines[0]
    return [(float(np.dot(asked, item)) - unrelated) / (1 - unrelated) for item in vectors]


def _answer(turn: Turn, passage: Passage, pair: FaqEntry) -> GeneratedAnswer:
    """Return the FAQ's words, with their source; links leave as from any answer."""
    said = neutralize_markers(passage.text[pair.answer.start : pair.answer.end])
    stream = AnswerStream(turn.passages)
    text = stream.feed(f"{said} [{passage.number}]") + stream.end()
    return GeneratedAnswer(text, model=FAQ, confidence=1.0)
