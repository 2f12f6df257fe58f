"""English words for comparing questions: their plain form."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

_CONTRACTIONS = {
    "what's": "what is",
    "whats": "what is",
    "who's": "who is",
    "where's": "where is",
    "how's": "how is",
    "when's": "when is",
    "why's": "why is",
    "that's": "that is",
    "it's": "it is",
    "there's": "there is",
    "let's": "let us",
    "i'm": "i am",
    "im": "i am",
    "ive": "i have",
    "can't": "can not",
    "cannot": "can not",
    "cant": "can not",
    "won't": "will not",
    "wont": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "arent": "are not",
    "wasnt": "was not",
    "couldnt": "could not",
    "shouldnt": "should not",
    "wouldnt": "would not",
    "havent": "have not",
    "hasnt": "has not",
    "gonna": "going to",
    "wanna": "want to",
    "u": "you",
    "ur": "your",
    "r": "are",
    "pls": "please",
    "plz": "please",
}
_ENDINGS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'m": "am"}
_BRITISH = re.compile(r"(?<=[a-z]{3})is(e|ed|es|ing|ation|ations)$")

MIN_STEM_LETTERS = 4
"""Letters of a word that may have an ending."""


def expand_contraction(word: str) -> list[str]:
    """Return the words that a contraction (casefolded, with a straight apostrophe) stands for."""
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word].split()
    for ending, meaning in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return [word[: -len(ending)], meaning]
    if word.endswith("'s") and len(word) > 2:
        return [word[:-2], "'s"]
    return [word.replace("'", "")]


@cache
def forms(word: str) -> frozenset[str]:
    """What a dictionary may list `word` under; two words with one in common are forms of the same.

    Comparatives keep their endings: they are other words.
    """
    if word in _irregular():
        return frozenset((word, _irregular()[word]))
    if not word.isalpha() or not word.isascii() or len(word) < MIN_STEM_LETTERS:
        return frozenset((word,))
    american = _BRITISH.sub(r"iz\1", word)
    return frozenset((word, american, *_stems(word), *_stems(american)))


def _stems(word: str) -> Iterator[str]:
    if word.endswith(("ies", "ied")):
        yield word[:-3] + "y"
    elif word.endswith(("ing", "ed")):
        stem = word.removesuffix("ing").removesuffix("ed")
        if len(stem) >= MIN_STEM_LETTERS - 1 and set(stem) & set("aeiouy"):
            yield from (stem, stem + "e")
            if stem[-1] == stem[-2]:
                yield stem[:-1]
    elif word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield from (word[:-1], word[:-2])
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]


def is_participle(word: str) -> bool:
    """Tell whether "is" before this word says that it is done to somebody."""
    return word.endswith("ed") or _irregular().get(word, word) != word


def is_common_word(word: str) -> bool:
    """Tell whether it is a usual word that is written without a capital."""
    return bool(forms(word) & _words())


@cache
def _words() -> frozenset[str]:
    return frozenset(line[0] for line in _lines("english_words.txt")) | set(_irregular())


@cache
def _irregular() -> dict[str, str]:
    return {form: words[0] for words in _lines("english_irregular.txt") for form in words}


def _lines(name: str) -> Iterator[list[str]]:
    text = files("ragstone.language").joinpath(f"data/{name}").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line.split()
