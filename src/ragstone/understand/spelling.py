"""Corrects a question's misspelt words, or leaves it as it is.

A noisy channel: a frequent word that differs little from the one typed is probably meant, unless
the typed one is probably a word itself: a term, a name, a compound. Both are judged by one score,
whose weights are the rounded ones of a logistic regression.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ragstone.language.dictionary import Dictionary, word_matrix
from ragstone.language.similar_names import similarity
from ragstone.understand.misspelling import costs
from ragstone.understand.question_words import Unknown, differ_by_inflection, form

SHARED_WORDS = 0.5
SIMILARITY = 0.6
"""A correction that shares fewer words with the question, or is less like it, is dropped."""

COST = 2.9
"""What one unlikely edit weighs, in powers of ten of a word's frequency."""


@dataclass(frozen=True, slots=True)
class SpellingWeights:
    """What speaks for a misspelling (above 0 corrects), in natural logarithms of odds."""

    bias: float = -4.4
    channel: float = 0.8
    letters: float = 0.36
    unlike: float = 1.0
    rare: float = -2.6
    prefixed: float = -3.0
    compound: float = -1.1
    inflected: float = -3.4
    first: float = -1.0
    name: float = -2.0
    strange: float = -0.8


WEIGHTS = SpellingWeights()

CORPUS_FREQUENCY = 6.0
"""What a word of the collection that no dictionary holds counts as: that of an ordinary word."""

SEEN, UNSEEN = 1.5, -0.5
"""The weight of a candidate's presence in the collection, or its absence, in powers of ten."""

WELL_KNOWN = 5.5
"""The frequency from which a word may be a part of others."""

MAX_CANDIDATES = 12
"""Candidates of the dictionary that are looked up in the collection."""

MAX_STRANGE = 3


@dataclass(frozen=True, slots=True)
class Corpus:
    """Words of the collection that the caller can read: in how many chunks each was found, and
    which of them are one edit away from an unknown word."""

    seen: Mapping[str, int]
    near: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corrected:
    """The question spelt right, and which words that changed."""

    text: str
    changes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SpellingCandidate:
    """A possible correction: its frequency, and the cost of the misspelling."""

    word: str
    frequency: float
    cost: float

    @property
    def channel(self) -> float:
        return self.frequency - COST * self.cost


def candidates(
    word: str, dictionary: Dictionary, corpus: Corpus | None = None
) -> list[SpellingCandidate]:
    """Return words that may have been meant, best first."""
    found = list(_likeliest_words(word, dictionary))
    if corpus is not None:
        listed = {item.word for item in found}
        near = [other for other in corpus.near.get(word, ()) if other not in listed]
        found += [
            SpellingCandidate(other, CORPUS_FREQUENCY, cost)
            for other, cost in zip(near, costs(word, word_matrix(near)).tolist(), strict=True)
            if corpus.seen.get(other)
        ]
    return sorted(found, key=lambda item: -_log_likelihood(item, corpus))


@lru_cache(maxsize=1024)
def _likeliest_words(word: str, dictionary: Dictionary) -> tuple[SpellingCandidate, ...]:
    """Return the likeliest words of the dictionary."""
    words, letters, frequency = dictionary.candidates(word)
    cost = costs(word, letters)
    order = np.argsort(COST * cost - frequency, kind="stable")[:MAX_CANDIDATES]
    return tuple(SpellingCandidate(words[i], float(frequency[i]), float(cost[i])) for i in order)


def correct(
    question: str, unknown: Sequence[Unknown], dictionary: Dictionary, corpus: Corpus | None = None
) -> Corrected:
    """Return the question with `unknown` words corrected where that is the likelier reading.

    `corpus` is None if nothing is known of the collection's words.
    """
    changes: list[tuple[Unknown, str]] = []
    strange = len({item.word for item in unknown}) - 1
    for item in unknown:
        best = candidates(item.word, dictionary, corpus)
        if best and evidence(item, best[0], dictionary, corpus, strange) > 0:
            changes.append((item, best[0].word))
    text = question
    for item, right in reversed(changes):
        text = (
            text[: item.start]
            + _match_case(right, question[item.start : item.end])
            + text[item.end :]
        )
    if text == question or not alike(question, text):
        return Corrected(question)
    return Corrected(text, tuple((item.word, right) for item, right in changes))


def evidence(
    unknown: Unknown,
    best: SpellingCandidate,
    dictionary: Dictionary,
    corpus: Corpus | None = None,
    strange: int = 0,
) -> float:
    """Return the logarithm of the odds that `unknown` is a misspelling of `best`.

    `strange` other words of the question are in no dictionary either: its field may be unknown.
    """
    word, weights = unknown.word, WEIGHTS
    if corpus is not None and corpus.seen.get(word):
        return -math.inf
    if unknown.name and not (corpus and corpus.seen.get(best.word)):
        return -math.inf
    shape = form(word, lambda part: dictionary.log_frequency(part) >= WELL_KNOWN)
    return (
        weights.bias
        + weights.channel * _log_likelihood(best, corpus)
        + weights.letters * len(word)
        + weights.unlike * dictionary.count_unlikely(word)
        + weights.rare * dictionary.is_rare(word)
        + weights.prefixed * (shape == "prefixed")
        + weights.compound * (shape == "compound")
        + weights.inflected * differ_by_inflection(word, best.word)
        + weights.first * unknown.first
        + weights.name * unknown.name
        + weights.strange * min(strange, MAX_STRANGE)
    )


def alike(question: str, corrected: str) -> bool:
    """Whether the two share at least half of their words and are similar enough by characters."""
    words, others = question.split(), corrected.split()
    pairs = list(zip(words, others, strict=False))
    changed = [(word, other) for word, other in pairs if word != other]
    most = max(len(words), len(others))
    if len(pairs) - len(changed) < SHARED_WORDS * most:
        return False
    # Only the changed words are compared letter by letter: a question may be long.
    total = sum(map(len, words)) + sum(map(len, others))
    kept = total - sum(len(word) + len(other) for word, other in changed)
    same = kept + sum(similarity(word, other) * (len(word) + len(other)) for word, other in changed)
    return same >= SIMILARITY * total


def _log_likelihood(candidate: SpellingCandidate, corpus: Corpus | None) -> float:
    """Return the logarithm of the channel, adjusted by the word's presence in the collection."""
    if corpus is None:
        return candidate.channel
    return candidate.channel + (SEEN if corpus.seen.get(candidate.word) else UNSEEN)


def _match_case(right: str, written: str) -> str:
    """`right` in the letter case of `written`."""
    if len(written) > 1 and written.isupper():
        return right.upper()
    return right.capitalize() if written[:1].isupper() else right
