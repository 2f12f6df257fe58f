"""BM25 as sparse vectors, made in this process for every index that stores vectors.

The document side holds the saturated term frequency, the query side ones; the index multiplies by
the inverse document frequency. So every index ranks words alike.
"""

import qdrant_edge as edge

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


def tokenizer(language: str) -> edge.Bm25:
    """BM25 weights (k1 1.2, b 0.75) for text of `language`; unknown ones are not stemmed."""
    return _tokenizer(language, k=1.2, b=0.75)


def counter(language: str) -> edge.Bm25:
    """The same words with how often they occur as weights, to be rounded.

    For an index that computes BM25 itself. A huge k1 leaves the frequency unsaturated: exact to
    0.01 % below 100,000 words.
    """
    return _tokenizer(language, k=1e9, b=0.0)


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
