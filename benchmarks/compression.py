"""Shortened passages: what they save, is the answer still in them, and is it still given?

Ours keeps whole sentences that hold the question's words. It is compared with the beginning of each
passage, and with words kept one by one by how rare they are, the question's first. LLMLingua, which
chooses words by a language model's probabilities, needs torch and is not measured here.

Of BENCH_SETS (squad2_dev, xquad/de, cmrc2018_zh) BENCH_ANSWERS questions each (300), evenly spread,
are searched once and answered without a chat model at each rate (RAG__COMPRESSION) from the same
passages.
"""

import asyncio
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from statistics import fmean

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.answer.assemble import Assemble, compress_texts
from ragstone.core.events import Event
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.runner import Run
from ragstone.engine.stage import Stage
from ragstone.language.sentences import sentences
from ragstone.language.tokens import count, cut_to_budget
from ragstone.language.words import content_word_set, words
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.answers import normalise_answer
from ragstone.plugins.evaluation.dataset import Question
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.ports import Adapters
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings, load

QUESTIONS = 1_000
RATIOS = (0.5, 0.3)
RATES = (1.0, 0.7, 0.5, 0.3, 0.2)
SETS = ("squad2_dev", "xquad/de", "cmrc2018_zh")

Shorten = Callable[[str, str, float], str]


def run() -> Iterator[Row]:
    yield from _single_passages()
    for name in os.environ.get("BENCH_SETS", ",".join(SETS)).split(","):
        yield from asyncio.run(_answers(name))


def _single_passages() -> Iterator[Row]:
    """Tell whether the passage that answers still does, by three ways of shortening it."""
    corpus = {item.id: item.text for item in dataset.corpus(eval_data() / "squad2_dev")}
    asked = [
        item
        for item in dataset.questions(eval_data() / "squad2_dev", "dev", 2 * QUESTIONS)
        if item.answerable and item.answers and item.relevant
    ][:QUESTIONS]
    held = Counter(word for text in corpus.values() for word in set(words(text)))
    tells = {word: math.log(len(corpus) / times) for word, times in held.items()}
    ways: Mapping[str, Shorten] = {
        "our compression": lambda question, text, ratio: compress_texts(question, [text], ratio)[0],
        "the beginning": lambda _, text, ratio: cut_to_budget(
            text, int(ratio * count(text)), count
        ),
        "telling words": lambda question, text, ratio: telling(question, text, ratio, tells),
    }
    for ratio in RATIOS:
        for name, shorten in ways.items():
            kept = sent = whole = 0
            for item in asked:
                text = corpus[min(item.relevant)]
                short = shorten(item.text, text, ratio)
                said = " ".join(words(short))
                kept += any(" ".join(words(answer)) in said for answer in item.answers)
                sent, whole = sent + count(short), whole + count(text)
            yield Row(
                f"The answer is still in the passage: {name} to {ratio:g}, squad2_dev",
                kept / len(asked),
                note=f"{len(asked):,} questions, {sent / whole:.0%} of the tokens",
                detail=name != "our compression",
            )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One question at one rate: the tokens of its passages, the sentences of a passage that answers
    which hold an accepted answer and whether one of them is there still, and what was answered."""

    tokens: int
    answerable: bool
    telling: frozenset[str]
    kept: bool
    right: bool
    refused: bool


async def _answers(name: str) -> list[Row]:
    """Return what each rate saves and costs over one set."""
    limit = int(os.environ.get("BENCH_ANSWERS", "300"))
    asked = dataset.questions(eval_data() / name, "dev", limit)
    found: dict[float, list[_Outcome]] = {rate: [] for rate in RATES}
    async with index_passages(dataset.corpus(eval_data() / name), load()) as index:
        before, _ = _stages(load())
        async with aclosing(Engine(index.adapters, {"standard": Recipe(before)})) as engine:
            for question in asked:
                turn = await engine.answer(Ask(question.text, collection=NAME))
                if turn.answer is None:
                    for rate, some in found.items():
                        some.append(await _outcome(question, turn, rate, index.adapters))
    return [row for rate in RATES for row in _rows(name, rate, found)]


def _rows(name: str, rate: float, found: Mapping[float, Sequence[_Outcome]]) -> Iterator[Row]:
    mine, whole = found[rate], found[1.0]
    share = sum(item.tokens for item in mine) / sum(item.tokens for item in whole)
    of, detail = f"passages to {rate:g}, {name}", rate != min(RATIOS)
    answering = [
        now.kept for now, before in zip(mine, whole, strict=True) if before.kept and before.telling
    ]
    held = [item for item in mine if item.answerable]
    yield Row(f"Tokens of the context, {of}", share, note="of those at 1", detail=detail)
    yield Row(
        f"A sentence with the answer is still in the context, {of}",
        fmean(answering),
        note=f"of {len(answering)} in which it is at 1",
        detail=detail,
    )
    right, refused = fmean(item.right for item in held), fmean(item.refused for item in held)
    yield Row(
        f"Answers without a chat model are right, {of}",
        right,
        note=f"of {len(held)}; wrong {1 - right - refused:.3f}, refused {refused:.3f}",
        detail=detail,
    )
    if others := [item for item in mine if not item.answerable]:
        silent = fmean(item.refused for item in others)
        what = f"Questions without an answer are refused, {of}"
        yield Row(what, silent, note=f"of {len(others)}", detail=detail)


async def _outcome(question: Question, turn: Turn, rate: float, adapters: Adapters) -> _Outcome:
    """Answer a question that was searched, from its passages at this rate."""
    settings = load()
    rag = settings.rag.model_copy(update={"compression": rate})
    _, after = _stages(settings.model_copy(update={"rag": rag}))
    way = Run(turn, adapters, _nowhere)
    await way.through(after)
    ended = way.turn
    text = ended.answer.text if ended.answer else ""
    refused = ended.answer is None or ended.answer.refused
    telling = _find_telling_sentences(question, ended.passages)
    said = normalise_answer("\n".join(passage.text for passage in ended.passages))
    accepted = [normalise_answer(answer) for answer in question.answers]
    return _Outcome(
        tokens=sum(count(passage.text) for passage in ended.passages),
        answerable=question.answerable and bool(accepted),
        telling=telling,
        kept=any(item in said for item in telling),
        right=not refused
        and any(item and f" {item} " in f" {normalise_answer(text)} " for item in accepted),
        refused=refused,
    )


def _find_telling_sentences(question: Question, passages: Sequence[Passage]) -> frozenset[str]:
    """The sentences with an accepted answer of the whole passages of a document that answers."""
    accepted = [one for answer in question.answers if (one := normalise_answer(answer))]
    texts = [
        passage.hit.chunk.text
        for passage in passages
        if passage.hit.chunk.document_id in question.relevant or not question.relevant
    ]
    split = (normalise_answer(text[s.start : s.end]) for text in texts for s in sentences(text))
    return frozenset(item for item in split if any(f" {own} " in f" {item} " for own in accepted))


def _stages(settings: Settings) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """Return the stages that find passages, and those that answer from them."""
    every = Recipes(settings).of("plain", "standard").stages
    at = [stage.name for stage in every].index(Assemble.name)
    return every[:at], every[at:]


async def _nowhere(_: Event) -> None:
    """Drop the event: nobody listens."""


def telling(question: str, text: str, ratio: float, tells: Mapping[str, float]) -> str:
    """The words that tell most, the question's first, in their order, in that share of tokens."""
    asked = content_word_set(question)
    parts = text.split()

    def worth(place: int) -> float:
        own = words(parts[place])
        known = max((tells.get(word, 0.0) for word in own), default=0.0)
        return known + 100.0 * bool(asked & content_word_set(parts[place]))

    left, kept = ratio * count(text), set[int]()
    for place in sorted(range(len(parts)), key=worth, reverse=True):
        needed = count(parts[place])
        if needed <= left:
            kept.add(place)
            left -= needed
    return " ".join(parts[place] for place in sorted(kept))
