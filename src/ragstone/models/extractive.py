"""Answers without a language model: the sentences of the passages that answer the question.

Each sentence is scored by how near its meaning is to the question (`similarity`), by how much of
the question's words it and its heading hold (weighted by rarity among the passages), by the rank
of its passage, and by whether it holds the kind of thing that is asked for. The best ones are
said in reading order, each with its source; below `refuse_below` nothing is said but that.
"""

import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.ports import Said
from ragstone.text.answer_type import fits
from ragstone.text.markers import neutral
from ragstone.text.sentences import sentences
from ragstone.text.words import content_words
from ragstone.turn import Ask, Instructions, Passage

Similarity = Callable[[Ask, Sequence[str]], Awaitable[NDArray[np.float32]]]
"""The question's likeness to each text in 0..1, the same scale for every embedder."""

PASSAGES = 8
CANDIDATES = 16
MOST_SENTENCES = 3
BARE = 0.8
"""What a line that neither ends like a sentence nor holds cells keeps: it is mostly a heading."""

_SAYS = re.compile(r"[.!?。！？।؟…:：;][\"'”’»)\]]*$|\||: ")

LONGEST = 600
"""Characters of a sentence that are said; longer ones are mostly badly split tables."""

MEANING, WORDS, RANK, KIND = 0.25, 0.42, 0.25, 0.08
"""Shares of the score; the best of a coarse grid on questions of squad2_dev, and flat around it."""

SAID_AFTER, SAID_BEFORE = 0.8, 0.96
"""Another sentence is said too if it scores this share of the best: more if it comes before the
best one in the same passage, since the first sentence should be the answer."""

INTERCEPT, PER_MEANING, PER_WORDS = -16.0, 21.5, 7.0
"""Logistic regression of "the passages hold the answer" on the best sentence's features, fitted
on questions asked of their own corpus and of a foreign one, in English and Chinese."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer, with its features in 0..1."""

    text: str
    passage: Passage
    start: int
    words: float
    kind: float
    meaning: float = 0.0

    @property
    def prior(self) -> float:
        """The score without the meaning."""
        return WORDS * self.words + RANK * self.passage.hit.score + KIND * self.kind

    @property
    def score(self) -> float:
        whole = MEANING * self.meaning + self.prior
        return whole if _SAYS.search(self.text) else BARE * whole


class Extractive:
    """`ports.Answerer` that needs no model but the embedder."""

    name = "extractive"

    def __init__(self, similarity: Similarity, refuse_below: float) -> None:
        self._similarity = similarity
        self._refuse_below = refuse_below

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        best = await self._ranked(ask, passages[:PASSAGES])
        confidence = _confidence(best)
        if not best or confidence < self._refuse_below:
            yield Said(instructions.no_answer, finish="refused", confidence=confidence)
            return
        for number, said in enumerate(_chosen(best)):
            text = _shown(said.text)
            yield Said((" " if number else "") + f"{text} [{said.passage.number}]")
        yield Said(finish="stop", confidence=confidence)

    async def ready(self) -> None:
        """There is nothing to wait for: the embedder is asked with the first question."""

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def _ranked(self, ask: Ask, passages: Sequence[Passage]) -> list[Candidate]:
        """The most promising sentences, best first."""
        found = sorted(_candidates(ask.question, passages), key=lambda c: -c.prior)[:CANDIDATES]
        if not found:
            return []
        likeness = await self._similarity(ask, [candidate.text for candidate in found])
        scored = [
            Candidate(c.text, c.passage, c.start, c.words, c.kind, float(one))
            for c, one in zip(found, likeness, strict=True)
        ]
        return sorted(scored, key=lambda c: -c.score)


def _candidates(question: str, passages: Sequence[Passage]) -> list[Candidate]:
    asked = set(content_words(question))
    spans = [(p, s.start, p.text[s.start : s.end]) for p in passages for s in sentences(p.text)]
    held = [set(content_words(text)) for _, _, text in spans]
    rarity = _rarity(held)
    headings = {p.number: set(content_words(p.hit.chunk.heading)) for p in passages}
    return [
        Candidate(
            text,
            passage,
            start,
            _coverage(asked, words, headings[passage.number], rarity),
            fits(question, text),
        )
        for (passage, start, text), words in zip(spans, held, strict=True)
        if len(words) > 1
    ]


def _rarity(held: Sequence[set[str]]) -> Mapping[str, float]:
    """Inverse document frequency of every word among the sentences."""
    counts = Counter(word for words in held for word in words)
    return {word: math.log(1 + len(held) / count) for word, count in counts.items()}


def _coverage(
    asked: set[str], words: set[str], heading: set[str], rarity: Mapping[str, float]
) -> float:
    """The share of the question's words in the sentence, by rarity; the heading counts half."""
    rarest = max(rarity.values(), default=1.0)
    weights = {word: rarity.get(word, rarest) for word in asked}
    got = sum(
        weight * (1.0 if word in words else 0.5 if word in heading else 0.0)
        for word, weight in weights.items()
    )
    return got / (sum(weights.values()) or 1.0)


def _confidence(best: Sequence[Candidate]) -> float:
    """The probability that the passages hold the answer."""
    if not best:
        return 0.0
    meaning = max(candidate.meaning for candidate in best)
    words = max(candidate.words for candidate in best)
    return 1 / (1 + math.exp(-(INTERCEPT + PER_MEANING * meaning + PER_WORDS * words)))


def _chosen(best: Sequence[Candidate]) -> list[Candidate]:
    """The best sentence and those nearly as good, its passage first, each in reading order."""
    first = best[0]
    chosen = [first]
    for candidate in best[1:]:
        number = candidate.passage.number
        before = number == first.passage.number and candidate.start < first.start
        least = first.score * (SAID_BEFORE if before else SAID_AFTER)
        repeated = any(_same(candidate.text, other.text) for other in chosen)
        if candidate.score >= least and not repeated and len(chosen) < MOST_SENTENCES:
            chosen.append(candidate)
    top = first.passage.number
    return sorted(chosen, key=lambda c: (c.passage.number != top, c.passage.number, c.start))


def _same(one: str, other: str) -> bool:
    return one in other or other in one


def _shown(text: str) -> str:
    """One line, without markers of its own, cut between words where it is too long."""
    line = re.sub(r"\s+", " ", neutral(text)).strip()
    if len(line) <= LONGEST:
        return line
    cut = line[:LONGEST]
    return cut[: cut.rfind(" ") if " " in cut else LONGEST].rstrip() + " …"
