"""Questions in other languages than English: their kind, and the words that carry something."""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[+\-*/=<>%$€£#@^&~|\\→]+")
_CHAR = re.compile(r"\d+(?:[.,]\d+)*|[a-zà-ÿ]+|[^\W_]|[+\-*/=<>%$€£#@^&~|\\→]+")


@dataclass(frozen=True, slots=True)
class _Language:
    """`light` words are dropped; `kinds` map the spellings of a question word to one; `same` are
    spellings of one word; `endings` are cut from words of at least `least` letters."""

    light: frozenset[str]
    kinds: tuple[tuple[str, str], ...]
    same: tuple[tuple[str, str], ...]
    function: frozenset[str]


def script(text: str) -> str:
    """How a text is read: zh, ja, ko, or the language whose frequent words it has most of; en if
    it has none and is in Latin letters, else `other`."""
    if _HANGUL.search(text):
        return "ko"
    if _KANA.search(text):
        return "ja"
    if _HAN.search(text):
        return "zh"
    words = set(_WORD.findall(text.casefold()))
    if not any(word.isascii() and word.isalpha() for word in words):
        return "other"
    counts = {name: len(words & one.function) for name, one in _languages().items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["en"] else "en"


def read(text: str, name: str) -> tuple[str, tuple[str, ...]]:
    """The question word in one spelling, and the words in order (characters of Chinese)."""
    language = _languages().get(name) or _Language(frozenset(), (), (), frozenset())
    plain = text.casefold()
    if name in ("zh", "ja"):
        return _characters(plain, language)
    kinds = dict(language.kinds)
    same = dict(language.same)
    words = [same.get(word, word) for word in _WORD.findall(plain)]
    if name == "ko":
        words = [part for word in words for part in _korean(word, kinds)]
    kept = [kinds.get(word, word) for word in words if word not in language.light]
    kind = next((word for word in kept if word.startswith("?")), "")
    return kind, tuple(word for word in kept if word)


def _characters(text: str, language: _Language) -> tuple[str, tuple[str, ...]]:
    for spelling, one in language.same:
        text = text.replace(spelling, one)
    kinds: list[str] = []
    for spelling, one in language.kinds:
        if spelling in text:
            kinds.append(one)
            text = text.replace(spelling, " ")
    for word in sorted(language.light, key=len, reverse=True):
        text = text.replace(word, " ")
    return "".join(sorted(kinds)), tuple(_CHAR.findall(text))


_POLITE = re.compile(
    r"(?:이?었나요|이었습니까|인가요|입니까|인지요?|이에요|이죠|이야|일까요?|예요|인가|이지|인지|야)$"
)
_DOES = re.compile(
    r"(?:하나요|합니까|하는가요?|하는지요?|한가요|할까요?|해요|하죠|하니|하지요?|해)$"
)
_DID = re.compile(r"(?:었나요|었습니까|었어요?|었는지요?|었죠|었지요?|었을까요?)$")
_ENDED = re.compile(r"(?:나요|습니까|는가요?|는지요?|을까요?|ㄹ까요?|어요|아요|죠|지요|니|냐)$")
_PARTICLE = re.compile(r"(?:은|는|이|가)$")
_OBJECT = re.compile(r"(?:을|를)$")


def _korean(word: str, kinds: dict[str, str]) -> list[str]:
    """A word without its politeness; subject and object keep a mark, since they are the roles."""
    if word in kinds or not _HANGUL.search(word):
        return [word]
    ended = _POLITE.sub("", word)
    if ended != word:
        return [ended] if ended else []
    for pattern, put in ((_DOES, "하"), (_DID, "었"), (_ENDED, "")):
        changed = pattern.sub(put, word)
        if changed != word and len(changed) > 1:
            return [changed]
    if len(word) > 1 and word.endswith("의"):
        return [word[:-1]]
    if len(word) > 1 and _OBJECT.search(word):
        return [f"{word[:-1]}<"]
    if len(word) > 1 and _PARTICLE.search(word):
        return [f"{word[:-1]}>"]
    return [word]


@cache
def _languages() -> dict[str, _Language]:
    text = (
        files("ragstone.language").joinpath("data/question_words.json").read_text(encoding="utf-8")
    )
    data: dict[str, Any] = json.loads(text)
    return {
        name: _Language(
            frozenset(one.get("light", "").split()),
            tuple((word, kind) for kind, said in one.get("kinds", {}).items() for word in said),
            tuple((word, kind) for kind, said in one.get("same", {}).items() for word in said),
            frozenset(one.get("function", "").split()),
        )
        for name, one in data.items()
    }
