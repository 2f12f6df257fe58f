"""Whether the passages were enough for an answer: what of the question they speak of, and whether
they contradict each other."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain

from ragstone.core.turn import Passage, Turn
from ragstone.language.named import named
from ragstone.language.quantities import Quantity, quantities
from ragstone.language.sentences import sentences
from ragstone.language.word_lists import word_lists
from ragstone.language.words import STOPWORDS, content_word_set, in_pairs, similar_words, words
from ragstone.ports import Checker, Claim, EvidenceSource
from ragstone.verify.terms import common_share, weight

ENOUGH = 0.6
"""Share of what the question asks about from which passages can be sufficient."""

TELLING = 0.6
"""The weight of a word from which it is an aspect by itself: "work" and "people" say little."""

PAIR = 0.7
"""The weight of a pair of characters."""

SAME = 0.7
"""The share (Dice) of common words from which two sentences say the same of the same."""

MAX_COMPARED = 4
"""Pairs of sentences about the same that are read for a conflict."""

MOST_ASPECTS = 5
_SIGNS = ".,;:!?()\"'“”„«»¿¡？。，"


def coverage(question: str, texts: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """The share (0..1) of what the question asks about that the texts speak of, by how much its
    words tell; and what they do not speak of, as it is asked, neighbours together. 1 for a
    question that is about nothing.

    A word in another form or in a compound counts as there. What kind of answer is wanted ("how
    long") is nothing that a text has to say.
    """
    held = frozenset[str]().union(*map(content_word_set, texts))
    whole = "\n".join(texts).casefold()
    wanted = missing = 0.0
    aspects: list[list[str]] = [[]]
    telling = [False]
    for piece in _about(question).split():
        spelt = piece.strip(_SIGNS)
        meant = [word for word in words(piece) if word not in STOPWORDS]
        # The letter of "Netflix's" and "l'eau" is no word, that of "vitamin C" is one.
        meant = [word for word in meant if len(word) > 1 or len(spelt) == 1 or in_pairs(word)]
        absent = {word for word in meant if word not in held}
        absent -= similar_words(absent, whole)
        tells = {word: _weight(word, spelt) for word in meant}
        wanted += sum(tells[word] for word in meant)
        missing += sum(tells[word] for word in meant if word in absent)
        if meant and len(absent) == len(set(meant)):
            aspects[-1].append(spelt)
            telling[-1] |= any(tells[word] >= TELLING for word in absent)
        elif aspects[-1]:
            aspects.append([])
            telling.append(False)
    told = (" ".join(one) for one, tells in zip(aspects, telling, strict=True) if tells)
    found = tuple(dict.fromkeys(told))
    return (1 - missing / wanted if wanted else 1.0), found[:MOST_ASPECTS]


def _about(question: str) -> str:
    """The question without what says only which kind of answer is wanted."""
    phrases, signs = _asking()
    return signs.sub(" ", phrases.sub(" ", question.replace("’", "'")))


@cache
def _asking() -> tuple[re.Pattern[str], re.Pattern[str]]:
    lists = word_lists("verify", "asking")
    phrases, signs = (sorted(map(re.escape, lists[n]), key=len, reverse=True) for n in _LISTS)
    return (
        re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE),
        re.compile("|".join(signs)),
    )


_LISTS = ("phrase", "sign")


def _weight(word: str, spelt: str) -> float:
    """How much a word tells, which is a stem, by itself or as it is spelt; of a script without
    spaces it is a pair of characters."""
    return PAIR if in_pairs(word) else min(weight(word), weight(spelt.casefold()))


async def conflicting(turn: Turn, checker: Checker, claims: int, others: int) -> bool:
    """Whether another passage says otherwise of the same thing than a sentence that supports the
    answer. `claims` cited sentences are compared with `others` passages.

    That a sentence is near to another and has another number is no conflict: a forecast, another
    year, another row and another product have one too. Each has to contradict the other, and they
    have to be about the same but for one value, and of the same time and document's subject.
    """
    found = [v.citation for v in turn.verdicts if v.label == "supported" and v.citation]
    cited = list({one.snippet: one for one in found}.values())[:claims]
    passages = {passage.number: passage for passage in turn.passages}
    said = [(passages[one.number], one.snippet) for one in cited if one.number in passages]
    return await _contradict(said, turn.passages[:others], checker)


async def passages_disagree(passages: Sequence[Passage], checker: Checker) -> bool:
    """Whether sentences of two passages contradict each other, as an answer says they do."""
    said = [(one, text) for one in passages for text in _sentences(one)]
    return await _contradict(said, passages, checker)


async def _contradict(
    said: Sequence[tuple[Passage, str]], others: Sequence[Passage], checker: Checker
) -> bool:
    """Whether a sentence of a passage and one of another contradict each other."""
    pairs = [
        (text, sentence)
        for other in others
        for own, text in said
        if own.number != other.number and same_subject(own, other)
        for sentence in _sentences(other)
        if sentence != text and same_matter(text, sentence)
    ]
    # Of two sentences it does not matter which is the first.
    pairs = list({frozenset(pair): pair for pair in pairs}.values())
    for pair in pairs[:MAX_COMPARED]:
        for claim, source in (pair, pair[::-1]):
            [support] = await checker.support([Claim(claim)], [EvidenceSource(source)])
            if not support.contradicted:
                break
        else:
            return True
    return False


def _sentences(passage: Passage) -> list[str]:
    return [passage.text[span.start : span.end] for span in sentences(passage.text)]


def same_subject(one: Passage, other: Passage) -> bool:
    """Whether their documents are of the same product, version, year: not one of it and one of
    another."""
    mine, theirs = (named(f"{p.hit.chunk.heading}\n{p.hit.chunk.subject}") for p in (one, other))
    if mine.years and theirs.years and mine.years.isdisjoint(theirs.years):
        return False
    return not any(
        a.alike(b) and not a.same(b) for a in mine.numbered for b in theirs.numbered
    ) and not (_titled_apart(one.hit.chunk.title, other.hit.chunk.title))


def _titled_apart(one: str, other: str) -> bool:
    """Whether two titles are alike but for a name: the handbooks of two houses."""
    mine, theirs = content_word_set(one), content_word_set(other)
    return mine != theirs and 2 * len(mine & theirs) >= max(len(mine), len(theirs)) > 1


def same_matter(one: str, other: str) -> bool:
    """Whether two sentences are about the same but for one value, and of the same time."""
    if common_share(one, other) < SAME:
        return False
    own, there = quantities(one), quantities(other)
    dated = [q for q in chain(own, there) if _is_time(q)]
    only_times = len(dated) == len(own) + len(there)
    return only_times or _times(own) == _times(there)


def _times(found: Sequence[Quantity]) -> set[frozenset[float]]:
    return {one.values for one in found if _is_time(one)}


def _is_time(one: Quantity) -> bool:
    """Whether a quantity is a year or a month."""
    return one.unit == "month" or (not one.unit and all(1900 <= v <= 2100 for v in one.values))
