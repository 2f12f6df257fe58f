"""What a text speaks of: names and noun phrases, found by capitals, articles and function words.

No parser: a span is a run of capitalised words, or of words between function words. That is right
often enough to know what a follow-up is about, in the languages that write capitals.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragstone.language.word_lists import word_lists

Kind = Literal["man", "woman", "person", "many", "thing", "name"]
"""What a mention may be: `person` of unknown sex, `many` a plural or a group, `thing` no person,
`name` a name that may be anybody's or anything's."""

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
_PLACED = re.compile(r"\b(?:in|at|near|into|on)\s(?:the\s)?$", re.IGNORECASE)
"""Before a name: it is a place rather than a person."""
_POSSESSIVE = re.compile(r"['’]s?$")
_DETERMINERS = frozenset(["the", "a", "an", "my", "your", "our", "this", "that", "these", "those"])
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they"])
_HELPERS = frozenset(["do", "does", "did", "can", "could", "will", "would", "should"])


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a text that speaks of something. `proper` says that it is a name."""

    text: str
    start: int
    kind: Kind
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


def speaks_of_somebody(text: str) -> bool:
    """Whether a text has a word for a person, such as `tenant` or `mother`."""
    known = _mention_words()
    nouns = known["person_nouns"] | known["man_nouns"] | known["woman_nouns"]
    return any(match.group().casefold() in nouns for match in _TOKEN.finditer(text[:LONGEST_TEXT]))


def kind_of_name(name: str) -> Kind:
    """What a name by itself says of its bearer."""
    words = [word.casefold().strip(".,'’") for word in name.split()] or [""]
    known = _mention_words()
    if words[-1] in known["group"] or "&" in words:
        return "many"
    if words[-1] in known["things"] or any(word.isdigit() for word in words):
        return "thing"
    if words[0] in known["man"] and "of" not in words:
        return "man"
    if words[0] in known["woman"] and "of" not in words:
        return "woman"
    return "thing" if name.isupper() and len(words) == 1 else "name"


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
            kind = kind_of_name(found)
            placed = kind == "name" and _PLACED.search(text[max(0, start - 12) : start])
            yield Mention(found, start, "thing" if placed else kind, True)


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
            run, helper = [], ""
        before, subject = word, bool(helper) and word in _SUBJECTS
        helper = word if word in _HELPERS else helper


def _phrase(text: str, run: list[re.Match[str]], determined: bool) -> Iterator[Mention]:
    verbs = _mention_words()["verbs"]
    while run and not determined and run[0].group().casefold() in verbs:
        run = run[1:]
    while run and run[-1].group().casefold() in verbs:
        run = run[:-1]
    if not run or len(run) > LONGEST_SPAN:
        return
    phrase = text[run[0].start() : run[-1].end()]
    if not re.fullmatch(r"[\d.,%\s]+", phrase):
        yield Mention(phrase, run[0].start(), _kind_of_phrase(phrase), False)


def _kind_of_phrase(phrase: str) -> Kind:
    last = _POSSESSIVE.sub("", phrase.split()[-1].casefold())
    known = _mention_words()
    if last in known["man_nouns"]:
        return "man"
    if last in known["woman_nouns"]:
        return "woman"
    if last in known["person_nouns"]:
        return "person"
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3
    return "many" if plural or last in known["group"] | known["plurals"] else "thing"


@cache
def _mention_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in word_lists("understand", "mentions").items()}


def function_words() -> frozenset[str]:
    """Words that are part of no name and no phrase."""
    return _mention_words()["function"]
