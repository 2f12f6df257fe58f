"""What a text speaks of: names and noun phrases, found by capitals, articles and function words.

No parser: a span is a run of capitalised words, or of words between function words. That is right
often enough to know what a follow-up is about, in the languages that write capitals.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ragstone.language.word_lists import word_lists

LONGEST_TEXT = 4000
"""Characters of a message that are looked at."""

LONGEST_SPAN = 6
"""Words of a name or phrase."""

_CAPITAL = f"[{''.join(chr(code) for code in range(0x530) if chr(code).isupper())}]"
_WORD = rf"(?:{_CAPITAL}[\w'’\-]*\w|{_CAPITAL}\b\.?|\d+(?=\s{_CAPITAL}))"
_LINK = r"(?:\s(?:of|of\sthe|de|del|de\sla|von|van|van\sder|der|den|da|du|di|bin|al|&)(?=\s))?"
_NUMBER = r"(?:\s\d{1,3}(?![\w%.,]))?"
_NAME = re.compile(rf"\b{_WORD}(?:{_LINK}\s{_WORD}){{0,{LONGEST_SPAN - 1}}}{_NUMBER}")
_TOKEN = re.compile(r"[^\W_][\w'’\-+#]*|[?.!,;:()\"]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(\n]\s*)$")
_SUBJECT = re.compile(
    r"\s(?:is|was|are|were|has|had|did|does|will|would|can|could|also|said|\w+ed)\b", re.IGNORECASE
)
"""After a word that opens a sentence: the word is a name, and the subject."""
_POSSESSIVE = re.compile(r"['’]s?$")
_PARTICIPLE = re.compile(r"\w{2,}ed", re.IGNORECASE)
_DETERMINERS = frozenset(["the", "a", "an", "my", "your", "our", "this", "that", "these", "those"])
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they"])
_HELPERS = frozenset(["do", "does", "did", "can", "could", "will", "would", "should"])


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a text that speaks of something. `proper` says that it is a name."""

    text: str
    start: int
    proper: bool


def mentions(text: str) -> list[Mention]:
    """Names and noun phrases of `text` in order; a phrase that overlaps a name is left out."""
    text = text[:LONGEST_TEXT]
    found = list(_names(text))
    taken = [(one.start, one.start + len(one.text)) for one in found]
    for phrase in _phrases(text):
        end = phrase.start + len(phrase.text)
        if not any(a < end and phrase.start < b for a, b in taken):
            found.append(phrase)
    return sorted(found, key=lambda one: one.start)


def names(text: str) -> list[Mention]:
    """Only the names of `text`, in order."""
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
            yield Mention(found, start, True)


def _common(word: str, opens: bool) -> bool:
    """Whether a capitalised word is no name: a function word, or one that opens a sentence."""
    bare = re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", word.casefold().rstrip(".'’"))
    return bare in _mention_words()["function"] or (opens and bare in _mention_words()["opening"])


def _phrases(text: str) -> Iterator[Mention]:
    """Runs of words between function words, without the verb after `do` and a subject."""
    run: list[re.Match[str]] = []
    before = helper = ""
    subject = False
    for token in (*_TOKEN.finditer(text), None):
        word = token.group().casefold() if token else "."
        if (
            token
            and word[0].isalnum()
            and _POSSESSIVE.sub("", word) not in _mention_words()["function"]
        ):
            run.append(token)
            continue
        if run:
            kept = run[1:] if subject else run[:-1] if helper and len(run) > 1 else run
            yield from _phrase(text, kept, before in _DETERMINERS)
            run, helper = [], "" if kept != run else helper
        before, subject = word, bool(helper) and word in _SUBJECTS
        helper = word if word in _HELPERS else helper


def _phrase(text: str, run: list[re.Match[str]], determined: bool) -> Iterator[Mention]:
    verbs = _mention_words()["verbs"]
    while run and not determined and run[0].group().casefold() in verbs:
        run = run[1:]
    while run and (
        run[-1].group().casefold() in verbs or (run[1:] and _PARTICIPLE.fullmatch(run[-1].group()))
    ):
        run = run[:-1]
    if not run or len(run) > LONGEST_SPAN:
        return
    phrase = text[run[0].start() : run[-1].end()]
    if not re.fullmatch(r"[\d.,%\s]+", phrase):
        yield Mention(phrase, run[0].start(), False)


@cache
def _mention_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in word_lists("understand", "mentions").items()}


def function_words() -> frozenset[str]:
    """Words that are part of no name and no phrase."""
    return _mention_words()["function"]
