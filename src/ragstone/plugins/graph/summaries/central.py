"""The sentences of a part of a document that tell most of it.

A sentence tells much whose words are those of the part: the cosine of its words with those of all
sentences of the part together, each word weighted by how few chunks of the document have it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragstone.core.chunk import Chunk, TellingSentence
from ragstone.language.outline import outline
from ragstone.language.sentences import ends_as_sentence, says_something, sentences
from ragstone.language.words import STOPWORDS, words

PROSE = frozenset({"paragraph", "item", "quote", "admonition"})
"""Blocks whose sentences say something by themselves."""

MAX_SENTENCE_CHARS = 400
"""Characters of a sentence; a longer one is taken where a chunk has no other."""

PART_OF_LONG = 0.5
"""What such a one is worth."""

SAME = 0.7
"""The cosine of the words of two sentences from which they say the same."""

ASIDE = frozenset({"toc", "credits", "glossary"})
"""Kinds of chunks that say nothing of what a document is about."""

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may be chosen, with its words: a vector of length 1."""

    excerpt: TellingSentence
    words: Weights
    worth: float = 1.0


def rarities(chunks: Sequence[Chunk]) -> Weights:
    """Return what each word of a document tells, by how few of its chunks have it."""
    held = Counter(word for chunk in chunks for word in set(words(chunk.text)))
    return {
        word: math.log(1 + len(chunks) / times)
        for word, times in held.items()
        if word not in STOPWORDS
    }


def candidates(chunk: Chunk, rarity: Weights) -> list[Candidate]:
    """Return the sentences of a chunk that say something."""
    if chunk.kind in ASIDE:
        return []
    return list(_candidates(chunk, rarity))


def _candidates(chunk: Chunk, rarity: Weights) -> Iterator[Candidate]:
    for block in chunk.blocks or outline(chunk.text):
        if block.kind not in PROSE:
            continue
        text = chunk.text[block.start : block.end]
        for span in sentences(text):
            said = text[span.start : span.end]
            line = " ".join(said.split())
            if not line or not says_something(line):
                continue
            if not (ends_as_sentence(line) or block.kind == "item"):
                continue
            known = _unit(
                {w: n * rarity[w] for w, n in Counter(words(line)).items() if w in rarity}
            )
            start = chunk.start + block.start + span.start
            end = start + len(said.rstrip())
            start += len(said) - len(said.lstrip())
            if known:
                worth = 1.0 if len(line) <= MAX_SENTENCE_CHARS else PART_OF_LONG
                yield Candidate(TellingSentence(chunk.chunk_index, start, end), known, worth)


def sum_weights(parts: Sequence[Weights]) -> Weights:
    """Return the words of several parts, each with its weights added up."""
    found: dict[str, float] = {}
    for part in parts:
        for word, weight in part.items():
            found[word] = found.get(word, 0.0) + weight
    return found


def central(children: Sequence[Sequence[Candidate]], about: Weights) -> list[Candidate]:
    """Of each child the sentence that tells most of all of them, `about` being their words
    together; the best first. A child of which another one says the same has its next best
    sentence, or none."""
    middle = _unit(about)
    ranked = [
        sorted(
            ((item.worth * _cosine(item.words, middle), item) for item in child),
            key=lambda scored: (-scored[0], scored[1].excerpt.start),
        )
        for child in children
    ]
    order = sorted(
        (place for place, child in enumerate(ranked) if child),
        key=lambda place: (-ranked[place][0][0], place),
    )
    chosen: list[tuple[float, Candidate]] = []
    for place in order:
        for score, item in ranked[place]:
            if not any(_says_the_same(item, other) for _, other in chosen):
                chosen.append((score, item))
                break
    return [item for _, item in sorted(chosen, key=lambda s: (-s[0], s[1].excerpt.start))]


def _says_the_same(one: Candidate, other: Candidate) -> bool:
    overlap = one.excerpt.start < other.excerpt.end and other.excerpt.start < one.excerpt.end
    return overlap or _cosine(one.words, other.words) > SAME


def _unit(weights: Weights) -> Weights:
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()} if length else {}


def _cosine(one: Weights, other: Weights) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())
