"""Dates and versions in the names and first lines of documents, in several languages.

`travel-policy-2025`, `Reisekosten 01.03.2025` and `手册（第3版）` are names with a date or a
version. What is left without them is common to all editions of a document.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from ragstone.language.words import STOPWORDS, is_paired, word_lists

Parts = tuple[int, ...]
"""Year, month and day as far as they are known, or the parts of a version."""

_YEAR = r"(?<![\d.,])(?P<year>(?:19|20)\d\d)"
_MONTH, _DAY = r"(?P<month>1[0-2]|0?[1-9])", r"(?P<day>3[01]|[12]\d|0?[1-9])"

_EDITION = (
    "vers?|versions?|versión|versione|versão|versie|wersja|версия|rev|revision|release|issue|"
    "edition|édition|edición|edizione|edição|editie|auflage|ausgabe|fassung|版本?|バージョン|버전"
)
_VERSIONS = (
    re.compile(r"第\s?(?P<version>\d{1,3})\s?[版号期]"),
    re.compile(
        rf"(?<![^\W\d_])(?:v|{_EDITION})[\s._-]{{0,2}}(?P<version>\d+(?:\.\d+)*)(?![\d.]*\d)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\d.])(?P<version>\d{{1,3}})(?:st|nd|rd|th|[.eªº]|ème)?[\s_-]?(?:ed|{_EDITION})"
        r"(?![^\W\d_])",
        re.IGNORECASE,
    ),
)
_DOTTED = (
    re.compile(r"^\W*(?P<version>\d+(?:\.\d+)+)\W*$"),
    re.compile(r"(?:(?<=[^\W\d_])|(?<=[^\W\d_][\s_-]))(?P<version>\d+(?:\.\d+)+)(?![.\d]*\d)"),
)
"""What is a version in a name, and may be any number in a text. At the beginning of a name it is
the number of a section."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class EditionName:
    """The words of a text that mean something without its dates and versions, and these."""

    key: str
    dates: tuple[Parts, ...] = ()
    versions: tuple[Parts, ...] = ()
    standing: int = 0
    """1 where it is called new, -1 where it is called old."""

    def names(self, key: str) -> bool:
        """Tell whether the key of another name is a part of this one."""
        return key in self.key if is_paired(key) else f" {key} " in f" {self.key} "


@lru_cache(4096)
def read_edition_name(text: str, is_name: bool = True) -> EditionName:
    """Read the dates and versions of a title or a file's name, or of a sentence (not `is_name`)."""
    dates: list[tuple[int, Parts]] = []
    versions: list[Parts] = []

    def cut_date(match: re.Match[str]) -> str:
        dates.append((match.start(), _period(match)))
        return " " * len(match.group())

    def cut_version(match: re.Match[str]) -> str:
        versions.append(version_parts(match["version"]))
        return " "

    for pattern in _dates():
        text = pattern.sub(cut_date, text)
    for pattern in (*_VERSIONS, *(_DOTTED if is_name else ())):
        text = pattern.sub(cut_version, text)
    kept, standing = [], 0
    for word in _words(text.casefold()):
        if is_name and word in edition_words("old"):
            standing = -1
        elif is_name and word in edition_words("new"):
            standing = standing or 1
        elif word not in STOPWORDS:
            kept.append(word)
    ordered = tuple(period for _, period in sorted(dates))
    return EditionName(" ".join(kept), ordered, tuple(versions), standing)


def version_parts(number: str) -> Parts:
    """Return the parts of a number such as 29.7; of a very long one the first."""
    return tuple(int(part[:18]) for part in number.split(".")[:6])


@cache
def edition_words(name: str) -> frozenset[str]:
    """Return one of the lists of `data/editions.txt`."""
    return frozenset(word_lists("language", "editions")[name])


def mentions_any(text: str, name: str) -> bool:
    """Tell whether a text says a word or phrase of one of these lists."""
    return _phrases(name).search(text.casefold()) is not None


def asks_what_was(question: str) -> bool:
    """Tell whether a question is about what was rather than what is."""
    return any(mentions_any(question, name) for name in ("previous", "first", "several", "struck"))


@cache
def _phrases(name: str) -> re.Pattern[str]:
    phrases = sorted(map(str.casefold, edition_words(name)), key=len, reverse=True)
    spaced, unspaced = (
        "|".join(re.escape(phrase) for phrase in phrases if is_paired(phrase) == joined)
        for joined in (False, True)
    )
    # A word of a script without spaces may stand inside another run.
    return re.compile(rf"\b(?:{spaced})\b|{unspaced}")


def _words(text: str) -> Iterator[str]:
    """Yield the words; those of the lists stand alone also in scripts without spaces."""
    for word in _WORD.findall(text):
        yield from _compile_unspaced_words().findall(word) if is_paired(word) else (word,)


@cache
def _compile_unspaced_words() -> re.Pattern[str]:
    listed = [word for name in ("old", "new") for word in edition_words(name) if is_paired(word)]
    marks = "|".join(sorted(listed, key=len, reverse=True))
    return re.compile(rf"{marks}|(?:(?!{marks}).)+")


@cache
def _dates() -> tuple[re.Pattern[str], ...]:
    """Patterns of dates, the longest first, so that each is cut before a part of it is found."""
    lists = word_lists("language", "quantities")
    named = "|".join(
        f"(?P<m{number}>{'|'.join(sorted(lists[f'month {number}'], key=len, reverse=True))})"
        for number in range(1, 13)
    )
    patterns = (
        rf"{_YEAR}(?P<sep>[-_./])\s?{_MONTH}(?P=sep)\s?{_DAY}(?!\d)",
        rf"{_YEAR}\s?[年년]\s?{_MONTH}\s?[月월](?:\s?{_DAY}\s?[日일])?",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)",
        rf"(?<!\d){_DAY}(?P<sep>[-_./])\s?{_MONTH}(?P=sep)\s?(?P<year>(?:19|20)\d\d)(?!\d)",
        rf"(?:(?<!\d){_DAY}(?:st|nd|rd|th|er|[.º])?[\s_-]?(?:of\s|de\s)?)?(?<![^\W\d_])(?:{named})\.?"
        rf"[\s_-]?(?:(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s)?(?:de\s|del\s)?{_YEAR}(?!\d)",
        rf"{_YEAR}[\s_-]?q(?P<quarter>[1-4])(?![^\W_])",
        rf"(?<![^\W_])q(?P<quarter>[1-4])[\s_-]?{_YEAR}(?!\d)",
        rf"{_YEAR}[-_]{_MONTH}(?![^\W_])",
        rf"{_YEAR}[-–/_](?:20)?\d\d(?![^\W_])",
        rf"(?:fy\s?)?{_YEAR}(?:年度?|년도?)?版?(?!\d|[.,]\d)",
    )
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _period(match: re.Match[str]) -> Parts:
    parts = match.groupdict()
    month = parts.get("month") or next(
        (str(number) for number in range(1, 13) if parts.get(f"m{number}")), ""
    )
    if quarter := parts.get("quarter"):
        month = str(3 * int(quarter) - 2)
    day = parts.get("day") or parts.get("day2") or ""
    known = [parts["year"], month, day]
    return tuple(int(part) for part in known[: known.index("") if "" in known else 3])
