"""Finds every document that says what a question asks all documents for."""

from collections.abc import Set
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.document import STRUCK
from ragstone.language.words import content_word_set, similar_words
from ragstone.retrieve.searching import CollectionCandidates, Searching
from ragstone.retrieve.strategies import in_order

MAX_CHUNKS = 2000
"""Chunks that a search by words may give."""


async def documents_saying(
    search: Searching, about: str, found: CollectionCandidates
) -> CollectionCandidates | None:
    """Find of each document the best chunk that has all words of `about`; None where none has.

    Only what the filter of the search lets through is looked at, so nobody is told a number that
    holds documents which they may not read.
    """
    wanted = content_word_set(about)
    wide = replace(search, plan=replace(search.plan, candidates=MAX_CHUNKS), summaries=None)
    [ranked] = await wide.lists((), [about])
    ids = [item.chunk_id for item in ranked.found]
    chunks = await search.adapters.index.fetch(search.collection, ids)
    best: dict[str, Chunk] = {}
    for chunk in (chunks[id] for id in ids if id in chunks):
        if chunk.kind != STRUCK and wanted and says_all(f"{chunk.heading}\n{chunk.text}", wanted):
            best.setdefault(chunk.document_id, chunk)
    return replace(in_order(about, found, [*best.values()]), whole=True) if best else None


def says_all(text: str, wanted: Set[str]) -> bool:
    """Tell whether a text has all of these words, in whichever form."""
    missing = wanted - content_word_set(text)
    return not missing - similar_words(missing, text.casefold())
