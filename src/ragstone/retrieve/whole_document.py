"""Finds the document, or the section of one, that a question wants summed up.

What the question calls it is compared with the path, the title and the beginning of documents that
a search proposes, then with the headings of their sections. Nothing is summed up on a guess: where
neither is called so, the question is answered like any other, or from all documents where the plan
says that these are meant.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from ragstone.core.chunk import Chunk
from ragstone.core.filters import CURRENT_TEXT, And, eq
from ragstone.language.quantities import quantities
from ragstone.language.words import STOPWORDS, words
from ragstone.retrieve.fusion import fuse
from ragstone.retrieve.searching import CollectionCandidates, Searching
from ragstone.retrieve.strategies import hybrid, in_order, read_all, read_documents

PROPOSED = 12
"""Documents whose names and beginnings are looked at."""

MAX_OPENINGS = 1000
"""Documents among which one is looked for that introduces the others."""

OPENING_CHARS = 600
"""Of a document's beginning: about a title page or the head of a mail."""

OPENING = 0.8
"""What a word is worth that stands in a document's beginning only."""

CLEARLY = 0.1
"""Added for a name that has nothing else in it; a section's has to have little else."""

NAMED, NAMED_SECTION = 0.6, 0.75
"""The share of what the question calls it by which a document, or a section, is meant."""

ROOTS = frozenset({"readme", "index", "about", "overview", "introduction", "home", "start", "main"})
"""Names of files that say what all the others are about."""

_PIECE = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Whole:
    """A document or section, and how surely it is meant."""

    document_id: str
    section: tuple[str, ...]
    worth: float


async def whole_document(
    search: Searching, question: str, name: str, found: CollectionCandidates
) -> CollectionCandidates | None:
    """The chunks of what `name` means, in order; None where no document is called so. An empty name
    means the first document that `found` proposes, or the one that introduces the others."""
    proposed = _scores(search, found)
    known = dict(found.chunks)
    if name:
        more = await hybrid(replace(search, parts=True), (name,))
        for document, score in _scores(search, more).items():
            proposed[document] = max(score, proposed.get(document, 0.0))
        known |= more.chunks
    documents = sorted(proposed, key=lambda item: (-proposed[item], item))[:PROPOSED]
    everything = search.plan.sums_up_all
    if not documents and not everything:
        return None
    if not name and everything:
        inside = await read_all(search)
    else:
        openings = await _openings(search.limit_to_documents(documents) if name else search)
        inside = await _inside(search, _pieces(name), openings, known.values(), proposed)
        if not inside and everything:
            inside = await read_all(search)
    return replace(in_order(question, found, inside), whole=True) if inside else None


async def _inside(
    search: Searching,
    asked: frozenset[str],
    openings: Mapping[str, Chunk],
    known: Iterable[Chunk],
    proposed: Mapping[str, float],
) -> list[Chunk]:
    """Return the chunks of the documents, or of the document or section, that are called so."""
    if several := _several(asked, openings):
        return await read_documents(search, several)
    meant = _find_named(asked, openings, known, proposed)
    if meant is None:
        return []
    chunks = await read_documents(search, [meant.document_id])
    depth = len(meant.section)
    return (
        [chunk for chunk in chunks if chunk.section[:depth] == meant.section] if depth else chunks
    )


def _several(asked: frozenset[str], openings: Mapping[str, Chunk]) -> list[str]:
    """Return the documents whose whole names stand in what is asked for, where that are several
    which only together say most of it."""
    names = {item: _pieces(_stem(opening)) for item, opening in openings.items()}
    called = {item: name for item, name in names.items() if name and name <= asked}
    together = frozenset[str]().union(*called.values())
    alone = max((len(name) for name in called.values()), default=0)
    if len(together) < NAMED * len(asked) or len(together) == alone:
        return []
    return sorted(called)


def _scores(search: Searching, found: CollectionCandidates) -> dict[str, float]:
    """Return the best score of each document."""
    best: dict[str, float] = {}
    for chunk_id, score in fuse(found.lists, search.weights(found.feedback)).items():
        if chunk := found.chunks.get(chunk_id):
            best[chunk.document_id] = max(score, best.get(chunk.document_id, 0.0))
    return best


async def _openings(search: Searching) -> dict[str, Chunk]:
    """Return the first chunks of the documents that are searched, of so many as are looked at."""
    found: dict[str, Chunk] = {}
    where = And((search.where, CURRENT_TEXT, eq("chunk_index", 0)))
    async for batch in search.adapters.index.scan(search.collection, where):
        found |= {chunk.document_id: chunk for chunk in batch}
        if len(found) >= MAX_OPENINGS:
            break
    return found


def _find_named(
    asked: frozenset[str],
    openings: Mapping[str, Chunk],
    known: Iterable[Chunk],
    proposed: Mapping[str, float],
) -> _Whole | None:
    """Return what is called so most clearly."""
    if not asked:
        return _find_introduction(openings, proposed)
    found = [_document(asked, opening) for opening in openings.values()]
    sections = {
        (chunk.document_id, chunk.section[: depth + 1])
        for chunk in known
        for depth in range(len(chunk.section))
    }
    found += [_section(asked, document, section) for document, section in sections]
    found = [item for item in found if item.worth >= (NAMED_SECTION if item.section else NAMED)]
    return max(
        found,
        key=lambda item: (item.worth, proposed.get(item.document_id, 0.0), item.document_id),
        default=None,
    )


def _find_introduction(
    openings: Mapping[str, Chunk], proposed: Mapping[str, float]
) -> _Whole | None:
    """The file nearest to the top that tells what the others are about, else the first proposed."""
    roots = [opening for opening in openings.values() if _stem(opening).casefold() in ROOTS]
    if roots:
        first = min(roots, key=lambda item: (len(item.folders), item.path))
        return _Whole(first.document_id, (), 0.0)
    known = [opening for opening in openings if opening in proposed]
    best = max(known, key=lambda item: (proposed[item], item), default=None)
    return _Whole(best, (), 0.0) if best else None


def _document(asked: frozenset[str], opening: Chunk) -> _Whole:
    own = _pieces(f"{_stem(opening)} {opening.title} {opening.subject}")
    name = own | _pieces(" ".join(opening.folders[-1:]))
    begin = _pieces(f"{' '.join(opening.section)} {opening.text[:OPENING_CHARS]}")
    held = [1.0 if text in name else OPENING * (text in begin) for text in asked]
    return _Whole(opening.document_id, (), sum(held) / len(asked) + _clearly(asked, own))


def _section(asked: frozenset[str], document: str, section: tuple[str, ...]) -> _Whole:
    own = _pieces(section[-1])
    return _Whole(document, section, len(asked & own) / len(asked) + _clearly(asked, own) - CLEARLY)


def _clearly(asked: frozenset[str], own: frozenset[str]) -> float:
    """Return what is added for a name that has little else in it."""
    return CLEARLY * len(asked & own) / len(own) if own else 0.0


def _stem(chunk: Chunk) -> str:
    return PurePosixPath(chunk.path).stem


@lru_cache(2048)
def _pieces(text: str) -> frozenset[str]:
    """Return the words and numbers of a name, months as numbers: those of "12 March 2025" stand in
    `minutes-2025-03-12` too."""
    months = (quantity for quantity in quantities(text) if quantity.unit == "month")
    found = {f"{value:g}" for month in months for value in month.values}
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece.isdecimal():
            found.add(piece.lstrip("0") or "0")
        else:
            found |= {word for word in words(piece) if word not in STOPWORDS}
    return frozenset(found)
