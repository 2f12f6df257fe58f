"""The names in a text: runs of capitalised words, in the languages that write capitals."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ragstone.language.words import word_lists

LONGEST_TEXT = 4000
"""Characters of a message that are looked at."""

LONGEST_SPAN = 6
"""Words of a name."""

_CAPITAL = f"[{''.join(chr(code) for code in range(0x530) if chr(code).isupper())}]"
_WORD = rf"(?:{_CAPITAL}[\w'’\-]*\w|{_CAPITAL}\b\.?|\d+(?=\s{_CAPITAL}))"
_LINK = r"(?:\s(?:of|of\sthe|de|del|de\sla|von|van|van\sder|der|den|da|du|di|bin|al|&)(?=\s))?"
_NUMBER = r"(?:\s\d{1,3}(?![\w%.,]))?"
_NAME = re.compile(rf"\b{_WORD}(?:{_LINK}\s{_WORD}){{0,{LONGEST_SPAN - 1}}}{_NUMBER}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(\n]\s*)$")
_SUBJECT = re.compile(
    r"\s(?:is|was|are|were|has|had|did|does|will|would|can|could|also|said|\w+ed)\b", re.IGNORECASE
)
"""After a word that opens a sentence: the word is a name, and the subject."""
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text."""

    text: str
    start: int


def names(text: str) -> list[Mention]:
    """Return the names of `text`, in order."""
    return list(_names(text[:LONGEST_TEXT]))


def _names(text: str) -> Iterator[Mention]:
    for match in _NAME.finditer(text):
        found, start = match.group(), match.start()
        opens = _SENTENCE_START.search(text[max(0, start - 5) : start]) is not None
        while found and _common(found.split()[0], opens):
            found = found.partition(" ")[2].lstrip()
            start, opens = match.end() - len(found), False
        if opens and " " not in found and not _SUBJECT.match(text, start + len(found)):
            continue
        found = _POSSESSIVE.sub("", found).rstrip(".")
        if len(found) > 1:
            yield Mention(found, start)


def _common(word: str, opens: bool) -> bool:
    """Whether a capitalised word is not a name: a function word, or one that opens a sentence."""
    bare = re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", word.casefold().rstrip(".'’"))
    return bare in _mention_words()["function"] or (opens and bare in _mention_words()["opening"])


@cache
def _mention_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in word_lists("understand", "mentions").items()}


def function_words() -> frozenset[str]:
    """Return words that are part of no name."""
    return _mention_words()["function"]
