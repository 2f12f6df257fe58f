"""Whether two questions ask the same: by meaning, and then by everything that changes an answer.

The likeness of vectors says what is near; it does not see that a number, a name, a negation, a
direction or who did what to whom is another one. So every word that counts must have its
counterpart in the other question, in the same place; only their forms and spellings may differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragstone.cache.question_reading import Clause, ParsedQuestion, QuestionTerm, read
from ragstone.language.english import forms

PRECISION, RECALL = 0.95, 0.85
"""The likeness from which questions are compared, by what is wanted more."""

Mode = Literal["precision", "recall", "adaptive"]


@dataclass(frozen=True, slots=True)
class QuestionComparison:
    """Whether it is the same question, and if not, what differs."""

    same: bool
    reason: str = ""


def least(mode: Mode) -> float:
    """The likeness below which no question is the same."""
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
    """`read`, remembered."""
    return read(text)


def _difference(a: Clause, b: Clause) -> str:
    if a.kind != b.kind:
        return f"kind: {a.kind or 'statement'}, {b.kind or 'statement'}"
    if not _equally_negated(a, b):
        return "negation"
    return "" if _sequence(a.terms, b.terms) else "words"


def _equally_negated(a: Clause, b: Clause) -> bool:
    """Whether the same negations stand there, and in the same place where there are parts."""
    if any(term.joined for term in (*a.terms, *b.terms)):
        return a.negations == b.negations
    return sorted(n for n, _ in a.negations) == sorted(n for n, _ in b.negations)


def _sequence(a: Sequence[QuestionTerm], b: Sequence[QuestionTerm]) -> bool:
    """Whether every term has its counterpart in the same place."""
    if len(a) != len(b):
        return False
    return all(
        (x.label, x.joined, x.suffered) == (y.label, y.joined, y.suffered) and _terms_match(x, y)
        for x, y in zip(a, b, strict=True)
    )


def _terms_match(x: QuestionTerm, y: QuestionTerm) -> bool:
    if x.text == y.text:
        return True
    if not x.text.isalpha() or not y.text.isalpha():
        return False
    return bool(forms(x.text) & forms(y.text))
