"""Finding the phrases of a list in a text, as words and not as letters, in any script.

English plurals and possessives, spaces in Korean and Chinese, Korean particles, full-width
letters, accents and invisible characters make no difference. A Korean phrase must begin a word or
end one, so that 임원 (executive) is not found in 책임원칙 (principle of responsibility).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice

MAX_UNITS = 12
"""A phrase of more words, or more Chinese characters, is found by its first ones."""

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_HANGUL = r"\uac00-\ud7af"
_UNIT = re.compile(
    rf"(?P<hangul>[{_HANGUL}]+)|(?P<han>[{_HAN}])|(?P<owner>(?<=\w)'s?(?!\w))"
    rf"|(?P<word>(?:(?![{_HAN}{_HANGUL}])[^\W_])+(?:&(?:(?![{_HAN}{_HANGUL}])[^\W_])+)*)"
)
_SOLID = re.compile(f"[{_HAN}{_HANGUL}]")
_SPELT_OUT = re.compile(r"(?<![^\W_])(?:[a-z][ .*_-]){3,}[a-z](?![^\W_])")
_BETWEEN_LETTERS = re.compile(r"[ .*_-]")
_LINKS = frozenset("的之の")
"""Chinese and Japanese particles of possession, which a phrase may leave out."""

_PARTICLES = (
    "은 는 이 가 을 를 의 에 와 과 도 만 로 으로 에서 에게 께 께서 에는 에도 까지 부터 보다 마다 "
    "처럼 이나 나 랑 이랑 하고 한테 이란 란 이라는 라는 이라고 라고 이며 이고 인 인가 인가요 인지 "
    "이야 야 이에요 예요 이죠 죠 입니다 님 님이 님은 님의 님을 들 들은 들이 들의 들을 들에게 의 별 "
    "이었나요 였나요 이었어 였어"
)
PARTICLES = tuple(sorted(set(_PARTICLES.split()), key=len, reverse=True))

_OTHER_WORD = ("적",)
"""What makes another word of a Korean one: 대표적 (typical) is no 대표 (chief)."""


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A phrase of the list: its key there, and its place in the normal form of the text."""

    phrase: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Unit:
    kind: str
    text: str
    start: int
    end: int
    hyphen: bool
    linked: bool


def normalize(text: str) -> str:
    """Lower case in one spelling: compatibility forms, accents and invisible characters gone."""
    composed = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if composed.isascii():
        return _SPELT_OUT.sub(_join_letters, composed)
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", composed):
        category = unicodedata.category(char)
        if category in ("Cf", "Cs", "Co", "Cn"):
            continue
        if category == "Mn" and kept and "a" <= kept[-1] <= "z":
            continue
        kept.append(char)
    return _SPELT_OUT.sub(_join_letters, unicodedata.normalize("NFC", "".join(kept)))


def key(phrase: str) -> str:
    """Return what two spellings of a phrase have in common; empty for a phrase without a word."""
    return _key(_distinctive_units(_units(normalize(phrase))))


class Phrases:
    """A list of phrases to look for; made in time linear in their number."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._keys: dict[str, list[str]] = {}
        self._heads: set[str] = set()
        for phrase in phrases:
            for form in {_lookup_key(phrase), _lookup_key(phrase.replace("-", ""))} - {""}:
                self._keys.setdefault(form, []).append(phrase)
                self._heads.add(_head(form))
        self._longest = max(map(len, self._keys), default=0)

    def find(self, text: str) -> list[PhraseMatch]:
        """Every phrase in `text`, which is a normal form, in the order of where it begins."""
        units = _units(text)
        found: dict[PhraseMatch, None] = {}
        for first, unit in enumerate(units):
            if self._may_begin(unit):
                for form, start, end in self._candidates(units, first):
                    for phrase in self._keys.get(form, ()):
                        if _stands_alone(form, text, start, end):
                            found[PhraseMatch(phrase, start, end)] = None
        return list(found)

    def _may_begin(self, unit: _Unit) -> bool:
        if unit.kind == "word":
            return unit.linked or _singular(unit) in self._heads
        return unit.kind != "owner" and not self._heads.isdisjoint(unit.text)

    def _candidates(self, units: list[_Unit], first: int) -> Iterator[tuple[str, int, int]]:
        """Forms that begin in the unit `first`, with their places."""
        begun: dict[str, int] | None = None
        for unit in islice(_distinctive_units(units[first : first + 2 * MAX_UNITS]), MAX_UNITS):
            for form, start, end in _ends(unit, begun is None):
                for joined, at in _extend(begun, form, start, unit.hyphen):
                    yield joined, at, end
            grown: dict[str, int] = {}
            for form, start in _continuations(unit, begun is None):
                for joined, at in _extend(begun, form, start, unit.hyphen):
                    if len(joined) < self._longest:
                        grown.setdefault(joined, at)
            if not grown:
                return
            begun = grown


def _distinctive_units(units: Iterable[_Unit]) -> Iterator[_Unit]:
    """Yield the units that tell a phrase from another one."""
    begun = False
    for unit in units:
        if unit.kind != "owner" and not (begun and unit.text in _LINKS):
            begun = True
            yield unit


def _lookup_key(phrase: str) -> str:
    """Return the key by which a phrase is found: its first units."""
    return _key(islice(_distinctive_units(_units(normalize(phrase))), MAX_UNITS))


def _key(units: Iterable[_Unit]) -> str:
    return reduce(_join, map(_singular, units), "")


def strip_particles(word: str) -> list[str]:
    """Return a Korean word, and its forms without each particle that it may end with."""
    forms = [word]
    for particle in PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            forms.append(word[: -len(particle)])
    return forms


def _units(text: str) -> list[_Unit]:
    found: list[_Unit] = []
    for match in _UNIT.finditer(text):
        start = match.start()
        hyphen = start > 0 and text[start - 1] == "-"
        linked = text[match.end() : match.end() + 1] == "-"
        found.append(_Unit(str(match.lastgroup), match.group(), start, match.end(), hyphen, linked))
    return found


def _singular(unit: _Unit) -> str:
    word = unit.text
    if unit.kind != "word" or not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _ends(unit: _Unit, first: bool) -> Iterator[tuple[str, int, int]]:
    """Tell how a phrase may end in this unit: the form, and from where to where it goes."""
    if unit.kind != "hangul":
        yield _singular(unit), unit.start, unit.end
        return
    word = unit.text
    for end in range(1, len(word) + 1):
        rest = word[end:]
        if rest.startswith(_OTHER_WORD) or (end == 1 and rest and rest not in PARTICLES):
            continue
        yield word[:end], unit.start, unit.start + end
    if first:
        tails = {len(form) for form in strip_particles(word)}
        for start in range(1, len(word) - 1):
            for end in range(start + 2, len(word) + 1):
                if end in tails or end - start > 2 or (start > 1 and len(word) - end > 1):
                    yield word[start:end], unit.start + start, unit.start + end


def _continuations(unit: _Unit, first: bool) -> Iterator[tuple[str, int]]:
    """Tell how a phrase may go on over this unit: the form and where it begins."""
    if unit.kind != "hangul":
        yield _singular(unit), unit.start
        return
    for form in strip_particles(unit.text):
        yield form, unit.start
        if first:
            for start in range(1, len(form) - 1):
                yield form[start:], unit.start + start


def _extend(
    begun: dict[str, int] | None, form: str, start: int, hyphen: bool
) -> Iterator[tuple[str, int]]:
    """The begun keys extended by `form`, and their starts; after a hyphen also as one word."""
    if begun is None:
        yield form, start
        return
    for before, at in begun.items():
        yield _join(before, form), at
        if hyphen:
            yield before + form, at


def _join(begun: str, form: str) -> str:
    if begun and form and _is_spaced_script(begun[-1]) and _is_spaced_script(form[0]):
        return f"{begun} {form}"
    return begun + form


def _is_spaced_script(char: str) -> bool:
    """Whether words of this character's script have spaces between them, here or in English."""
    return not _SOLID.match(char)


def _head(form: str) -> str:
    """Return what a form begins with: a word, or the first character of Chinese or Korean."""
    first = _UNIT.match(form)
    return first.group() if first and first.lastgroup == "word" else form[0]


def _stands_alone(form: str, text: str, start: int, end: int) -> bool:
    """Tell whether a single Chinese character is a word here; longer forms always are."""
    if len(form) > 1:
        return True
    around = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not re.search(f"[{_HAN}]", around)


def _join_letters(match: re.Match[str]) -> str:
    return _BETWEEN_LETTERS.sub("", match.group())


def mask_spans(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    """`text` with `mark` for each span; spans that overlap are one."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], mark]
        at = max(at, end)
    return "".join((*parts, text[at:]))
