"""Whether the passages were enough for an answer: what of the question they speak of, and whether
two of them disagree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

from ragstone.core.turn import Passage
from ragstone.language.named import find_names
from ragstone.language.quantities import Quantity, quantities
from ragstone.language.sentences import sentences
from ragstone.language.words import (
    STOPWORDS,
    content_word_set,
    is_paired,
    similar_words,
    word_lists,
    words,
)
from ragstone.ports import Checker, Claim, EvidenceSource
from ragstone.verify.evidence import common_share, word_weight

MIN_COVERAGE = 0.6
"""Share of what the question asks about from which passages can be sufficient."""

MIN_ASPECT_WEIGHT = 0.6
"""The weight of a word from which it is an aspect by itself: "work" and "people" say little."""

PAIR_WEIGHT = 0.7
"""The weight of a pair of characters."""

MAX_ASPECTS = 5
_SIGNS = ".,;:!?()\"'“”„«»¿¡？。，"


def coverage(question: str, texts: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """Return the share (0..1) of what the question asks about that the texts speak of, by how much
    its words tell; and what they do not speak of, as it is asked, neighbours together. 1 for a
    question that is about nothing.

    A word in another form or in a compound counts as there. What kind of answer is wanted ("how
    long") is nothing that a text has to say.
    """
    held = frozenset[str]().union(*map(content_word_set, texts))
    whole = "\n".join(texts).casefold()
    wanted = missing = 0.0
    aspects: list[list[str]] = [[]]
    telling = [False]
    for piece in _subject_text(question).split():
        spelt = piece.strip(_SIGNS)
        meant = [word for word in words(piece) if word not in STOPWORDS]
        # The letter of "Netflix's" and "l'eau" is not a word, that of "vitamin C" is one.
        meant = [word for word in meant if len(word) > 1 or len(spelt) == 1 or is_paired(word)]
        absent = {word for word in meant if word not in held}
        absent -= similar_words(absent, whole)
        tells = {word: _weight(word, spelt) for word in meant}
        wanted += sum(tells[word] for word in meant)
        missing += sum(tells[word] for word in meant if word in absent)
        if meant and len(absent) == len(set(meant)):
            aspects[-1].append(spelt)
            telling[-1] |= any(tells[word] >= MIN_ASPECT_WEIGHT for word in absent)
        elif aspects[-1]:
            aspects.append([])
            telling.append(False)
    told = (" ".join(aspect) for aspect, tells in zip(aspects, telling, strict=True) if tells)
    found = tuple(dict.fromkeys(told))
    return (1 - missing / wanted if wanted else 1.0), found[:MAX_ASPECTS]


def asks_amount(question: str) -> bool:
    """Tell whether an answer to the question has a number: "how long", "combien", "多少"."""
    return _asking("amount").search(question.replace("’", "'")) is not None


def _subject_text(question: str) -> str:
    """Return the question without what says only which kind of answer is wanted."""
    return _asking("amount", "phrase").sub(" ", question.replace("’", "'"))


@cache
def _asking(*kinds: str) -> re.Pattern[str]:
    """Return the pattern of phrases, which are words, and of signs, which stand inside of them."""
    lists = word_lists("verify", "asking")
    phrases, signs = (
        "|".join(sorted((re.escape(item) for name in names for item in lists[name]), key=len)[::-1])
        for names in (kinds, [_SIGNS_OF[kind] for kind in kinds])
    )
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)|{signs}", re.IGNORECASE)


_SIGNS_OF = {"amount": "amount_sign", "phrase": "sign"}


def _weight(word: str, spelt: str) -> float:
    """Tell how much a word tells, which is a stem, by itself or as it is spelt; of a script without
    spaces it is a pair of characters."""
    return PAIR_WEIGHT if is_paired(word) else min(word_weight(word), word_weight(spelt.casefold()))


MIN_COMMON = 0.7
"""The share (Dice) of common words from which two sentences say the same of the same."""

MAX_COMPARED = 4
"""Pairs of sentences about the same that are read."""


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence and the passage that it stands in."""

    text: str
    passage: Passage


def passage_sentences(passage: Passage) -> list[PassageSentence]:
    """Return the sentences of a passage, in order."""
    spans = sentences(passage.text)
    return [PassageSentence(passage.text[span.start : span.end], passage) for span in spans]


async def find_disagreement(
    pairs: Sequence[tuple[PassageSentence, PassageSentence]], checker: Checker
) -> int | None:
    """Find the place of the first pair whose sentences, of different documents, contradict each
    other; None if none does."""
    # That one is near to another and has another number is not a conflict: a forecast, another
    # year, another row and another product have one too. So they have to be about the same but for
    # one value, of the same time and subject, and each has to contradict the other. Those of one
    # document are rows and sections of different things: over 268 questions all seven that the
    # reader took for a contradiction were none.
    alike = [
        place
        for place, (first, second) in enumerate(pairs)
        if first.text != second.text
        and first.passage.hit.chunk.document_id != second.passage.hit.chunk.document_id
        and same_matter(first.text, second.text)
        and same_subject(first.passage, second.passage)
    ]
    for place in alike[:MAX_COMPARED]:
        texts = [sentence.text for sentence in pairs[place]]
        for claim, source in (texts, texts[::-1]):
            [support] = await checker.support([Claim(claim)], [EvidenceSource(source)])
            if not support.contradicted:
                break
        else:
            return place
    return None


async def do_passages_disagree(passages: Sequence[Passage], checker: Checker) -> bool:
    """Tell whether a sentence of one of these passages and one of another contradict each other."""
    stated = [sentence for passage in passages for sentence in passage_sentences(passage)]
    pairs = [
        (first, second)
        for first, second in combinations(stated, 2)
        if first.passage.number != second.passage.number
    ]
    return await find_disagreement(pairs, checker) is not None


def same_subject(one: Passage, other: Passage) -> bool:
    """Tell whether their documents are of the same product, version, year: not one of it and one of
    another."""
    mine, theirs = (
        find_names(f"{p.hit.chunk.heading}\n{p.hit.chunk.subject}") for p in (one, other)
    )
    if mine.years and theirs.years and mine.years.isdisjoint(theirs.years):
        return False
    return not any(
        a.alike(b) and not a.same(b) for a in mine.numbered for b in theirs.numbered
    ) and not (_differ_by_name(one.hit.chunk.title, other.hit.chunk.title))


def _differ_by_name(one: str, other: str) -> bool:
    """Tell whether two titles are alike but for a name: the handbooks of two houses."""
    mine, theirs = content_word_set(one), content_word_set(other)
    return mine != theirs and 2 * len(mine & theirs) >= max(len(mine), len(theirs)) > 1


def same_matter(one: str, other: str) -> bool:
    """Tell whether two sentences are about the same but for one value, and of the same time."""
    if common_share(one, other) < MIN_COMMON:
        return False
    own, there = quantities(one), quantities(other)
    dated = [q for q in chain(own, there) if _is_time(q)]
    only_times = len(dated) == len(own) + len(there)
    return only_times or _times(own) == _times(there)


def _times(found: Sequence[Quantity]) -> set[frozenset[float]]:
    return {quantity.values for quantity in found if _is_time(quantity)}


def _is_time(quantity: Quantity) -> bool:
    """Tell whether a quantity is a year or a month."""
    return quantity.unit == "month" or (
        not quantity.unit and all(1900 <= v <= 2100 for v in quantity.values)
    )
