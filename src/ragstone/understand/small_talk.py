"""Small talk by rules: an utterance that is nothing but greetings, thanks and the like.

The phrases and replies of each language are `data/small_talk/<language>.json`. The whole
utterance must consist of them ("hi there, how are you?"): a phrase inside a question
("hello world program: how do I compile it?") says nothing.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ragstone.core.intent import SMALL_TALK_KINDS, SmallTalkKind

FALLBACK = "en"
"""The language of replies where there are none in the question's."""

MAX_CHARS = 100
"""Longer utterances are more than small talk."""

_PREFERRED = ("en", "de", "es", "fr", "zh", "ja", "ko", "ru")
"""Where a phrase is in several languages ("hi"), the first of these."""

_CLAUSE = re.compile(r"[.,!?;:…、。，！？；：\n]+")
_CLOSING = re.compile(r"[.,!?;:…、。，！？；：\s]+$")
_NO_WORD = re.compile(r"[^\w']+|_+")
_APOSTROPHES = str.maketrans("’‘`´", "''''")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


YOU = re.compile(r"\b(?:you|your|yours|yourself|you're|u|ya)\b", re.IGNORECASE)
ME = re.compile(r"\b(?:i|me|my|mine|i'm|i've|i'd|i'll|we|us|our|let's)\b", re.IGNORECASE)
_SOCIAL = re.compile(
    r"\b(?:thanks?|thx|appreciate|bye|goodbye|hello|hi|hey|chat|talk|conversation|jokes?|funny|"
    r"laugh|nice|great|good|ok|okay|everything|hobbies|pets?|humans?|robots?|bots?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """What kind of small talk it is, and the language that it is in."""

    kind: SmallTalkKind
    language: str


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Every phrase with its kind in each language (None for mere filling words), by its first
    character, longest first; the replies; and the phrases that may go on in any way, written with
    three dots ("tell me a joke about…")."""

    by_first: Mapping[str, list[str]]
    kinds: Mapping[str, Mapping[str, SmallTalkKind | None]]
    replies: Mapping[str, Mapping[str, str]]
    open: frozenset[str]


@dataclass(slots=True)
class _Reading:
    """One way to read the beginning of an utterance."""

    kind: SmallTalkKind | None = None
    languages: tuple[str, ...] = _PREFERRED
    told: bool = field(default=False)


def match_small_talk(text: str) -> SmallTalk | None:
    """Return what small talk the whole of `text` is, None if it is anything else."""
    if len(text) > MAX_CHARS:
        return None
    plain = _normalize(text)
    return _parse(plain) if plain else None


def without_opening(text: str) -> str:
    """`text` without the small talk that it begins with ("Hi! Where is ...?" is a question).

    Only whole clauses are left out; "" if nothing else is there.
    """
    start = 0
    for mark in _CLAUSE.finditer(text[: 4 * MAX_CHARS]):
        if match_small_talk(text[start : mark.start()]) is None:
            return text[start:]
        start = mark.end()
        while start < len(text) and text[start].isspace():
            start += 1
    rest = text[start:]
    return "" if match_small_talk(_CLOSING.sub("", rest)) else rest


def possible(text: str) -> bool:
    """Tell whether an English text may be small talk in words that no rule knows: it is short, and
    says you, I or something sociable.

    2% of the small talk in CLINC150 (train) is lost by this; 2% of the questions in SQuAD 2.0
    pass.
    """
    social = YOU.search(text) or ME.search(text) or _SOCIAL.search(text)
    return len(text) <= MAX_CHARS and social is not None


def reply(kind: SmallTalkKind, language: str) -> str:
    """Return the reply to small talk of this kind, in `language` if there is one."""
    replies = _phrases().replies
    return replies.get(language, replies[FALLBACK])[kind]


def _normalize(text: str) -> str:
    """Casefold, without marks, signs and pictures."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    return " ".join(_NO_WORD.sub(" ", folded).split())


def _parse(plain: str) -> SmallTalk | None:
    """Return phrases that fill `plain` from end to end.

    Every place that phrases can reach is visited once: the time is bounded however the phrases
    overlap.
    """
    phrases = _phrases()
    readings: dict[int, _Reading] = {0: _Reading()}
    for start in range(len(plain)):
        if start not in readings:
            continue
        for phrase in _match_phrases(phrases, plain, start):
            end = start + len(phrase)
            end = len(plain) if phrase in phrases.open else end + (plain[end : end + 1] == " ")
            longer = _extend_reading(readings[start], phrases.kinds[phrase])
            if end not in readings or (longer.told and not readings[end].told):
                readings[end] = longer
    whole = readings.get(len(plain))
    if whole is None or whole.kind is None:
        return None
    return SmallTalk(whole.kind, whole.languages[0])


def _match_phrases(phrases: _Phrases, plain: str, start: int) -> Iterator[str]:
    """Yield the phrases that stand at `start` as whole words, longest first."""
    for phrase in phrases.by_first.get(plain[start], ()):
        end = start + len(phrase)
        if plain.startswith(phrase, start) and _ends_word(plain, end):
            yield phrase


def _ends_word(plain: str, end: int) -> bool:
    if end >= len(plain) or plain[end] == " ":
        return True
    return bool(_UNSPACED.match(plain[end - 1]))


def _extend_reading(before: _Reading, kinds: Mapping[str, SmallTalkKind | None]) -> _Reading:
    """The reading with one phrase more: languages that all phrases share, the most telling kind."""
    shared = tuple(item for item in before.languages if item in kinds) or before.languages
    language = next((item for item in shared if item in kinds), next(iter(kinds)))
    kind = kinds[language]
    if kind is None:
        return _Reading(before.kind, shared if before.kind else before.languages, before.told)
    if before.kind and SMALL_TALK_KINDS.index(before.kind) > SMALL_TALK_KINDS.index(kind):
        kind = before.kind
    return _Reading(kind, shared, True)


@cache
def _phrases() -> _Phrases:
    kinds: dict[str, dict[str, SmallTalkKind | None]] = defaultdict(dict)
    replies = {}
    endless = set()
    for language in _PREFERRED:
        file = files("ragstone.understand").joinpath(f"data/small_talk/{language}.json")
        data = json.loads(file.read_text(encoding="utf-8"))
        replies[language] = data["replies"]
        for phrase in data["fillers"]:
            kinds[_normalize(phrase)][language] = None
        for kind in SMALL_TALK_KINDS:
            endless |= {_normalize(phrase) for phrase in data[kind] if phrase.endswith("…")}
            for phrase in map(_normalize, data[kind]):
                kinds[phrase][language] = kinds[phrase.replace("'", "")][language] = kind
    by_first: dict[str, list[str]] = defaultdict(list)
    for phrase in sorted(kinds, key=len, reverse=True):
        by_first[phrase[0]].append(phrase)
    return _Phrases(dict(by_first), dict(kinds), replies, frozenset(endless))
