"""What speaks for an answer being what was asked, as numbers.

That a sentence stands in a document says nothing of whether it answers. What tells is how far the
ranker's best units are ahead of the others, what of the question they and their document do not
speak of, and whether they hold the kind of thing that is asked for.
"""

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

import numpy as np

from ragstone.answer.extractive.answer_type import kind_of, things
from ragstone.answer.extractive.cells import numbers_in_ranges
from ragstone.answer.extractive.unit_ranker import TOKEN_NAMES
from ragstone.answer.extractive.unit_ranking import EXACT, RankedUnit
from ragstone.core.answer import log_odds
from ragstone.core.turn import Passage
from ragstone.language.named import Numbered, named
from ragstone.language.quantities import Quantity, quantities, states
from ragstone.language.words import STOPWORDS, content_words, similar_words, words
from ragstone.verify.sufficiency import coverage

NAMES = (
    "sureness", "share", "margin", "words", "words_about", "words_passage", "words_nowhere",
    "pairs", "names_missing", "names_unsaid", "numbers_missing", "numbers_unsaid", "holds_kind",
    "lacks_kind", "lacks_exact_kind", "similarity", "bm25", "place", "gap", "row", "list",
    "code", "fragment", "heading", "asked", "length",
)  # fmt: skip
"""The columns of `evidence`, most of them 0..1: the logit of the ranker's sureness; that of the
chosen units' share among all, by the ranker's odds; how far their score is ahead of other passages'
units; of the question's words those that the answer has, those that only the titles and headings it
stands under have, those that only its passages have, those that nothing has; the neighbouring words
that it has; names and numbers of the question that its passages lack, and those that only it lacks;
whether it holds the kind of thing asked for, lacks it, or lacks one whose shape is certain; its
passage's likeness, word score against the best, and place; how far its passage's score is ahead;
its form; whether it is the answer to this very question of a FAQ; its length."""

CLOSE_NAMES = ("match", "sharp_match", "worst_match", "with_heading", "passage_match", "topic")
"""Columns of `unit_closeness`, where there are token vectors: the best of the units."""

READ_NAMES = ("read", "read_best", "read_placed")
"""Where a reader was asked: the log-odds that the text about the chosen units answers, those of the
best text, and whether the place of the answer is in what was chosen."""

UNFITTED_NAMES = ("row_uncovered", "codes_missing", "other_number")
"""What the sets that weights are fitted on hold no questions with. Where a row of a table is said
that no number of the question names: the share of what is asked about, by how much its words tell,
that no passage speaks of. Whether no passage, and of a row not the row itself, has a code of the
question (ATtiny28, memory_limit), and whether the cited documents are of another number of what it
names (Jest 30, for Jest 31)."""

_CODE = re.compile(
    r"(?<![\w-])(?:(?:\w+-)*[^\W\d_]+\d\w*(?:-\w+)*|\w*[^\W\d_]\w*_\w*[^\W_]\w*)(?![\w-])"
)
"""A word with digits behind its letters, or with an underscore inside."""

_FIRST_CELL = re.compile(r"(?:[^:;|\n]*: )?(?P<value>[^;|\n]*)")

Evidence = Mapping[str, float]

FARTHEST = 8.0
"""Scores farther apart than this differ no more."""

LEAST = 1e-4
"""Shares nearer to 0 or 1 than this count as this."""

MOST = 2
"""More missing names or numbers than this count no more."""


def evidence(
    question: str,
    said: str,
    chosen: Sequence[RankedUnit],
    best: Sequence[RankedUnit],
    passages: Sequence[Passage],
    sure: float,
) -> Evidence:
    """The numbers by name (NAMES, UNFITTED_NAMES, with CLOSE_NAMES if there are token vectors and
    READ_NAMES if a reader was asked) of what is `said`, which rests on the `chosen` ones of the
    `best` units; `sure` is the ranker's sureness."""
    from_ = list({id(one.passage): one.passage for one in chosen}.values())
    first = chosen[0]
    row = _unit_columns(question, chosen, best, passages, sure)
    row |= _word_columns(question, said, chosen, from_, passages)
    row |= _passage_columns(first.passage, passages)
    if first.row is not None and len(first.row) == len(TOKEN_NAMES):
        closest = np.max([one.row for one in chosen if one.row is not None], axis=0)
        row |= {name: float(closest[TOKEN_NAMES.index(name)]) for name in CLOSE_NAMES}
    return row | _read_columns(chosen, best)


def _unit_columns(
    question: str,
    chosen: Sequence[RankedUnit],
    best: Sequence[RankedUnit],
    passages: Sequence[Passage],
    sure: float,
) -> dict[str, float]:
    taken = {(id(one.passage), one.place) for one in chosen}
    scores = np.array([one.score for one in best])
    odds = np.exp(scores - scores.max())
    mine = np.array([(id(one.passage), one.place) in taken for one in best])
    share = float(odds[mine].sum() / odds.sum())
    inside = {id(one.passage) for one in chosen}
    others = [one.score for one in best if id(one.passage) not in inside]
    first = max(chosen, key=lambda one: one.score)
    margin = first.score - max(others) if others else FARTHEST
    return {
        "sureness": log_odds(sure, LEAST),
        "share": log_odds(share, LEAST),
        "margin": float(np.clip(margin, -FARTHEST, FARTHEST)),
        **{form: float(first.unit.form == form) for form in ("row", "list", "code")},
        **{form: float(first.unit.form == form) for form in ("fragment", "heading")},
        "asked": float(first.asked),
    }


def _word_columns(
    question: str,
    said: str,
    chosen: Sequence[RankedUnit],
    cited: Sequence[Passage],
    passages: Sequence[Passage],
) -> dict[str, float]:
    order = content_words(question)
    asked = set(order)
    about = "\n".join(
        [f"{p.hit.chunk.heading}\n{p.hit.chunk.path}\n{p.hit.chunk.subject}" for p in cited]
        + [one.unit.context for one in chosen]
        + [_heading_above(one) for one in chosen]
    )
    whole = "\n".join(passage.text for passage in cited)
    everywhere = "\n".join(f"{p.hit.chunk.heading}\n{p.text}" for p in passages)
    titled = "\n".join(f"{p.hit.chunk.title}\n{p.hit.chunk.path}" for p in cited)
    is_row = chosen[0].unit.form == "row"
    by_words = is_row and not _is_named_by_number(question, chosen[0])
    covered = coverage(question, (everywhere, about))[0] if by_words else 1.0
    ranged = " ".join(numbers_in_ranges(question, said))
    left, held = set(asked), []
    for text in (f"{said}\n{ranged}", about, whole, everywhere):
        found = _spoken(left, text)
        held.append(len(found) / max(1, len(asked)))
        left -= found
    spoken = content_words(said)
    pairs = set(pairwise(order))
    both = pairs & set(pairwise(spoken))
    names = _names(question)
    unsaid = names - _spoken(names, f"{said}\n{about}")
    missing = unsaid - _spoken(unsaid, whole)
    numbered = named(question).numbered
    there = named(f"{about}\n{said}").numbered
    known = quantities(f"{said}\n{about}\n{ranged}")
    versions = {one.number for one in numbered if any(one.same(other) for other in there)}
    figures = [one for one in quantities(question) if not _is_one_of(one, versions)]
    silent = [one for one in figures if not states(known, one)]
    more = quantities(whole) if silent else []
    kind = kind_of(question)
    holds = bool(kind) and bool(things(kind, said, question))
    return {
        "words": held[0],
        "words_about": held[1],
        "words_passage": held[2],
        "words_nowhere": 1 - sum(held) if asked else 0.0,
        "pairs": len(both) / max(1, len(pairs)),
        "names_missing": min(MOST, len(missing)) / MOST,
        "names_unsaid": min(MOST, len(unsaid - missing)) / MOST,
        "numbers_missing": min(MOST, sum(not states(more, one) for one in silent)) / MOST,
        "numbers_unsaid": min(MOST, sum(states(more, one) for one in silent)) / MOST,
        "holds_kind": float(holds),
        "lacks_kind": float(bool(kind) and not holds),
        "lacks_exact_kind": float(kind in EXACT and not holds),
        "length": math.log(1 + len(said)) / 5,
        "row_uncovered": 1 - covered,
        "codes_missing": float(_lacks_code(question, f"{said if is_row else everywhere}\n{about}")),
        "other_number": float(_is_of_another_number(numbered, titled, f"{about}\n{whole}")),
    }


def _read_columns(chosen: Sequence[RankedUnit], best: Sequence[RankedUnit]) -> dict[str, float]:
    mine = [one.reading for one in chosen if one.reading]
    every = [one.reading for one in best if one.reading]
    if not mine:
        return {}
    return {
        "read": max(one.odds for one in mine),
        "read_best": max(one.odds for one in every),
        "read_placed": float(any(one.placed for one in mine)),
    }


def _passage_columns(first: Passage, passages: Sequence[Passage]) -> dict[str, float]:
    hits = [one.hit for one in passages]
    others = [one.score for one in hits if one.chunk.chunk_id != first.hit.chunk.chunk_id]
    place = next((i for i, one in enumerate(passages) if one.number == first.number), len(hits))
    return {
        "similarity": first.hit.similarity or 0.0,
        "bm25": (first.hit.bm25 or 0.0) / (max((h.bm25 or 0.0 for h in hits), default=0.0) or 1.0),
        "place": 1 / (1 + place),
        "gap": first.hit.score - max(others, default=0.0),
    }


def _heading_above(one: RankedUnit) -> str:
    """The last heading inside the passage that a unit stands below."""
    text, start = one.passage.text, one.unit.start
    above = [b for b in one.passage.blocks if b.kind == "heading" and b.end <= start]
    return text[above[-1].start : above[-1].end] if above else ""


def _names(question: str) -> set[str]:
    """The words with a capital inside the question, as passages are compared; none in a language
    or a question that writes most words so."""
    inside = [word for word in question.split()[1:] if word[:1].isalpha()]
    written = [word for word in inside if any(map(str.isupper, word))]
    few = 2 * len(written) <= len(inside)
    own = {word for one in written for word in words(one)}
    return own - STOPWORDS if few else set()


def _is_named_by_number(question: str, row: RankedUnit) -> bool:
    """Whether the first cell of a row has a number or code of the question."""
    cell = _FIRST_CELL.match(row.passage.text, row.unit.start, row.unit.end)
    held = set(words(cell["value"])) if cell else set()
    return any(word in held for word in words(question) if any(map(str.isdigit, word)))


def _lacks_code(question: str, text: str) -> bool:
    """Whether a text lacks a code of the question, with and without its hyphens."""
    codes = [one.group().casefold() for one in _CODE.finditer(question)]
    spelt = text.casefold() if codes else ""
    return any(
        not any(one.replace("-", joint) in spelt for joint in ("-", " ", "")) for one in codes
    )


def _is_of_another_number(asked: AbstractSet[Numbered], titled: str, text: str) -> bool:
    """Whether titles and paths number a thing that the question names otherwise, and neither they
    nor the text say its number."""
    others = named(titled).numbered
    names = {one.name for one in others}
    numbered = [one for one in asked if one.name and one.name in names]
    held = others | named(text).numbered if numbered else others
    return any(
        not any(one.name == other.name and one.same(other) for other in held) for one in numbered
    )


def _is_one_of(quantity: Quantity, numbers: set[str]) -> bool:
    """Whether a quantity is a number that belongs to a name: Jest 29 is that of Jest 29.7."""
    return any(states(quantities(number), quantity) for number in numbers)


def _spoken(words: set[str], text: str) -> set[str]:
    """Those of the words that a text has, also in another form or in a compound."""
    held = words & set(content_words(text))
    return held | similar_words(words - held, text.casefold())
