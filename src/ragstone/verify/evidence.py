"""Where sources may support a claim: the sentences that share most of its words.

Words only choose what is read. Whether it supports the claim is for the reader to say (`checker`).
They are compared by their stems; Chinese, Japanese, Korean and Thai give pairs of characters. Names
and rare words weigh more than usual ones.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragstone.core.document import find_missing_lead
from ragstone.language.dictionary import english
from ragstone.language.sentences import Span, sentences
from ragstone.language.words import STOPWORDS, is_paired, stem, words
from ragstone.ports import Claim, EvidenceSource
from ragstone.verify.claims import strip_layout

_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*+")
PAIR_WEIGHT, NUMBER_WEIGHT = 0.5, 1.2
MIN_WEIGHT, MAX_WEIGHT = 0.3, 1.5
"""The weights of the most usual English word and of one that no dictionary holds."""

MAX_WORDS = 400
"""Words of one sentence that are looked at."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word: its stem, its spelling (casefolded), and its weight."""

    stem: str
    word: str
    weight: float


def terms(text: str) -> list[Term]:
    """Return the words of `text` that tell something, in their order."""
    found: list[Term] = []
    for match in _WORD.finditer(text):
        if len(found) >= MAX_WORDS:
            break
        found += _find_terms(match.group())
    return found


@lru_cache(20_000)
def _find_terms(spelt: str) -> tuple[Term, ...]:
    word = unicodedata.normalize("NFC", spelt.casefold())
    if word[0].isdigit():
        return (Term(word, word, NUMBER_WEIGHT),)
    if is_paired(word):
        parts = (part for part in words(word) if part not in STOPWORDS)
        return tuple(Term(part, part, PAIR_WEIGHT) for part in parts)
    if word in STOPWORDS or len(word) == 1:
        return ()
    return (Term(stem(word), word, word_weight(word)),)


def common_share(one: str, other: str) -> float:
    """Return the share (Dice, 0..1) of words, numbers left out, that two texts have in common."""
    mine, theirs = (
        {term.stem for term in terms(text) if not term.word[0].isdigit()} for text in (one, other)
    )
    return 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))


def word_weight(word: str) -> float:
    """Tell how much a casefolded word tells, by how seldom English books hold it; a word of another
    language weighs as much as the rarest one."""
    return min(MAX_WEIGHT, max(MIN_WEIGHT, (10 - english().log_frequency(word)) / 4))


KIN_WEIGHT = 0.6
"""What a source's word is worth for a claim's that begins alike (`Kenya`, `Kenyan`)."""

PREFIX_CHARS = 5
"""Characters that such words have in common."""

PREFERENCE = 0.05
"""The share of a claim's words by which another source must hold more than one that it cites."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """A part of the source numbered `source` (from 0), and the share (0..1) of the claim's words
    that it and the whole source hold, by weight; None where words tell nothing."""

    source: int
    start: int
    end: int
    share: float = 1.0
    source_share: float | None = None


class Evidence:
    """The sentences of sources, with an index of their words."""

    def __init__(self, sources: Sequence[EvidenceSource]) -> None:
        self._sources = sources
        self._rows: list[tuple[int, Span]] = []
        self._stems: dict[str, list[int]] = defaultdict(list)
        self._prefixes: dict[str, list[int]] = defaultdict(list)
        self._quotes: dict[str, list[int]] = defaultdict(list)
        for number, source in enumerate(sources):
            title = terms(source.title)
            for span in sentences(source.text):
                row, text = len(self._rows), source.text[span.start : span.end]
                self._rows.append((number, span))
                self._quotes[_normalize_quote(text)].append(row)
                lead = find_missing_lead(source.text, source.blocks, span.start, span.end)
                if lead:
                    self._quotes[_normalize_quote(f"{lead} {strip_layout(text)}")].append(row)
                for term in (*title, *terms(text)):
                    self._stems[term.stem].append(row)
                    if len(term.word) >= PREFIX_CHARS:
                        self._prefixes[term.word[:PREFIX_CHARS]].append(row)

    def quotations(self, text: str) -> dict[int, EvidencePlace]:
        """Return the place in each source that `text` stands at word for word: a sentence, an item
        with the line that introduces its list, or lines of code."""
        places = {
            number: EvidencePlace(number, span.start, span.end)
            for row in reversed(self._quotes.get(_normalize_quote(text), ()))
            for number, span in (self._rows[row],)
        }
        if "\n" in text and not places:
            for number, source in enumerate(self._sources):
                start = source.text.find(text)
                if start >= 0:
                    places[number] = EvidencePlace(number, start, start + len(text))
        return places

    def nearest(self, claim: Claim) -> list[EvidencePlace]:
        """Return the nearest sentence of each source, the nearest first."""
        found = terms(claim.text)
        if not found or not self._rows:
            return []
        shares = np.zeros((len(self._rows), len(found)), np.float32)
        for column, term in enumerate(found):
            if len(term.word) >= PREFIX_CHARS:
                shares[self._prefixes.get(term.word[:PREFIX_CHARS], []), column] = KIN_WEIGHT
            shares[self._stems.get(term.stem, []), column] = 1.0
        weights = np.array([term.weight for term in found], np.float32)
        weights /= weights.sum()
        numbers = np.array([number for number, _ in self._rows])
        places = [
            self._find_nearest(number, np.flatnonzero(numbers == number), shares, weights)
            for number in dict.fromkeys(numbers.tolist())
        ]
        cited = dict.fromkeys(claim.cited, PREFERENCE)
        return sorted(places, key=lambda place: -place.share - cited.get(place.source, 0))

    def _find_nearest(
        self,
        number: int,
        rows: NDArray[np.intp],
        shares: NDArray[np.float32],
        weights: NDArray[np.float32],
    ) -> EvidencePlace:
        by_row = shares[rows] @ weights
        best = int(by_row.argmax())
        span = self._rows[rows[best]][1]
        whole = float(shares[rows].max(axis=0) @ weights)
        return EvidencePlace(number, span.start, span.end, float(by_row[best]), whole)


def _normalize_quote(text: str) -> str:
    """Return a sentence as it is compared with a quotation: in one line, without layout."""
    return " ".join(strip_layout(text).split()).strip(" .。,，;；")
