"""Corrects misspelt words of the question, and says so."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ragstone.core.chunk import is_summary_id
from ragstone.core.events import Note, correction_notice
from ragstone.core.filters import And, exclude_hidden, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.dictionary import english
from ragstone.language.unicode import find_plain_words
from ragstone.ports import Adapters, Search, find_collection
from ragstone.understand.misspelling import one_edit
from ragstone.understand.question_words import Unknown, inflections, unknown_words
from ragstone.understand.spelling import Corpus, Corrected, candidates, correct

_YEAR = r"((?:19|20)\d\d|\d\d)\b"
_FISCAL = re.compile(rf"\bFY[-'’]?{_YEAR}", re.IGNORECASE)
_PART = re.compile(
    rf"\b(?:([QH])([1-4])(?:['’]|-?(?=\d{{4}}))|([1-4])([QH])['’]?){_YEAR}", re.IGNORECASE
)
"""Of "H264" it cannot be told whether it is a half of 1964."""

_NAMES = {
    "Q": ("first quarter", "second quarter", "third quarter", "fourth quarter"),
    "H": ("first half", "second half"),
}
_CENTURY = 50
"""Years of two digits below this one are of this century."""


@dataclass(frozen=True, slots=True)
class Period:
    """A code as the question has it, as words are looked up, and in words."""

    written: str
    code: str
    spelt: str


def find_periods(question: str) -> list[Period]:
    """Return the codes of periods in a question."""
    found = [
        _period(match, f"fiscal year {_whole_year(match[1])}")
        for match in _FISCAL.finditer(question)
    ]
    for match in _PART.finditer(question):
        kind, number = (match[1] or match[4]).upper(), int(match[2] or match[3])
        if number <= len(_NAMES[kind]):
            name = _NAMES[kind][number - 1]
            found.append(_period(match, f"{name} of {_whole_year(match[5])}"))
    return found


def _period(match: re.Match[str], spelt: str) -> Period:
    return Period(match.group(), re.sub(r"\W", "", match.group().casefold()), spelt)


def _whole_year(year: str) -> str:
    return year if len(year) == 4 else f"{20 if int(year) < _CENTURY else 19}{year}"


def spell_out(corrected: Corrected, periods: Sequence[Period]) -> Corrected:
    """Return the question with these periods in words."""
    text = corrected.text
    for period in periods:
        text = re.sub(rf"\b{re.escape(period.written)}\b", period.spelt, text)
    changes = tuple((period.written, period.spelt) for period in periods)
    return Corrected(text, (*corrected.changes, *changes))


_CODE = re.compile(r"\b[a-z]+\d+\b|\b\d+[a-z]\d+\b")
"""A code such as "fy2021" or "3q19", in small letters."""

READ = 3
"""Chunks that are read to see whether a word is in them as it is spelt."""

LONG = 5
"""Letters of an unknown word from which words one edit away that only the collection holds are
looked for: short words have too many neighbours to mean something."""


class Correct(Stage):
    """Searches with the corrected question as well, and answers it.

    Words that the caller can find in the collection are left alone, and corrections that only the
    collection knows come from chunks that the caller may read.
    """

    name: ClassVar[str] = "correct"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    gives: ClassVar[frozenset[str]] = frozenset({"question", "original"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        unknown, meant = await asyncio.to_thread(_unknown_and_candidates, turn.question)
        periods = find_periods(turn.question)
        if not unknown and not periods:
            return Step(turn, "unchanged", "no unknown words, or not in English")
        typed = {item.word for item in unknown} | {period.code for period in periods}
        corpus = await _corpus(turn.ask, typed, meant, adapters)
        found = await asyncio.to_thread(_correct, turn.question, unknown, corpus)
        found = spell_out(found, [p for p in periods if not (corpus and corpus.seen.get(p.code))])
        if not found.changes:
            return Step(turn, "unchanged", f"left alone: {', '.join(sorted(typed))}")
        await emit(Note(self.name, correction_notice(found.text)))
        changes = ", ".join(f"{wrong} to {right}" for wrong, right in found.changes)
        return Step(
            replace(turn, question=found.text, original=turn.question), "corrected", changes
        )


def _unknown_and_candidates(question: str) -> tuple[list[Unknown], set[str]]:
    """Return the unknown words, and those of the dictionary that may have been meant."""
    unknown = unknown_words(question, english())
    return unknown, {found.word for item in unknown for found in candidates(item.word, english())}


def _correct(question: str, unknown: Sequence[Unknown], corpus: Corpus | None) -> Corrected:
    return correct(question, unknown, english(), corpus)


async def _corpus(ask: Ask, typed: set[str], meant: set[str], adapters: Adapters) -> Corpus | None:
    """Return what the caller can find of the unknown words and of those that may have been meant.

    None if that is nothing: then only the dictionary speaks. Nothing here may depend on words that
    the caller cannot find, so every word of the vocabulary is looked up, not the best of them.
    """
    collection = await find_collection(adapters.catalog, ask)
    if collection is None or adapters.external_retriever is not None:
        return None
    near = {word: one_edit(word) if len(word) >= LONG else frozenset[str]() for word in typed}
    known = await adapters.vocabulary.find_words(collection, meant.union(*near.values()))
    own = frozenset[str]().union(*(known & words for words in near.values())) - meant
    seen = await _chunk_counts(ask, collection, adapters, typed, own, known & meant)
    if not seen:
        return None
    return Corpus(seen, {word: sorted(near[word] & seen.keys()) for word in typed})


async def _chunk_counts(
    ask: Ask,
    collection: Collection,
    adapters: Adapters,
    typed: Set[str],
    own: Set[str],
    meant: Set[str],
) -> Mapping[str, int]:
    """In how many chunks (at most `READ`) that the caller may read each word was found.

    The index compares words by their stems. That will do for `meant` words of the dictionary.
    The collection's `own` must be in the chunk as they are, or a form that only others may read
    would be given away; `typed` ones must be there up to their ending.
    """
    words = [*sorted(typed), *sorted(own), *sorted(meant)]
    async with adapters.catalog.snapshot(collection) as hidden:
        where = And((reader_filter(ask.principal), exclude_hidden(hidden)))
        lists = await adapters.index.search(
            collection, [Search(word) for word in words], where, READ
        )
        found = {
            word: [item.chunk_id for item in ranked.found if not is_summary_id(item.chunk_id)]
            for word, ranked in zip(words, lists, strict=True)
        }
        read = sorted({item for word in typed | own for item in found[word]})
        chunks = await adapters.index.fetch(collection, read)
    held = {
        # Plain words are letters alone: codes are looked for as they stand.
        chunk_id: find_plain_words(chunk.searchable)
        | set(_CODE.findall(chunk.searchable.casefold()))
        for chunk_id, chunk in chunks.items()
    }

    def holds(word: str, chunk_id: str) -> bool:
        if word in meant:
            return True
        there = held.get(chunk_id, set())
        return word in there or (word in typed and not there.isdisjoint(inflections(word)))

    return +Counter({word: sum(holds(word, item) for item in found[word]) for word in words})
