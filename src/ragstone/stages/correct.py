"""Corrects misspelt words of the question, and says so."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.events import Note, showing_results_for
from ragstone.filters import And, AnyOf, Not, readable
from ragstone.ports import Kit, Search
from ragstone.records import Collection
from ragstone.stage import Emit, Stage, Step
from ragstone.text.dictionary import english
from ragstone.text.misspelling import one_edit
from ragstone.text.plain_words import plain_words
from ragstone.text.question_words import Unknown, unknown_words
from ragstone.text.spelling import Corpus, Corrected, candidates, correct
from ragstone.turn import Ask, Turn

READ = 2
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

    timeout: float = Field(3.0, gt=0, description="Seconds that the correction may take.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        unknown, meant = await asyncio.to_thread(_read, turn.question)
        if not unknown:
            return Step(turn, "unchanged", "no unknown words, or not in English")
        corpus = await _corpus(turn.ask, {one.word for one in unknown}, meant, kit)
        found = await asyncio.to_thread(_corrected, turn.question, unknown, corpus)
        if not found.changes:
            words = ", ".join(one.word for one in unknown)
            return Step(turn, "unchanged", f"left alone: {words}")
        await emit(Note(self.name, showing_results_for(found.text)))
        changes = ", ".join(f"{wrong} to {right}" for wrong, right in found.changes)
        return Step(
            replace(turn, question=found.text, original=turn.question), "corrected", changes
        )


def _read(question: str) -> tuple[list[Unknown], set[str]]:
    """The unknown words, and those of the dictionary that may have been meant."""
    unknown = unknown_words(question, english())
    return unknown, {found.word for one in unknown for found in candidates(one.word, english())}


def _corrected(question: str, unknown: Sequence[Unknown], corpus: Corpus | None) -> Corrected:
    return correct(question, unknown, english(), corpus)


async def _corpus(ask: Ask, typed: set[str], meant: set[str], kit: Kit) -> Corpus | None:
    """What the caller can find of the unknown words and of those that may have been meant.

    None if that is nothing: then only the dictionary speaks. Nothing here may depend on words that
    the caller cannot find, so every word of the vocabulary is looked up, not the best of them.
    """
    collection = await kit.catalog.collection(ask.principal.tenant, ask.collection)
    if collection is None or kit.vocabulary is None or kit.elsewhere is not None:
        return None
    near = {word: one_edit(word) if len(word) >= LONG else frozenset[str]() for word in typed}
    known = await kit.vocabulary.known(collection, meant.union(*near.values()))
    rare = typed.union(*(known & words for words in near.values())) - meant
    seen = await _found(ask, collection, kit, sorted(rare), sorted(known & meant))
    return (
        Corpus(seen, {word: sorted(near[word] & seen.keys()) for word in typed}) if seen else None
    )


async def _found(
    ask: Ask, collection: Collection, kit: Kit, exactly: Sequence[str], roughly: Sequence[str]
) -> Mapping[str, int]:
    """How many chunks (at most `READ`) that the caller may read hold each word.

    The index compares words by their stems. That will do for words of the dictionary; the others
    must be in the chunk as they are, or a form that only others may read would be given away.
    """
    words = [*exactly, *roughly]
    async with kit.catalog.seeing() as hidden:
        where = And((readable(ask.principal), Not(AnyOf("revision", tuple(sorted(hidden))))))
        lists = await kit.index.search(collection, [Search(word) for word in words], where, READ)
        ids = {one.chunk_id for ranked in lists[: len(exactly)] for one in ranked.found}
        chunks = await kit.index.fetch(collection, sorted(ids))
    held = {chunk_id: plain_words(chunk.searchable) for chunk_id, chunk in chunks.items()}
    counts = Counter[str]()
    for word, ranked in zip(words, lists, strict=True):
        ids = {one.chunk_id for one in ranked.found}
        exact = word in exactly
        counts[word] = sum(word in held.get(one, ()) for one in ids) if exact else len(ids)
    return +counts
