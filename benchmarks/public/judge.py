"""Whether an answer says what a benchmark accepts, without a model.

`says` is for short answers: one alternative of each group stands in the answer, word for word,
after case, punctuation and articles are dropped. An accepted number is said if a number of the
answer's first two sentences rounds to it, whatever its sign and thousands: there, because any small
number stands somewhere in a long answer. A year is not said by a row of a table that has it among
other years. `covers` is for long reference answers: half of its content words stand in the answer,
and half of its numbers. What these get wrong was read by eye, and stands in `results/public.md`.
"""

import re
import unicodedata
from collections.abc import Sequence

from ragstone.language.sentences import sentences
from ragstone.language.words import content_word_set

COVERED = 0.5
"""Share of the content words and of the numbers of a reference answer."""

_MARKER = re.compile(r"\s*\[\d+\]")
_THOUSANDS = re.compile(r"(?<=\d)[,\u066c](?=\d{3}(?!\d))")
_SINGLE = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"\d+(?:\.\d+)?|[{_SINGLE}]|[^\W\d_{_SINGLE}]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COLUMN = re.compile(r"\b((?:19|20)\d\d)\b[^;:.]{0,30}:")
_ARTICLES = frozenset(("a", "an", "the"))
_UNITS = re.compile(
    r"[\s$€£%()+-]|\b(?:usd|us|million|billion|thousand|percent|years?|days?|times?)\b"
)


def strip_markers(text: str) -> str:
    """Return the answer without the numbers of its sources."""
    return _MARKER.sub("", text)


def says(answer: str, groups: Sequence[Sequence[str]]) -> bool:
    """Tell whether the answer has an alternative of each group."""
    whole = strip_markers(answer)
    spans = list(sentences(whole))
    first = whole[: spans[1].end] if len(spans) > 1 else whole
    if len(groups) == 1 and _names_other_columns(first, groups[0]):
        return False
    return all(any(_has(whole, first, text) for text in group) for group in groups)


def covers(answer: str, reference: str) -> bool:
    """Tell whether the answer has most words of a long reference answer, and its numbers."""
    text = strip_markers(answer)
    for wanted, held in (
        (content_word_set(reference), content_word_set(text)),
        (set(_numbers(reference)), set(_numbers(text))),
    ):
        if len(wanted & held) < COVERED * len(wanted):
            return False
    return True


def rouge_l(answer: str, reference: str) -> float:
    """ROUGE-L (F) of the words as they stand, without stems, 0 to 1."""
    said, wanted = tokens(strip_markers(answer)), tokens(reference)
    if not said or not wanted:
        return 0.0
    row = [0] * (len(wanted) + 1)
    for word in said:
        diagonal = 0
        for number, other in enumerate(wanted, 1):
            above = row[number]
            row[number] = diagonal + 1 if word == other else max(above, row[number - 1])
            diagonal = above
    return 2 * row[-1] / (len(said) + len(wanted))


def tokens(text: str) -> list[str]:
    """Return words, numbers, and single characters of scripts without spaces."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    found = (_canonical(token) for token in _TOKEN.findall(plain))
    return [token for token in found if token not in _ARTICLES]


def _has(whole: str, first: str, accepted: str) -> bool:
    bare = _UNITS.sub("", _THOUSANDS.sub("", accepted.casefold()))
    if _NUMBER.fullmatch(bare):
        return any(_rounds_to(number, bare) for number in _numbers(first))
    wanted = tokens(accepted)
    return bool(wanted) and _contains(tokens(whole), wanted)


def _names_other_columns(first: str, accepted: Sequence[str]) -> bool:
    """Tell whether an accepted year is the name of a column, beside those of other years."""
    columns = set(_COLUMN.findall(first))
    return not columns.isdisjoint(accepted) and not columns <= set(accepted)


def _contains(held: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(
        held[start : start + len(wanted)] == wanted for start in range(len(held) - len(wanted) + 1)
    )


def _numbers(text: str) -> list[str]:
    return [token for token in tokens(text) if token[0].isdigit()]


def _rounds_to(number: str, accepted: str) -> bool:
    decimals = len(accepted.partition(".")[2])
    wanted = float(accepted)
    # Three figures agree by chance only where they are few: what is said in millions may be wanted
    # in billions.
    scales = (1, 1e-3, 1e3, 1e-6, 1e6) if len(accepted.strip("0.").replace(".", "")) > 2 else (1,)
    return any(abs(float(number) * s - wanted) <= 0.5 * 10**-decimals + 1e-9 for s in scales)


def _canonical(token: str) -> str:
    return token.rstrip("0").rstrip(".") if "." in token else token
