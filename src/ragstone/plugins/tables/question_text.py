"""The words of a question about a table, and the numbers, months and dates among them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from ragstone.language.quantities import quantities
from ragstone.language.words import STOPWORDS, stem

MAX_WORDS = 60
MAX_SPAN, MAX_NUMBER_SPAN = 3, 4
"""Words of a phrase that is compared with names and cells, and of a number."""

FIRST_YEAR, LAST_YEAR = 1000, 2100
MAX_DAY = 31
MAX_GAP_WORDS = 2
"""Words between a month and its day or year."""

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"\d+(?:[.,'’]\d{{3}})*(?:[.,]\d+)?(?![^\W\d_{_CJK}])|[{_CJK}]|[^\W_{_CJK}]+")
_UNSPACED = re.compile(rf"[{_CJK}]")

Places = frozenset[int]
"""Numbers of words of a question."""


@dataclass(frozen=True, slots=True)
class NumberWord:
    """A number of a question, the words that say it, and where these begin."""

    places: Places
    start: int
    value: Decimal

    @property
    def is_year(self) -> bool:
        return FIRST_YEAR <= self.value <= LAST_YEAR and self.value == int(self.value)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Some words of a question that follow each other."""

    start: int
    end: int
    text: str

    @property
    def places(self) -> Places:
        return frozenset(range(self.start, self.end))


@dataclass(frozen=True, slots=True)
class QuestionText:
    """A question's words, plain and as they are compared, its phrases, and what it states."""

    text: str
    words: tuple[str, ...]
    norms: tuple[str, ...]
    phrases: tuple[Phrase, ...]
    numbers: tuple[NumberWord, ...]
    months: tuple[tuple[int, int], ...]
    dates: tuple[tuple[date, Places], ...]

    @property
    def content(self) -> Places:
        """Where words stand that are no function words."""
        return frozenset(n for n, word in enumerate(self.words) if word not in STOPWORDS)


def split_words(text: str) -> list[str]:
    """The words of a text in lower case; each sign of Chinese, Japanese and Korean is a word."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _TOKEN.findall(plain.replace("n't", " not").replace("'s", ""))


@cache
def normalize_word(word: str) -> str:
    """Return a word as words are compared: without accents and endings."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if plain.isascii() and plain.isalpha():
        return stem(plain[:-1] if len(plain) >= 6 and plain.endswith("en") else plain)
    return plain


def read_question_text(text: str) -> QuestionText:
    """Read the words of a question, at most the first MAX_WORDS."""
    words = split_words(text)[:MAX_WORDS]
    phrases = tuple(
        Phrase(start, end, _join(words[start:end]))
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + MAX_SPAN) + 1)
    )
    numbers = _find_numbers(text, words)
    months = tuple(_find_months(words))
    return QuestionText(
        text,
        tuple(words),
        tuple(map(normalize_word, words)),
        phrases,
        tuple(numbers),
        months,
        tuple(_find_dates(words, numbers, months)),
    )


def _join(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        unspaced = not text or _UNSPACED.match(word) or _UNSPACED.match(text[-1])
        text += word if unspaced else f" {word}"
    return text


def _find_numbers(text: str, words: Sequence[str]) -> list[NumberWord]:
    """Return the numbers, each with the words that it takes: "two million" is one."""
    # "60,000" is 60 in some languages: the whole question tells which one it is in.
    stated = {value for quantity in quantities(text) for value in quantity.values}

    def read(span: Sequence[str]) -> list[frozenset[float]]:
        found = quantities(_join(span))
        if any(quantity.unit == "month" for quantity in found):
            return []
        return [values for quantity in found if (values := quantity.values & stated)]

    found: list[NumberWord] = []
    for length in range(MAX_NUMBER_SPAN, 0, -1):
        for start in range(len(words) - length + 1):
            places = frozenset(range(start, start + length))
            span = words[start : start + length]
            values = read(span)
            if len(values) != 1 or any(places & item.places for item in found):
                continue
            ends = ((span[:1], span[1:]), (span[-1:], span[:-1]))
            if all(read(end) or read(rest) != values for end, rest in ends):
                found.append(NumberWord(places, start, Decimal(str(min(values[0])))))
    return sorted(found, key=lambda number: number.start)


def _find_months(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the months that are named, each with the place of its word. Some names are other words
    too, unless a number stands beside them."""
    for place, word in enumerate(words):
        if word[0].isdigit():
            continue
        before, behind = words[max(place - 1, 0) : place], words[place + 1 : place + 2]
        around = [[word]] + [
            text
            for beside, text in ((before, [*before, word]), (behind, [word, *behind]))
            if beside and beside[0][0].isdigit()
        ]
        months = [q for text in around for q in quantities(_join(text)) if q.unit == "month"]
        if months:
            yield place, int(min(months[0].values))


def _find_dates(
    words: Sequence[str], numbers: Sequence[NumberWord], months: Sequence[tuple[int, int]]
) -> list[tuple[date, Places]]:
    """Return the dates that are a month with a day and a year near it."""
    found = []
    for place, month in months:
        near = [n for n in numbers if min(abs(p - place) for p in n.places) <= MAX_GAP_WORDS + 1]
        days = [
            number
            for number in near
            if 1 <= number.value <= MAX_DAY
            and number.value == int(number.value)
            and not (words[place] == "月" and place - 1 in number.places)
        ]
        years = [n for n in near if n.is_year]
        for day in days[:1]:
            for year in years[:1]:
                try:
                    stated = date(int(year.value), month, int(day.value))
                except ValueError:
                    continue
                found.append((stated, day.places | year.places | {place}))
    return found
