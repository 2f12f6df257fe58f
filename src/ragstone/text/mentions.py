"""What a text speaks of: names and noun phrases, found by capitals, articles and function words.

No parser: a span is a run of capitalised words, or of words between function words. That is right
often enough to know what a follow-up is about, in the languages that write capitals.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Kind = Literal["man", "woman", "person", "many", "thing", "name"]
"""What a mention may be: `person` of unknown sex, `many` a plural or a group, `thing` no person,
`name` a name that may be of anything."""

LONGEST_TEXT = 4000
"""Characters of a message that are looked at."""

LONGEST_NAME = 6

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_WORD = rf"(?:{_CAPITAL}[\w'’\-]*\w|{_CAPITAL}\b\.?|\d+(?=\s{_CAPITAL}))"
_LINK = r"(?:\s(?:of|of\sthe|de|del|de\sla|von|van|van\sder|der|den|da|du|di|bin|al|&)(?=\s))?"
_NAME = re.compile(rf"{_WORD}(?:{_LINK}\s{_WORD}){{0,{LONGEST_NAME - 1}}}")
_PLAIN = re.compile(r"[^\W_][\w'’\-+#]*|[?.!,;:()\"]")
_PLACED = re.compile(r"\b(?:in|at|near|into|on)\s(?:the\s)?$", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(\n]\s*)$")


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
    names = [*_names(text)]
    taken = [(one.start, one.start + len(one.text)) for one in names]
    phrases = [
        one
        for one in _phrases(text)
        if not any(start < one.start + len(one.text) and one.start < end for start, end in taken)
    ]
    return sorted([*names, *phrases], key=lambda one: one.start)


def names(text: str) -> list[Mention]:
    """Only the names of `text`, in order."""
    return [*_names(text[:LONGEST_TEXT])]


def _names(text: str) -> Iterator[Mention]:
    for match in _NAME.finditer(text):
        found, start = match.group(), match.start()
        first = _SENTENCE_START.search(text[max(0, start - 5) : start]) is not None
        while found and _common(found.split()[0], first):
            rest = found.split(maxsplit=1)
            found = rest[1] if len(rest) > 1 else ""
            start = match.end() - len(found)
            first = False
        found = re.sub(r"['’]s?$", "", found).rstrip(".")
        if len(found) > 1:
            kind = kind_of_name(found)
            placed = kind == "name" and _PLACED.search(text[max(0, start - 12) : start])
            yield Mention(found, start, "thing" if placed else kind, True)


def _common(word: str, first: bool) -> bool:
    """Whether a capitalised word is no name: a function word, or a verb that opens a sentence."""
    bare = word.casefold().rstrip(".'’")
    bare = re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", bare)
    return bare in function_words() or (first and bare in vocabulary()["opening"])


def kind_of_name(name: str) -> Kind:
    """What a name by itself says of its bearer."""
    words = [word.casefold().strip(".,'’") for word in name.split()]
    known = vocabulary()
    for kind in ("man", "woman"):
        if words[0] in known[kind]:
            return kind  # type: ignore[return-value]
    if words[-1] in known["group"] or words[0] in known["group"] or "&" in words:
        return "many"
    if words[-1] in known["things"] or any(word.isdigit() for word in words):
        return "thing"
    if name.isupper() or len(words) > 3:
        return "thing" if len(words) == 1 else "name"
    return "name"


def _phrases(text: str) -> Iterator[Mention]:
    """Runs of words between function words, without the verb that follows `do` and a subject."""
    run: list[re.Match[str]] = []
    before = helper = ""
    for token in [*_PLAIN.finditer(text), None]:
        word = token.group().casefold() if token else "."
        bare = re.sub(r"['’]s$", "", word)
        if token and bare not in function_words() and word[0].isalnum():
            run.append(token)
            continue
        if run:
            yield from _phrase(text, run, before, helper)
            run, helper = [], ""
        before = word
        if word in ("do", "does", "did", "can", "could", "will", "would", "should"):
            helper = word


def _phrase(
    text: str, run: list[re.Match[str]], before: str, helper: str
) -> Iterator[Mention]:
    if helper and len(run) > 1:
        run = run[:-1]
    known = vocabulary()
    while run and run[0].group().casefold() in known["verbs"] and before not in DETERMINERS:
        run = run[1:]
    while run and run[-1].group().casefold() in known["verbs"]:
        run = run[:-1]
    if not run or len(run) > LONGEST_NAME:
        return
    phrase = text[run[0].start() : run[-1].end()]
    if re.fullmatch(r"[\d.,%\s]+", phrase):
        return
    yield Mention(phrase, run[0].start(), _kind_of_phrase(phrase), False)


def _kind_of_phrase(phrase: str) -> Kind:
    last = re.sub(r"['’]s$", "", phrase.split()[-1].casefold())
    known = vocabulary()
    for kind in ("man", "woman", "person"):
        if last in known[f"{kind}_nouns"]:
            return kind  # type: ignore[return-value]
    if last in known["group"]:
        return "many"
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3
    return "many" if plural or last in known["plurals"] else "thing"


DETERMINERS = frozenset(("the", "a", "an", "my", "your", "our", "this", "that", "these", "those"))


@cache
def vocabulary() -> dict[str, frozenset[str]]:
    """Lists of words by what they say."""
    lines = (Path(__file__).parent / "data" / "mentions.txt").read_text(encoding="utf-8")
    found: dict[str, frozenset[str]] = {}
    for line in lines.splitlines():
        name, _, listed = line.partition(":")
        if not line.startswith("#") and listed:
            found[name.strip()] = frozenset(listed.split()) | found.get(name.strip(), frozenset())
    return found


@cache
def function_words() -> frozenset[str]:
    """Words that are part of no name and no phrase."""
    return vocabulary()["function"]
