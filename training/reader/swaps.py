"""Changes one thing in a statement so that it says something else in nearly the same words.

What comes in its place stands nearby: the names and numbers of the same passage, or the other word
of a pair such as "before" and "after". Thus words that are shared tell nothing.
"""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragstone.language.language import detect
from training.reader.example import Place

WORDS = Path(__file__).parent / "words.json"


@dataclass(frozen=True, slots=True)
class Changed:
    """A statement with another meaning, and the places of the new text in it."""

    text: str
    places: tuple[Place, ...]
    kind: str


NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\d])")
_CJK_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NAME = re.compile(
    r"(?<=[\w,;:)»”] )(?:[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω][\w'’-]+)"
    r"(?: (?:of |de |von |der |the )?[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω][\w'’-]+)*"
)
_CJK_NAME = re.compile(
    r"《[^》]{1,20}》|「[^」]{2,20}」|[ァ-ヴー]{3,}|[A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)*"
)
_CJK = re.compile(r"[぀-ヿ㐀-鿿]")

_NEGATED_EN = re.compile(
    r"\b(is|was|are|were|can|could|will|would|should|must|has|have|had|does|did|do)(?: not\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a language that another may stand for, and how they are found: `pairs` say the
    opposite or one thing else, `kinds` are units, months, colours, relatives and the like."""

    pairs: Mapping[str, Sequence[str]]
    pair: re.Pattern[str]
    kinds: Mapping[str, Sequence[str]]
    of_kind: re.Pattern[str]
    months: frozenset[str]


@cache
def _table() -> Mapping[str, Any]:
    """`words.json`; the first kind of each language are the months."""
    found: Mapping[str, Any] = json.loads(WORDS.read_text(encoding="utf-8"))
    return found


@cache
def _words(language: str) -> _Words:
    table = _table().get(language, {"pairs": [], "kinds": []})
    pairs: dict[str, list[str]] = {}
    for word, other in table["pairs"]:
        pairs.setdefault(word, []).append(other)
        pairs.setdefault(other, []).append(word)
    kinds: dict[str, list[str]] = {}
    for row in table["kinds"]:
        for word in row:
            kinds.setdefault(word, []).extend(other for other in row if other != word)
    apart = language not in ("zh", "ja")
    months = frozenset(table["kinds"][0] if apart and table["kinds"] else ())
    return _Words(pairs, _matcher(list(pairs), apart), kinds, _matcher(list(kinds), apart), months)


def _matcher(words: Sequence[str], apart: bool) -> re.Pattern[str]:
    """Any of `words`, the longest first, and with `apart` only as a whole word."""
    if not words:
        return re.compile(r"(?!)")
    text = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{text})(?!\w)" if apart else text)


def _language(text: str) -> str:
    if is_cjk(text):
        return "ja" if _KANA.search(text) else "zh"
    return detect(text) or "en"


def is_cjk(text: str) -> bool:
    return len(_CJK.findall(text)) * 4 > len(text)


class Swapper:
    """Makes changed statements; `chance` decides which."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def changed(
        self, text: str, near: str, names: Sequence[str] = (), kind: str | None = None
    ) -> Changed | None:
        """`text` with one thing changed to another; None if nothing in it can be. What replaces
        it is taken from `near`, the text around, or `names`. `kind` asks for one kind."""
        ways: dict[str, Callable[[str, str, Sequence[str]], Changed | None]] = {
            "number": self._number,
            "name": self._name,
            "roles": self._roles,
            "unit": self._of_set,
            "pair": self._pair,
            "negation": self._negation,
            "noun": self._noun,
        }
        order = [kind] if kind else self._order(list(ways))
        for name in order:
            found = ways[name](text, near, names)
            if found is not None and found.text.casefold() != text.casefold():
                return found
        return None

    def _order(self, kinds: list[str]) -> list[str]:
        """Return a random order in which names and roles come early more often."""
        weight = {"number": 1.3, "name": 2.0, "roles": 2.0, "unit": 1.0, "pair": 1.2}
        return sorted(kinds, key=lambda k: self._chance.random() ** (1 / weight.get(k, 0.7)))[::-1]

    def _put(self, text: str, start: int, end: int, new: str, kind: str) -> Changed:
        return Changed(text[:start] + new + text[end:], ((start, start + len(new)),), kind)

    def _number(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        pattern = _CJK_NUMBER if is_cjk(text) else NUMBER
        found = list(pattern.finditer(text))
        if not found:
            return None
        one = self._chance.choice(found)
        own = one.group()
        others = [n for n in pattern.findall(near) if n not in text and abs(len(n) - len(own)) <= 1]
        if others and self._chance.random() < 0.6:
            new = self._chance.choice(others)
        else:
            new = self._near_number(own)
        return self._put(text, *one.span(), new, "number") if new != own else None

    def _near_number(self, own: str) -> str:
        """Return another number of the same form: one digit changed, or two exchanged."""
        digits = [i for i, c in enumerate(own) if c.isdigit()]
        place = self._chance.choice(digits[-3:])
        least = 1 if place == digits[0] and len(digits) > 1 else 0
        choices = [d for d in range(least, 10) if str(d) != own[place]]
        return own[:place] + str(self._chance.choice(choices)) + own[place + 1 :]

    def _name(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        cjk = is_cjk(text)
        pattern = _CJK_NAME if cjk else NAME
        own = [(m.start(), m.end()) for m in pattern.finditer(text)]
        for name in names:
            if len(name) >= 2 and not name[0].isdigit() and name in text:
                own.append((text.index(name), text.index(name) + len(name)))
        if not own:
            return None
        start, end = self._chance.choice(own)
        old = text[start:end]
        others = [n for n in (*pattern.findall(near), *names) if _like(old, n) and n not in text]
        if not others:
            return None
        return self._put(text, start, end, self._chance.choice(others), "name")

    def _roles(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        """Return two names of the statement in each other's place."""
        pattern = _CJK_NAME if is_cjk(text) else NAME
        places = [m.span() for m in pattern.finditer(text)]
        for name in names:
            if len(name) >= 2 and not name[0].isdigit() and text.count(name) == 1:
                places.append((text.index(name), text.index(name) + len(name)))
        first_name = re.match(
            r"(?!(?:The|A|An|In|On|At|It|He|She|They|This|Der|Die|Das|El|La)\b)"
            r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*",
            text,
        )
        if first_name and not is_cjk(text):
            places.append(first_name.span())
        places = _apart(sorted(set(places)))
        pairs = [
            (a, b)
            for i, a in enumerate(places)
            for b in places[i + 1 :]
            if not _SAME_ROLE.fullmatch(text[a[1] : b[0]])
            and text[slice(*a)] != text[slice(*b)]
            and _like(text[slice(*a)], text[slice(*b)])
        ]
        if not pairs:
            return None
        (s1, e1), (s2, e2) = self._chance.choice(pairs)
        one, other = text[s1:e1], text[s2:e2]
        new = text[:s1] + other + text[e1:s2] + one + text[e2:]
        moved = len(other) - len(one)
        return Changed(new, ((s1, s1 + len(other)), (s2 + moved, s2 + moved + len(one))), "roles")

    def _noun(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        """Return the word behind an article or the like, for another one that stands so nearby."""
        places = list(_BEHIND.finditer(text))
        if not places:
            return None
        one = self._chance.choice(places)
        others = {
            m["word"]
            for m in _BEHIND.finditer(near)
            if m["before"].casefold() == one["before"].casefold()
            and m["word"][:5].casefold() not in text.casefold()
        }
        if not others:
            return None
        return self._put(text, *one.span("word"), self._chance.choice(sorted(others)), "noun")

    def _of_set(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        words = _words(_language(text))
        found = list(words.of_kind.finditer(text))
        if not found:
            return None
        one = self._chance.choice(found)
        word = one.group()
        kind = "date" if word in words.months else "unit"
        return self._put(text, *one.span(), self._chance.choice(words.kinds[word]), kind)

    def _pair(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        words = _words(_language(text))
        found = list(words.pair.finditer(text))
        if not found:
            return None
        one = self._chance.choice(found)
        return self._put(text, *one.span(), self._chance.choice(words.pairs[one.group()]), "pair")

    def _negation(self, text: str, near: str, names: Sequence[str]) -> Changed | None:
        language = _language(text)
        if language == "en":
            found = list(_NEGATED_EN.finditer(text))
            if not found:
                return None
            one = self._chance.choice(found)
            negated = one.group().casefold().endswith(" not")
            new = one.group(1) if negated else f"{one.group(1)} not"
            return self._put(text, *one.span(), new, "negation")
        words = _words(language)
        found = [
            m
            for m in words.pair.finditer(text)
            if _NEGATIVE.search(" ".join(words.pairs[m.group()]))
        ]
        if not found:
            return None
        one = self._chance.choice(found)
        new = next(w for w in words.pairs[one.group()] if _NEGATIVE.search(w))
        return self._put(text, *one.span(), new, "negation")


_SAME_ROLE = re.compile(
    r"\s*(?:,|and|or|und|oder|y|e|o|et|ou|и|или|ve|và|şi|și|και|en|&|、|，|和|与|與|及|と|や|·|-|/"
    r"|,? and|,? or)?\s*"
)
_BEHIND = re.compile(
    r"\b(?P<before>the|an?|of|for|each|its|their|de[rnms]|die|das|eine?[nrms]?|el|las?|los|una?"
    r"|une?|les?|des|du) (?P<word>[^\W\d_]{4,})\b",
    re.IGNORECASE,
)
_KANA = re.compile(r"[぀-ヿ]")
_NEGATIVE = re.compile(
    r"\bnicht\b|\bno |\bkein|n'est pas|ne peut pas|не |не\b|không|\bnu |δεν|नहीं|لا |لم "
    r"|不|没|沒|並非|并非"
    r"|ない|なかった|ません|ならな|らな"
)


def _apart(places: list[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def _like(one: str, other: str) -> bool:
    """Tell whether two names may stand for each other: neither holds the other, and both are alike
    in length and in having digits."""
    if one.casefold() in other.casefold() or other.casefold() in one.casefold():
        return False
    digits = [sum(c.isdigit() for c in text) * 2 > len(text) for text in (one, other)]
    return digits[0] == digits[1] and 1 / 4 <= len(one) / len(other) <= 4
