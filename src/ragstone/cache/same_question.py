"""Whether two questions ask the same: by meaning, and then by everything that changes an answer.

The likeness of vectors says what is near; it does not see that a number, a name, a negation, a
direction or who did what to whom is another one. So every word that counts must have its
counterpart in the other question, in the same place; only their forms, spellings and usual
synonyms may differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from ragstone.cache.question_reading import Clause, ParsedQuestion, QuestionTerm, read
from ragstone.language.english import forms, misspelt, synonyms

PRECISION, RECALL = 0.95, 0.85
"""The likeness from which questions are compared, and from which they are compared strictly."""

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

    The mode `precision` wants a likeness of `PRECISION`. `recall` is content with `RECALL`, and
    then wants the same words in the same order, in whatever form. `adaptive` does the first, and
    the second for what the first is not near enough for.
    """
    if likeness < least(mode):
        return QuestionComparison(False, "likeness")
    strict = mode == "recall" or likeness < PRECISION
    return _compare_parsed(reading(first), reading(second), strict)


def _compare_parsed(a: ParsedQuestion, b: ParsedQuestion, strict: bool) -> QuestionComparison:
    if a.plain == b.plain:
        return QuestionComparison(True, "the same words")
    if a.script != b.script:
        return QuestionComparison(False, "language")
    if len(a.clauses) != len(b.clauses):
        return QuestionComparison(False, "number of sentences")
    for one, other in zip(a.clauses, b.clauses, strict=True):
        differs = _difference(one, other, strict)
        if differs:
            return QuestionComparison(False, differs)
    return QuestionComparison(bool(a.clauses), "" if a.clauses else "nothing to compare")


@lru_cache(4096)
def reading(text: str) -> ParsedQuestion:
    """`read`, remembered."""
    return read(text)


def _difference(a: Clause, b: Clause, strict: bool) -> str:
    if a.kind != b.kind:
        return f"kind: {a.kind or 'statement'}, {b.kind or 'statement'}"
    if not _equally_negated(a, b):
        return "negation"
    if strict:
        return "" if _sequence(a.terms, b.terms, strict) else "words"
    left, right = _canonical_terms(a), _canonical_terms(b)
    if _sequence(left, right) or _sequence(_heads_last(left), _heads_last(right)):
        return ""
    if _parts_match(left, right):
        return ""
    return "words"


def _equally_negated(a: Clause, b: Clause) -> bool:
    """Whether the same negations stand there, and in the same place where there are parts."""
    if any(term.joined for term in (*a.terms, *b.terms)):
        return a.negations == b.negations
    return sorted(n for n, _ in a.negations) == sorted(n for n, _ in b.negations)


def _canonical_terms(clause: Clause) -> list[QuestionTerm]:
    """The terms, with what is joined by "and" or "or" in the order of the alphabet, and the best
    of something before it."""
    terms = list(clause.terms)
    if clause.negations:
        return terms
    for part in _parts(clause.terms):
        start = terms.index(part[0])
        joints = [i for i, term in enumerate(part) if term.joined]
        if len(joints) == 1 and (part[0].label == "between" or len(part) == 2):
            terms[start : start + len(part)] = _sort_pair(part[: joints[0]], part[joints[0] :])
        elif clause.kind.startswith("what") and part[-1].text == "best" and not part[0].begins:
            terms[start : start + len(part)] = [part[-1], *part[:-1]]
    return terms


def _sort_pair(first: list[QuestionTerm], second: list[QuestionTerm]) -> list[QuestionTerm]:
    if [term.text for term in first] <= [term.text for term in second]:
        return [*first, *second]
    label, begins, joined = first[0].label, first[0].begins, second[0].joined
    opening = replace(second[0], label=label, begins=begins, joined="")
    closing = replace(first[0], label="", begins="", joined=joined)
    return [opening, *second[1:], closing, *first[1:]]


def _sequence(a: Sequence[QuestionTerm], b: Sequence[QuestionTerm], strict: bool = False) -> bool:
    """Whether every term has its counterpart in the same place."""
    if len(a) != len(b):
        return False
    return all(
        (x.label, x.joined, x.suffered) == (y.label, y.joined, y.suffered)
        and _terms_match(x, y, strict)
        for x, y in zip(a, b, strict=True)
    )


def _terms_match(x: QuestionTerm, y: QuestionTerm, strict: bool = False) -> bool:
    if x.text == y.text:
        return True
    if not x.text.isalpha() or not y.text.isalpha():
        return False
    if forms(x.text) & forms(y.text):
        return True
    if strict:
        return False
    return synonyms(x.text, y.text) or (not (x.name or y.name) and misspelt(x.text, y.text))


def _heads_last(terms: Sequence[QuestionTerm]) -> list[QuestionTerm]:
    """The terms with "A of B" as "B A"."""
    parts = list(_parts(terms))
    ordered: list[list[QuestionTerm]] = []
    for part in parts:
        if part[0].begins == "of" and ordered:
            ordered.insert(len(ordered) - 1, part)
        else:
            ordered.append(part)
    return [term for part in ordered for term in part]


def _parts_match(a: Sequence[QuestionTerm], b: Sequence[QuestionTerm]) -> bool:
    """Whether the parts are the same, where those with a preposition stand elsewhere."""
    left, right = list(_parts(a)), list(_parts(b))
    if len(left) != len(right) or len(left) < 2:
        return False
    for part in left:
        found = next(
            (
                other
                for other in right
                if part[0].begins == other[0].begins and _sequence(part, other)
            ),
            None,
        )
        if found is None:
            return False
        right.remove(found)
    return True


def _parts(terms: Sequence[QuestionTerm]) -> Iterator[list[QuestionTerm]]:
    part: list[QuestionTerm] = []
    for term in terms:
        if term.begins and part:
            yield part
            part = []
        part.append(term)
    if part:
        yield part
