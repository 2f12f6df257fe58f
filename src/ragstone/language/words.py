"""The words of a text for comparing texts: casefolded, lightly stemmed, bigrams for CJK; and lists
of words that rules use, from plain text files beside the code that uses them."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

_MARKS = (
    r"\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0d7f"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1000-\u109f"
)
r"""Signs inside words that are no letters, so that \w does not match them: vowels and accents."""

_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*+(?:[.,][0-9]+)*+")
_SILENT = re.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+"
)
"""Vowel points of Hebrew and Arabic, which most texts leave out, and the line that stretches."""

LONG_RUN = 40
"""Letters and digits from which a run is not a word of a language: it is compared as it is."""

UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""A set of characters in a pattern: scripts whose words are compared by pairs of characters. They
are those without spaces, and Hangul, whose words carry their particles (rank correlation of overlap
with likeness on KLUE STS: .20, by whole words -.02)."""

_UNSPACED = re.compile(rf"[{UNSPACED}]+")

_FREQUENT = (
    "a an and are as at be been being but by can could did do does for from had has have he her "
    "his how i if in into is it its may might more most much many no not of on or our she "
    "should so some such than that the their them then there these they this those to too was "
    "we were what when where which while who whom whose why will with would you your about "
    "after also any der die das ein eine einer eines einem einen und oder ist sind war waren im "
    "in am an auf aus bei mit nach von vom zu zum zur den dem des wer was wann wo wie warum "
    "welche welcher welches le la les un une des du de et ou est sont était dans sur pour par "
    "avec au aux ce cette qui que quoi quand où comment pourquoi quel quelle quels quelles el "
    "los las una unos unas y o es son fue en por para con del al que qué quién cuándo dónde "
    "cómo cuál cuáles cuánto cuántos 什么 哪些 哪个 哪里 多少 怎么 "
    "怎样 如何 为什么 是谁 几个 的是 了多"
)

STOPWORDS = frozenset(_FREQUENT.split())


STEM, ENDING = 4, 2
"""A word of another form begins with the same letters but for its last ones."""


def words(text: str) -> list[str]:
    """Every word in order; Chinese, Japanese, Korean and Thai give their pairs of characters."""
    found: list[str] = []
    folded = text.casefold()
    if not folded.isascii():
        folded = _SILENT.sub("", unicodedata.normalize("NFC", folded))
    for word in _WORD.findall(folded):
        # Most words take the short way, which saves a call for each.
        found += _stem(word) if word.isascii() and len(word) < LONG_RUN else _split_scripts(word)
    return found


def content_words(text: str) -> list[str]:
    """Return the words that carry meaning; all of them if none does."""
    every = words(text)
    return [word for word in every if word not in STOPWORDS] or every


@lru_cache(1024)
def content_word_set(text: str) -> frozenset[str]:
    """Return the same, each once; kept, because several stages look at the same passages."""
    return frozenset(content_words(text))


def inverse_document_frequency(texts: int, holding: int) -> float:
    """The inverse document frequency of a word that so many of the texts hold, as BM25 has it."""
    return math.log(1 + (texts - holding + 0.5) / (holding + 0.5))


def similar_words(words: Iterable[str], text: str) -> set[str]:
    """Return the words that the text, in small letters, has in another form or inside a compound; a
    pair of Chinese characters or the like that it has apart."""
    found = set()
    for word in words:
        if len(word) >= STEM:
            if word[: max(STEM, len(word) - ENDING)] in text:
                found.add(word)
        elif len(word) == 2 and word[0] > "\u2e7f" and word[0] in text and word[1] in text:
            found.add(word)
    return found


def stem(word: str) -> str:
    """Return the stem of one casefolded word of a script with spaces."""
    return (_stem(word) or (word,))[0]


def is_paired(word: str) -> bool:
    """Tell whether a word of this script is compared by pairs of characters."""
    return _UNSPACED.search(word) is not None


def is_mostly_paired(text: str) -> bool:
    """Tell whether most letters of a text are of such a script."""
    letters = sum(character.isalpha() for character in text)
    return 2 * sum(map(is_paired, text)) > letters


def _split_scripts(word: str) -> Sequence[str]:
    if word.isascii():
        return (word,)
    parts: list[str] = []
    position = 0
    for match in _UNSPACED.finditer(word):
        parts += _stem(word[position : match.start()])
        run = match.group()
        parts += [a + b for a, b in pairwise(run)] or [run]
        position = match.end()
    return [*parts, *_stem(word[position:])]


@lru_cache(20_000)
def _stem(word: str) -> tuple[str, ...]:
    """Return the stem, or nothing for an empty word; cached, because most words recur."""
    if not word:
        return ()
    if word in STOPWORDS or not word.isascii() or not word.isalpha():
        return (word,)
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4), ("e", 5)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            # "running" is "run", but "falling" is "fall".
            stem = word[: -len(ending)] + ("y" if ending == "ies" else "")
            return (stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] != "l" else stem,)
    return (word,)


@cache
def word_lists(room: str, file: str) -> dict[str, tuple[str, ...]]:
    """Read the lists of `<room>/data/<file>.txt`: `name: word word`; lines of one name add up.

    A line that begins with # is a remark; an underscore in a word stands for a space.
    """
    found: dict[str, tuple[str, ...]] = {}
    text = files(f"ragstone.{room}").joinpath(f"data/{file}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, _, listed = line.partition(":")
        if listed and not line.startswith("#"):
            words = tuple(word.replace("_", " ") for word in listed.split())
            found[name.strip()] = (*found.get(name.strip(), ()), *words)
    return found
