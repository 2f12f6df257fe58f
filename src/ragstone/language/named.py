"""What a text names: its words, numbers with the name that they belong to, and years.

It is read from titles, paths and questions alike, so that `jest-29.7/CLI.md`, "Jest 29" and
"GPLv3" fall into the same names. Nothing in it knows a product, a company or a language.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ragstone.language.words import STOPWORDS, words

_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z][^\W\d_A-Z])|(?<=[^\W\d_]{2})(?=[vV]\d)")
"""Where UpgradingToJest and GPLv3 are taken apart."""

_TOKEN = re.compile(
    r"(?P<year>(?<![\d.])(?:19|20)\d\d(?!\d|\.\d))"
    r"|(?P<code>(?<![^\W\d_])(?!v\d)[a-z]\d+(?![^\W_])|(?<![\d.])\d+[a-z]{1,3}(?![^\W\d_]))"
    r"|(?P<number>\d+(?:\.\d+)*)"
    r"|(?P<word>[^\W\d_]+)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\s\-_.#:]{0,3}")
_AND = re.compile(r"[\s,/&+]{1,3}")
_NUMBERING = (
    "v ver vers version versions versión versione versão versie wersja версия rev release model "
    "modell modèle modelo modello typ type no nr núm 版 版本 第 型 型号 バージョン 버전"
)
_VERSION = frozenset(_NUMBERING.split())
"""Words between a name and its number that are neither."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A number and the word that it belongs to, empty for a version alone: Tern 300, v29.7."""

    name: str
    number: str

    def same(self, other: "Numbered") -> bool:
        """Tell whether both may mean the same thing: 29 is 29.7, and 29.7 is of 29."""
        # 29 is a version of 29.7, but 2 is none of 29.
        return self.alike(other) and all(
            a == b for a, b in zip(self.number.split("."), other.number.split("."), strict=False)
        )

    def alike(self, other: "Numbered") -> bool:
        """Tell whether both number the same thing."""
        return not self.name or not other.name or self.name == other.name


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names. `words` are those that carry meaning, as `language.words` compares them,
    and codes; `written` are those of them that have a capital inside the text, none where most
    words have number."""

    words: tuple[str, ...]
    numbered: frozenset[Numbered]
    years: frozenset[str]
    written: frozenset[str]


@lru_cache(2048)
def find_names(text: str) -> Named:
    """What `text` names; kept, since every chunk of a document has the same title and path."""
    apart = _CAMEL.sub(" ", unicodedata.normalize("NFC", text))
    reader = _Reader(apart)
    for match in _TOKEN.finditer(apart):
        reader.read(match)
    return reader.find_names()


class _Reader:
    """Reads tokens in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[str] = []
        self._numbered: set[Numbered] = set()
        self._years: set[str] = set()
        self._written: set[str] = set()
        self._capitals = self._inside = 0
        self._before: re.Match[str] | None = None
        self._name = ""
        """The word that a number which follows would belong to."""
        self._alone = ""
        """A number behind "the", which stands for a name if no name follows: "of the 300?"."""

    def read(self, match: re.Match[str]) -> None:
        before = self._before
        between = self._text[before.end() : match.start()] if before else ""
        joined = before is not None and _JOINT.fullmatch(between) is not None
        if match.lastgroup == "number":
            self._number(match["number"], joined, between)
        elif match.lastgroup == "word":
            self._word(match["word"], joined, between)
        else:
            self._name = ""
            if match["year"]:
                self._years.add(match["year"])
            else:
                self._words.append(match["code"].casefold())
        self._before = match

    def find_names(self) -> Named:
        self._settle_alone()
        few = 2 * self._capitals <= self._inside
        return Named(
            tuple(self._words),
            frozenset(self._numbered),
            frozenset(self._years),
            frozenset(self._written) if few else frozenset(),
        )

    def _word(self, word: str, joined: bool, between: str) -> None:
        own = [item for item in words(word) if item not in STOPWORDS]
        if not own or not joined:
            self._settle_alone()
        self._alone = ""
        first = self._before is None
        self._inside += not first
        if own and (word[0].isupper() if not first else len(word) > 1 and word.isupper()):
            self._written.update(own)
            self._capitals += not first
        if word.casefold() in _VERSION:
            self._name = self._name if joined else ""
            return
        self._words += own
        if own:
            self._name = own[-1]
        elif not self._follows("number"):
            self._name = ""

    def _number(self, number: str, joined: bool, between: str) -> None:
        follows = joined or (self._follows("number") and _AND.fullmatch(between) is not None)
        name = self._name if follows else ""
        version = self._before is not None and (self._before["word"] or "").casefold() in _VERSION
        if name or "." in number or version:
            self._numbered.add(Numbered(name, number))
        elif joined and self._before is not None and self._before["word"]:
            self._alone = number
        self._name = name

    def _settle_alone(self) -> None:
        if self._alone:
            self._numbered.add(Numbered("", self._alone))

    def _follows(self, kind: str) -> bool:
        return self._before is not None and self._before.lastgroup == kind
