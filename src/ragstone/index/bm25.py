"""BM25 as sparse vectors, made in this process for every index that stores vectors.

The document side holds the saturated term frequency, the query side ones; the index multiplies by
the inverse document frequency. So every index ranks words alike.

Edge's tokenizer makes words of letters, and of digits beside letters ("A377"), but none of digits
that stand alone ("377", "A-1777", "Article 12"). Those are found here, and stand in the vector
beside the words. They count as no words of a text's length: with them pages of tables became so
long that their words weighed too little.
"""

import re
import zlib
from collections import Counter

import qdrant_edge as edge

from ragstone.language.words import UNSPACED

STEMMED = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
"""Languages (ISO 639-1) that Edge has a Snowball stemmer for."""

AVERAGE_TOKENS = 100.0
"""Tokens in a chunk of the default size after stop words: BM25's length normalisation is
relative to this. Measured: 85 (scifact) to 120 (squad2_dev)."""


K1, B = 1.2, 0.75
"""The customary saturation and length normalisation."""

_LETTER = rf"[^\W\d_{UNSPACED}]"
_NUMBER = re.compile(rf"(?<!\d)(?<!{_LETTER})\d+(?:[.,]\d{{3}}(?!\d))*(?!\d|{_LETTER})")
"""A run of digits of which the tokenizer makes no word; thousands are one number."""


class Bm25Encoder:
    """Texts of one language as weights of their words; an unknown language is not stemmed."""

    def __init__(self, language: str) -> None:
        self._words = _tokenizer(language, K1, B)

    def document(self, text: str) -> edge.SparseVector:
        """Return the saturated frequency of each word and number of a text that is to be found."""
        weights = {number: c * (K1 + 1) / (c + K1) for number, c in numbers(text).items()}
        return _merge_vectors(self._words.embed_document(text), weights)

    def query(self, text: str) -> edge.SparseVector:
        """Return a weight of one for each word and number of a text to look for."""
        return _merge_vectors(self._words.embed_query(text), dict.fromkeys(numbers(text), 1.0))


def counter(language: str) -> edge.Bm25:
    """Return the words with how often they occur as weights, to be rounded.

    For an index that computes BM25 itself. A huge k1 leaves the frequency unsaturated: exact to
    0.01 % below 100,000 words.
    """
    return _tokenizer(language, k=1e9, b=0.0)


def numbers(text: str) -> Counter[int]:
    """Tell how often each number stands in `text` without letters beside it, by its index.

    Digits of every script are the same number.
    """
    found = (re.sub(r"\D", "", match) for match in _NUMBER.findall(text))
    return Counter(_index("".join(str(int(digit)) for digit in number)) for number in found)


def _index(number: str) -> int:
    """Return an index in the range that Edge hashes words into."""
    return zlib.crc32(number.encode()) & 0x7FFFFFFF


def _merge_vectors(words: edge.SparseVector, more: dict[int, float]) -> edge.SparseVector:
    """Return one vector of both; what a number shares with a word by chance is the word's."""
    if not more:
        return words
    # Words last: what a number shares with a word by chance is the word's.
    weights = more | dict(zip(words.indices, words.values, strict=True))
    indices = sorted(weights)
    return edge.SparseVector(indices=indices, values=[weights[i] for i in indices])


def _tokenizer(language: str, k: float, b: float) -> edge.Bm25:
    name = STEMMED.get(language)
    return edge.Bm25(
        edge.Bm25Config(
            k=k,
            b=b,
            avg_len=AVERAGE_TOKENS,
            tokenizer=edge.TokenizerType.Multilingual,
            language=name,
            stopwords=None if name else edge.StopwordsSet(languages=set(), custom=set()),
            stemmer=None if name else edge.DisabledStemmer(),
        )
    )
