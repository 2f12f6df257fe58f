"""What a question asks, taken apart so that two can be compared: kind, negations, words in order.

English is read closely. Of other languages only the words that carry nothing are dropped, so that
questions in them are the same when nearly everything in them is.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.cache import question_foreign
from ragstone.cache.question_frames import opened, trimmed
from ragstone.cache.question_numbers import with_plain_dates, with_plain_numbers
from ragstone.language.english import common, expanded, participle

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*(?:\+\+|#(?!\w))?|[+\-*/=<>%$€£#@^&~|\\→]+"
)
_SENTENCE = re.compile(r"(?<=[?!;。？！])\s*|(?<=[^\W\d_]{3}\.)\s+|\n+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–/](?=[^\W\d_])")

_ONE_LETTER = re.compile(r"\b([a-zA-Z])-(?=[a-z]{3})")
_FRONTED = re.compile(
    r"^((?:in|on|at|during|for|from|after|before|since|until|under|with|without|as|by)\b[^,?]+), "
    r"((?:how|what|which|who|whom|whose|when|where|why|is|are|was|were|do|does|did|can|could|will|"
    r"would|should|must|may|has|have|had)\b[^,]*)$",
    re.IGNORECASE,
)
"""What stands before the question but belongs behind it."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = frozenset({"not", "no", "never", "nobody", "nothing", "none", "neither", "nor"})
_BE = _set("am is are was were be been being")
_AUXILIARY = _set(
    "do does did done has have had having will would shall should can could may might must"
)
_LIGHT = _set(
    "a an the this that these those there some any such so just really actually basically "
    "exactly simply also even ever please own then which who where it its to too very quite "
    "currently nowadays various different several properly successfully correctly available"
)
_ONE = _set("one we us our one's ourselves oneself")
_I = _set("i me my mine myself we us our ours")
_YOU = _set("you your yours yourself")
_OWN = _set("my our your mine yours ours one's")
_MODALS = {"can": "can", "could": "can", "may": "can", "might": "can"}
_MODALS |= {"should": "should", "must": "should", "shall": "should", "ought": "should"}
_STRICT = _set(
    "from into onto without with before after until till since over under above below against by "
    "between among except than off out up down through via towards toward besides beyond "
    "despite instead like per across behind beside"
)
_JOINING = frozenset({"and", "or", "vs", "versus"})
_LOOSE = _set("in on at of for about regarding during within inside as to around")
_FUNCTION = _AUXILIARY | _LIGHT | _LOOSE | _STRICT | NEGATIONS | _ONE | _I | _YOU | _BE


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word that counts. `label` is the preposition before it where that changes the meaning,
    `begins` the one that begins a part of the sentence here, `joined` the "and" or "or" before
    it, `name` whether it is written as one, `suffered` whether it is done to somebody."""

    text: str
    label: str = ""
    begins: str = ""
    joined: str = ""
    name: bool = False
    suffered: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence: its kind, its negations with the number of terms before each, its terms."""

    kind: str
    negations: tuple[tuple[str, int], ...]
    terms: tuple[QuestionTerm, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """`plain` is the text without case and punctuation; `script` the way that it was read."""

    plain: str
    script: str
    clauses: tuple[Clause, ...]


def read(text: str) -> ParsedQuestion:
    """Take a question apart; any text is fine."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    script = question_foreign.script(text)
    plain = " ".join(token.casefold() for token in _TOKEN.findall(text))
    if script != "en":
        return ParsedQuestion(plain, script, (_foreign(text, script),))
    sentences = [s for s in _SENTENCE.split(text) if s and _TOKEN.search(s)]
    clauses = (_clause(sentence) for sentence in sentences)
    return ParsedQuestion(plain, script, tuple(c for c in clauses if c.terms or c.kind))


def _foreign(text: str, script: str) -> Clause:
    kind, words = question_foreign.read(text, script)
    return Clause(kind, (), tuple(QuestionTerm(word) for word in words))


def _clause(sentence: str) -> Clause:
    sentence = _FRONTED.sub(r"\2 \1", with_plain_dates(sentence).strip(" ?.!"))
    sentence = _HYPHEN.sub(" ", _ONE_LETTER.sub(r"\1", sentence))
    raw = _TOKEN.findall(sentence)
    shouted = sum(word.isupper() for word in raw) > len(raw) / 2
    # What looks like a usual word but is written in capitals is a name: US, WHO, AIDS.
    names = set() if shouted else {w.casefold() for w in raw[1:] if w[:1].isupper()}
    acronyms = set() if shouted else {w.casefold() for w in raw if len(w) > 1 and w.isupper()}
    asked = trimmed(" ".join(part for word in raw for part in _parts(word, acronyms)))
    words = asked.split()
    frame = opened(asked)
    rest = with_plain_numbers(frame.rest.split())
    kind = frame.kind + _modality(frame.kind, words)
    clause = _Terms(kind, _anybody(frame.kind, set(words)), frozenset(names)).of(rest)
    return clause if clause.terms else _Terms(kind, frozenset(), frozenset(names)).of(rest)


def _parts(word: str, acronyms: set[str]) -> list[str]:
    plain = word.casefold()
    if plain in acronyms and (plain in _FUNCTION or common(plain)):
        return [f"{plain}."]
    return expanded(plain)


def _modality(kind: str, words: Sequence[str]) -> str:
    """Whether it is about what one can or should do, and done by or to whom it is about."""
    if kind in ("how to", "mean"):
        return ""
    modal = sorted({_MODALS[word] for word in words if word in _MODALS})
    if kind == "what" and not any(word in _AUXILIARY | _BE for word in words):
        return ", be"
    first = next((word for word in words if word in _AUXILIARY or word in _BE), "")
    return "".join(f", {one}" for one in (*modal, *(["be"] if first in _BE else [])))


def _anybody(kind: str, words: set[str]) -> frozenset[str]:
    """Pronouns that mean anybody who asks, so that they count for nothing."""
    if words & _I and words & _YOU:
        return _ONE - _I
    if kind == "how to":
        return _ONE | _I | _YOU
    if kind.startswith("whether"):
        return _ONE - _I
    return _ONE | _I | _YOU - _OWN if kind.startswith(("what", "why")) else _ONE - _I


@dataclass(frozen=True, slots=True)
class _Terms:
    """Reads the words after a question's beginning."""

    kind: str
    dropped: frozenset[str]
    names: frozenset[str]

    def of(self, words: Sequence[str]) -> Clause:
        negations: list[tuple[str, int]] = []
        terms: list[QuestionTerm] = []
        label, begins, joined, suffered = "", "", "", False
        for word in words:
            if word in NEGATIONS:
                negations.append(("not" if word == "no" else word, len(terms)))
            elif word in _STRICT or word in _LOOSE:
                label = word if word in _STRICT else label if begins in _STRICT else ""
                begins = word
            elif word in _JOINING:
                joined = "and" if word == "and" else "or"
            elif word in _BE and word != "be":
                suffered = True
            elif word not in _AUXILIARY | _LIGHT | self.dropped and word != "'s":
                name = word.strip(".") in self.names
                done = suffered and participle(word)
                terms.append(QuestionTerm(word, label, begins, joined, name, done))
                label, begins, joined, suffered = "", "", "", False
        if begins:
            terms.append(QuestionTerm(begins, label, begins))
        return Clause(self.kind, tuple(negations), tuple(terms))
