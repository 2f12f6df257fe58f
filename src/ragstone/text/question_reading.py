"""What a question asks, taken apart so that two can be compared: kind, negations, words in order.

English is read closely. Of other languages only the words that carry nothing are dropped, so that
questions in them are the same when nearly everything in them is.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragstone.text import question_foreign
from ragstone.text.english import expanded
from ragstone.text.question_frames import opened
from ragstone.text.question_numbers import with_plain_dates, with_plain_numbers

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*(?:\+\+|#(?!\w))?|[+\-*/=<>%$€£#@^&~|\\→]+"
)
_SENTENCE = re.compile(r"(?<=[?!;。？！])\s*|(?<=[^\W\d_]{3}\.)\s+|\n+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–/](?=[^\W\d_])")

NEGATIONS = frozenset({"not", "no", "never", "nobody", "nothing", "none", "neither", "nor"})
_AUXILIARY = frozenset(
    "be am is are was were been being do does did done have has had having will would shall "
    "should can could may might must".split()
)
_LIGHT = frozenset(
    "a an the this that these those there some any such and so just really actually basically "
    "exactly simply also even ever please own then which who where it its to too very quite "
    "currently nowadays various different several".split()
)
_ONE = {"one": "*", "we": "*", "us": "*", "someone": "*", "somebody": "*", "anyone": "*"}
_ONE |= {"anybody": "*", "our": "*'s", "one's": "*'s", "ourselves": "*", "oneself": "*"}
_I = {"i": "*", "me": "*", "my": "*'s", "mine": "*'s", "myself": "*"}
_YOU = {"you": "*", "your": "*'s", "yours": "*'s", "yourself": "*"}
_STRICT = frozenset(
    "from into onto without with before after until till since over under above below against by "
    "between among except than off out up down through via towards toward besides beyond "
    "despite instead like per across behind beside".split()
)
_LOOSE = frozenset("in on at of for about regarding during within inside as to around".split())


@dataclass(frozen=True, slots=True)
class Term:
    """A word that counts. `label` is the preposition before it where that changes the meaning,
    `begins` whether a part of the sentence begins here, `name` whether it is written as one."""

    text: str
    label: str = ""
    begins: str = ""
    name: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence: its kind, its negations with the number of terms before each, its terms."""

    kind: str
    negations: tuple[tuple[str, int], ...]
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """`plain` is the text without case and punctuation; `script` the way that it was read."""

    plain: str
    script: str
    clauses: tuple[Clause, ...]


def read(text: str) -> Reading:
    """Take a question apart; any text is fine."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    script = question_foreign.script(text)
    plain = " ".join(token.casefold() for token in _TOKEN.findall(text))
    if script != "en":
        return Reading(plain, script, (_foreign(text, script),))
    sentences = [s for s in _SENTENCE.split(text) if s and _TOKEN.search(s)]
    clauses = (_clause(sentence) for sentence in sentences)
    return Reading(plain, script, tuple(c for c in clauses if c.terms or c.kind))


def _foreign(text: str, script: str) -> Clause:
    kind, words = question_foreign.read(text, script)
    return Clause(kind, (), tuple(Term(word) for word in words))


def _clause(sentence: str) -> Clause:
    sentence = _HYPHEN.sub(" ", with_plain_dates(sentence))
    raw = _TOKEN.findall(sentence)
    shouted = sum(word.isupper() for word in raw) > len(raw) / 2
    # What looks like a function word but is written in capitals is a name: US, IT, WHO.
    names = set() if shouted else {w.casefold() for w in raw[1:] if w[:1].isupper()}
    acronyms = set() if shouted else {w.casefold() for w in raw if len(w) > 1 and w.isupper()}
    words = [part for word in raw for part in _parts(word, acronyms)]
    frame = opened(" ".join(words))
    return _read_terms(frame.kind, with_plain_numbers(frame.rest.split()), names)


def _parts(word: str, acronyms: set[str]) -> list[str]:
    plain = word.casefold()
    if plain in acronyms and _is_function(plain):
        return [f"{plain}."]
    return expanded(plain)


def _is_function(word: str) -> bool:
    return word in _AUXILIARY | _LIGHT | _LOOSE | _STRICT | NEGATIONS or word in _ONE | _I | _YOU


def _read_terms(kind: str, words: Sequence[str], names: Iterable[str]) -> Clause:
    people = _people(words)
    known = frozenset(names)
    negations: list[tuple[str, int]] = []
    terms: list[Term] = []
    label, begins = "", ""
    for word in words:
        if word in NEGATIONS:
            negations.append(("not" if word == "no" else word, len(terms)))
        elif word in _STRICT or word in _LOOSE:
            label, begins = (word if word in _STRICT else ""), word
        elif word in _AUXILIARY or word in _LIGHT or word == "'s":
            continue
        elif people.get(word) == "*" and not label:
            continue
        else:
            plain = people.get(word, word)
            terms.append(Term(plain, label, begins, plain.strip(".") in known))
            label = begins = ""
    if label:
        terms.append(Term(label, label, begins))
    return Clause(kind, tuple(negations), tuple(terms))


def _people(words: Sequence[str]) -> dict[str, str]:
    """Pronouns that mean anybody; none where first and second person are set against another."""
    said = set(words)
    if said & set(_I) and said & set(_YOU):
        return dict(_ONE)
    return _ONE | _I | _YOU
