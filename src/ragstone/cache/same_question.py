"""Whether two questions ask the same: by meaning, and then by everything that changes an answer.

A question is taken apart into its kind, its negations and its words in order. English is read
closely; questions in other languages are the same only where all their words are.

The likeness of vectors says what is near; it does not see that a number, a name, a negation, a
direction or who did what to whom is another one. So every word that counts must have its
counterpart in the other question, in the same place; only their forms and spellings may differ.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from ragstone.language.english import expand_contraction, forms, is_common_word, is_participle
from ragstone.language.language import detect

_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|please|so|and|but|well|ok|okay|also|basically|actually|in general|"
    r"generally|according to you|in your opinion|as of now|quick question|question) )+"
)
_INDIRECT = re.compile(
    r"^(?:(?:can|could|would|will) (?:you|anyone|someone|anybody|somebody) (?:please )?"
    r"(?:tell|explain|show|help|let)(?: (?:me|us|to me))?(?: (?:understand|know))?|"
    r"(?:please )?(?:tell|explain|show)(?: (?:me|us|to me))?|"
    r"(?:do|does) (?:you|anyone|anybody|someone|somebody) know|"
    r"i (?:want|would like|need|am trying|wish) to know|i wonder|(?:i am )?wondering|"
    r"any idea|what do you think|i have a question|anyone know|is it known)"
    r"(?: about)? (?=(?:how|what|which|who|whom|whose|when|where|why|if|whether)\b)"
)
_END = re.compile(
    r"(?: (?:please|thanks|thank you|or not|in your opinion|according to you|do you think|"
    r"you think|and why|and how|exactly|in general|these days|nowadays))+$"
)
_ASIDE = re.compile(r"\b(?:do you think|in your opinion|according to you|please|exactly) ")


@dataclass(frozen=True, slots=True)
class QuestionFrame:
    """`kind` is the kind of question, `rest` the words that it is about."""

    kind: str
    rest: str


@cache
def _frames() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of the data file, with the lists in capitals put in."""
    text = files("ragstone.cache").joinpath("data/question_frames.txt").read_text(encoding="utf-8")
    lists: dict[str, str] = {}
    frames: list[tuple[str, re.Pattern[str]]] = []
    for line in text.splitlines():
        kind, _, pattern = line.partition("\t")
        if line.startswith("#"):
            continue
        if kind.isupper():
            lists[f"{{{kind}}}"] = f"(?:{pattern})"
            continue
        for name, alternatives in lists.items():
            pattern = pattern.replace(name, alternatives)
        frames.append((kind, re.compile(pattern)))
    return tuple(frames)


_YES_NO = re.compile(
    r"^(is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|must|may|"
    r"might|need)\b"
)
_MODALITY = {
    "is": "now",
    "are": "now",
    "am": "now",
    "do": "now",
    "does": "now",
    "was": "then",
    "were": "then",
    "did": "then",
    "has": "since",
    "have": "since",
    "had": "then",
    "can": "can",
    "could": "can",
    "may": "can",
    "might": "can",
    "will": "will",
    "would": "would",
    "should": "should",
    "shall": "should",
    "must": "must",
    "need": "must",
}
_VERB = re.compile(
    r"\b(?:i|you|we|he|she|they|it|am|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|shall|must|may|might|how|what|why|who|when|where|which)\b"
)
_MEANS = re.compile(r"\b(?:mean|stand for|refer to|signify)$")
_PAST = re.compile(r"\b(?:was|were|did|had)\b")
_FUTURE = re.compile(r"\b(?:will|going to|would)\b")


def find_frame(text: str) -> QuestionFrame:
    """Return the kind of a question that is stripped of politeness, and what remains."""
    for kind, pattern in _frames():
        if found := pattern.search(text):
            if kind == "how measure":
                kind = f"how {found[1]}"
            if kind == "if":
                return find_frame(strip_politeness(text[found.end() :].strip()))
            rest = text[found.end() :].strip()
            if kind == "mean":
                rest = _MEANS.sub("", rest)
            return QuestionFrame(kind + _tense(kind, text), rest)
    if found := _YES_NO.search(text):
        return QuestionFrame(f"whether {_MODALITY[found[1]]}", text[found.end() :].strip())
    # Words that name something are asked like "What is ...?".
    return QuestionFrame("" if _VERB.search(text) else "what", text)


def strip_politeness(text: str) -> str:
    """Return a question in plain words (lower case, single spaces) without politeness around it."""
    before = ""
    while text != before:
        before = text
        text = _END.sub("", _INDIRECT.sub("", _POLITE.sub("", text)))
    return _ASIDE.sub("", text)


def _tense(kind: str, text: str) -> str:
    """Tell whether it is about the past or the future; how to do something has no time."""
    if kind in ("how to", "mean"):
        return ""
    head = " ".join(text.split()[:4])
    if _PAST.search(head):
        return ", past"
    return ", future" if _FUTURE.search(head) else ""


_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*(?:\+\+|#(?!\w))?|[+\-*/=<>%$€£#@^&~|\\→]+"
)
_SENTENCE = re.compile(r"(?<=[?!;。？！])\s*|(?<=[^\W\d_]{3}\.)\s+|\n+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–/](?=[^\W\d_])")


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = frozenset({"not", "no", "never", "nobody", "nothing", "none", "neither", "nor"})
_BE = _word_set("am is are was were be been being")
_AUXILIARY = _word_set(
    "do does did done has have had having will would shall should can could may might must"
)
_LIGHT = _word_set(
    "a an the this that these those there some any such so just really actually basically "
    "exactly simply also even ever please own then which who where it its to too very quite "
    "currently nowadays various different several properly successfully correctly available"
)
_ONE = _word_set("one we us our one's ourselves oneself")
_I = _word_set("i me my mine myself we us our ours")
_YOU = _word_set("you your yours yourself")
_OWN = _word_set("my our your mine yours ours one's")
_MODALS = {"can": "can", "could": "can", "may": "can", "might": "can"}
_MODALS |= {"should": "should", "must": "should", "shall": "should", "ought": "should"}
_STRICT = _word_set(
    "from into onto without with before after until till since over under above below against by "
    "between among except than off out up down through via towards toward besides beyond "
    "despite instead like per across behind beside"
)
_JOINING = frozenset({"and", "or", "vs", "versus"})
_LOOSE = _word_set("in on at of for about regarding during within inside as to around")
_FUNCTION = _AUXILIARY | _LIGHT | _LOOSE | _STRICT | NEGATIONS | _ONE | _I | _YOU | _BE


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word that counts. `label` is the preposition before it where that changes the meaning,
    `joined` the "and" or "or" before it, `suffered` whether it is done to somebody."""

    text: str
    label: str = ""
    joined: str = ""
    suffered: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence: its kind, its negations with the number of terms before each, its terms."""

    kind: str
    negations: tuple[tuple[str, int], ...]
    terms: tuple[QuestionTerm, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """`plain` is the text without case and punctuation; only English has clauses."""

    plain: str
    clauses: tuple[Clause, ...]


def parse_question(text: str) -> ParsedQuestion:
    """Take a question apart; any text is fine."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    plain = " ".join(token.casefold() for token in _TOKEN.findall(text))
    if detect(text) not in ("en", ""):
        return ParsedQuestion(plain, ())
    sentences = [s for s in _SENTENCE.split(text) if s and _TOKEN.search(s)]
    clauses = (_clause(sentence) for sentence in sentences)
    return ParsedQuestion(plain, tuple(c for c in clauses if c.terms or c.kind))


def _clause(sentence: str) -> Clause:
    raw = _TOKEN.findall(_HYPHEN.sub(" ", sentence.strip(" ?.!")))
    shouted = sum(word.isupper() for word in raw) > len(raw) / 2
    # What looks like a usual word but is written in capitals is a name: US, WHO, AIDS.
    acronyms = set() if shouted else {w.casefold() for w in raw if len(w) > 1 and w.isupper()}
    asked = strip_politeness(" ".join(part for word in raw for part in _word_parts(word, acronyms)))
    words = asked.split()
    frame = find_frame(asked)
    rest = frame.rest.split()
    kind = frame.kind + _modality(frame.kind, words)
    clause = _read_clause(kind, rest, _pronouns_for_anybody(frame.kind, set(words)))
    return clause if clause.terms else _read_clause(kind, rest, frozenset())


def _word_parts(word: str, acronyms: set[str]) -> list[str]:
    plain = word.casefold()
    if plain in acronyms and (plain in _FUNCTION or is_common_word(plain)):
        return [f"{plain}."]
    return expand_contraction(plain)


def _modality(kind: str, words: Sequence[str]) -> str:
    """Tell whether it is about what one can or should do, and done by or to whom it is about."""
    if kind in ("how to", "mean"):
        return ""
    modal = sorted({_MODALS[word] for word in words if word in _MODALS})
    if kind == "what" and not any(word in _AUXILIARY | _BE for word in words):
        return ", be"
    first = next((word for word in words if word in _AUXILIARY or word in _BE), "")
    return "".join(f", {item}" for item in (*modal, *(["be"] if first in _BE else [])))


def _pronouns_for_anybody(kind: str, words: set[str]) -> frozenset[str]:
    """Return the pronouns for any asker; they are left out of the comparison."""
    if words & _I and words & _YOU:
        return _ONE - _I
    if kind == "how to":
        return _ONE | _I | _YOU
    if kind.startswith("whether"):
        return _ONE - _I
    return _ONE | _I | _YOU - _OWN if kind.startswith(("what", "why")) else _ONE - _I


def _read_clause(kind: str, words: Sequence[str], dropped: frozenset[str]) -> Clause:
    """Return what the words after a question's beginning say, without those that are `dropped`."""
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
        elif word not in _AUXILIARY | _LIGHT | dropped and word != "'s":
            terms.append(QuestionTerm(word, label, joined, suffered and is_participle(word)))
            label, begins, joined, suffered = "", "", "", False
    if begins:
        terms.append(QuestionTerm(begins, label))
    return Clause(kind, tuple(negations), tuple(terms))


# The two thresholds of the query pipeline document, "Step 2: Semantic Cache Check".
PRECISION, RECALL = 0.95, 0.85
"""The likeness from which questions are compared, by what is wanted more."""

Mode = Literal["precision", "recall", "adaptive"]


@dataclass(frozen=True, slots=True)
class QuestionComparison:
    """Whether it is the same question, and if not, what differs."""

    same: bool
    reason: str = ""


def least(mode: Mode) -> float:
    """Return the likeness below which no question is the same."""
    return PRECISION if mode == "precision" else RECALL


def compare(
    first: str, second: str, likeness: float = 1.0, mode: Mode = "adaptive"
) -> QuestionComparison:
    """Compare two questions whose likeness (0 for unrelated ones, 1 for the same vector) is known.

    The mode `precision` wants a likeness of `PRECISION`, the others one of `RECALL`.
    """
    if likeness < least(mode):
        return QuestionComparison(False, "likeness")
    a, b = read_cached(first), read_cached(second)
    if a.plain == b.plain:
        return QuestionComparison(True, "the same words")
    if len(a.clauses) != len(b.clauses):
        return QuestionComparison(False, "number of sentences")
    for clause, other in zip(a.clauses, b.clauses, strict=True):
        if differs := _difference(clause, other):
            return QuestionComparison(False, differs)
    return QuestionComparison(bool(a.clauses), "" if a.clauses else "words")


@lru_cache(4096)
def read_cached(text: str) -> ParsedQuestion:
    """`parse_question`, remembered."""
    return parse_question(text)


def _difference(a: Clause, b: Clause) -> str:
    """Say what makes two clauses ask for something else; empty where nothing does."""
    if a.kind != b.kind:
        return f"kind: {a.kind or 'statement'}, {b.kind or 'statement'}"
    mine, theirs = a.negations, b.negations
    if any(term.joined for term in (*a.terms, *b.terms)):
        same = mine == theirs
    else:
        # Without "and" and "or" it does not matter before which word a negation stands.
        same = sorted(n for n, _ in mine) == sorted(n for n, _ in theirs)
    if not same:
        return "negation"
    alike = len(a.terms) == len(b.terms) and all(map(_terms_match, a.terms, b.terms))
    return "" if alike else "words"


def _terms_match(x: QuestionTerm, y: QuestionTerm) -> bool:
    if (x.label, x.joined, x.suffered) != (y.label, y.joined, y.suffered):
        return False
    if x.text == y.text:
        return True
    # Numbers and signs have no forms: "v2" and "v2s" are two names.
    return x.text.isalpha() and y.text.isalpha() and bool(forms(x.text) & forms(y.text))
