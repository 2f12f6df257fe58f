"""The strategies of a search: how a plan's queries become candidates."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.filters import CURRENT_TEXT, And
from ragstone.core.turn import RankedList, Scored, Strategy
from ragstone.language.words import STOPWORDS, content_word_set, words
from ragstone.retrieve.fusion import fuse
from ragstone.retrieve.searching import MIN_FEEDBACK, CollectionCandidates, Searching

DOCUMENTS = 5
"""Documents that a hierarchical search goes into."""

CHUNKS_OF_A_DOCUMENT = 3
"""The best chunks of a document speak for it."""

SPARE = 2
"""Chunks read for one that is wanted, since grading drops some."""

ROUNDS = 3
HOP_CHUNKS = 3
HOP_WORDS = 12

MAX_READ = 10_000
"""Chunks that are looked at, of which `IN_ORDER` are read."""

NO_GRAPH = (
    "The entity graph leads nowhere from this question (rag.knowledge_graph_enabled): it was "
    "searched by meaning and words."
)

NO_THEMES = (
    "No theme of the entity graph is about this question (rag.knowledge_graph_enabled, and the "
    "extra `graph`): it was searched by meaning and words."
)

Strategist = Callable[[Searching, Sequence[str]], Awaitable[CollectionCandidates]]


async def dense(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Search by meaning only."""
    meant = (*queries, *search.imagined)
    vectors, encoded = await search.encode(meant)
    lists = await search.lists(zip(meant, vectors, strict=True), ())
    return await _read_chunks(search, lists, CollectionCandidates((), {}, encoded))


async def bm25(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Search by words only."""
    return await _read_chunks(search, await search.lists((), queries), CollectionCandidates((), {}))


async def hybrid(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """By meaning and by words, all queries at once; the question also by late interaction, where
    the collection is searched by it. A topical question is refined.

    Imagined passages are compared by meaning only: their words are guesses.
    """
    meant = (*queries, *search.imagined)
    (vectors, encoded), share = await asyncio.gather(
        search.encode(meant), _feedback_share(search, queries[0])
    )
    lists = await search.lists(zip(meant, vectors, strict=True), queries, encoded)
    if share:
        refined = await search.refine(encoded, queries[0], lists)
        lists += [refined] if refined else []
    return await _read_chunks(search, lists, CollectionCandidates((), {}, encoded, share))


async def hierarchical(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Search first for the documents that speak of it, then the chunks inside them."""
    first = await hybrid(search, queries)
    ids = best_documents(search, first)
    return await hybrid(search.limit_to_documents(ids), queries) if ids else first


async def sequential(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Return every chunk of the best document, in reading order: for summaries."""
    first = await hybrid(search, queries)
    ids = best_documents(search, first)[:1]
    if not ids:
        return first
    return in_order(queries[0], first, await read_documents(search, ids))


async def read_documents(search: Searching, ids: Sequence[str]) -> list[Chunk]:
    """Return the chunks of documents, those of each in order."""
    return await read_all(search.limit_to_documents(ids))


async def read_all(search: Searching) -> list[Chunk]:
    """The chunks of every document that is searched, by their paths, those of each in order."""
    chunks: list[Chunk] = []
    where = And((search.where, CURRENT_TEXT))
    async for batch in search.adapters.index.scan(search.collection, where):
        chunks += batch
        if len(chunks) >= MAX_READ:
            break
    return sorted(chunks, key=lambda item: (item.path, item.document_id, item.chunk_index))


def in_order(
    query: str, found: CollectionCandidates, chunks: Sequence[Chunk]
) -> CollectionCandidates:
    """Return these chunks instead of what was found, ranked as they stand."""
    places = tuple(Scored(c.chunk_id, 1 - i / len(chunks)) for i, c in enumerate(chunks))
    order = RankedList("order", query, places)
    return replace(found, lists=(order,), chunks={c.chunk_id: c for c in chunks}, feedback=0.0)


async def iterative(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Return several rounds: what the best chunks name that the question does not is asked next.

    Ends when a round finds nothing new among the best.
    """
    asked = list(queries)
    found = await hybrid(search, asked)
    for _ in range(ROUNDS - 1):
        following = hop(asked[0], _best_chunks(search, found))
        if not following or following in asked:
            break
        asked.append(following)
        vectors, _ = await search.encode([following])
        lists = [*found.lists, *await search.lists([(following, vectors[0])], [following])]
        before = set(list(fuse(found.lists, search.weights()))[: search.plan.top_k])
        found = await _read_chunks(search, lists, found)
        after = set(list(fuse(found.lists, search.weights()))[: search.plan.top_k])
        if after <= before:
            break
    return found


async def graph(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Search both levels of the entity graph, fused with a hybrid search."""
    return await _over_graph(search, queries, low=True, high=True)


async def graph_low(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Over the names in the question and in what a hybrid search finds, two hops far, fused with
    that search."""
    return await _over_graph(search, queries, low=True, high=False)


async def graph_high(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    """Over themes that the question speaks of and that a hybrid search finds, fused with that
    search."""
    return await _over_graph(search, queries, low=False, high=True)


async def _over_graph(
    search: Searching, queries: Sequence[str], low: bool, high: bool
) -> CollectionCandidates:
    first = await hybrid(search, queries)
    graph = search.adapters.graph
    if graph is None:
        return replace(first, note=NO_GRAPH)
    scores = fuse(first.lists, search.weights(first.feedback))
    asked = (search.collection, search.readers, search.where, queries, scores)
    lists = list(first.lists)
    if low and (related := await graph.find_related(*asked, search.plan.candidates)):
        ranked = tuple(Scored(item.chunk_id, item.score) for item in related)
        lists.append(RankedList("graph", queries[0], ranked))
    if high and (themed := await graph.find_themed(*asked, search.plan.candidates)):
        ranked = tuple(Scored(item.chunk_id, item.score) for item in themed)
        lists.append(RankedList("themes", queries[0], ranked))
    if len(lists) == len(first.lists):
        return replace(first, note=NO_GRAPH if low else NO_THEMES)
    return await _read_chunks(search, lists, first)


STRATEGIES: Mapping[Strategy, Strategist] = {
    "dense": dense,
    "bm25": bm25,
    "hybrid": hybrid,
    "fusion": hybrid,
    "two_stage": hybrid,
    "hierarchical": hierarchical,
    "sequential": sequential,
    "iterative": iterative,
    "graph": graph,
    "graph_low": graph_low,
    "graph_high": graph_high,
}
"""`fusion` is hybrid with the queries that rewriting made; `two_stage` with a wider recall."""


def best_documents(search: Searching, found: CollectionCandidates) -> list[str]:
    """Return the documents of the candidates, by the scores of their best chunks together."""
    scores: dict[str, list[float]] = {}
    for chunk_id, score in fuse(found.lists, search.weights(found.feedback)).items():
        if chunk := found.chunks.get(chunk_id):
            scores.setdefault(chunk.document_id, []).append(score)
    worth = {item: sum(best[:CHUNKS_OF_A_DOCUMENT]) for item, best in scores.items()}
    return sorted(worth, key=lambda item: (-worth[item], item))[:DOCUMENTS]


def hop(question: str, chunks: Sequence[Chunk]) -> str:
    """Return the question with the names that the best chunks add to it; empty if they add none."""
    known = set(words(question))
    asked = content_word_set(question)
    sentences = sorted(chunks, key=lambda c: -len(asked & content_word_set(c.text)))
    names = [
        name
        for chunk in sentences
        for name in chunk.text.split()
        if name[:1].isupper() and name.casefold() not in STOPWORDS
    ]
    fresh = [name.strip(".,;:()'\"") for name in names if not set(words(name)) & known]
    fresh = [name for name in dict.fromkeys(fresh) if name][:HOP_WORDS]
    return f"{question} {' '.join(fresh)}" if fresh else ""


def _best_chunks(search: Searching, found: CollectionCandidates) -> list[Chunk]:
    best = fuse(found.lists, search.weights(found.feedback))
    return [found.chunks[item] for item in best if item in found.chunks][:HOP_CHUNKS]


async def _feedback_share(search: Searching, question: str) -> float:
    """Tell how much a refined search counts: all of it for a topical question, nothing for one that
    names what it wants."""
    if not search.plan.feedback:
        return 0.0
    specific = await search.adapters.statistics.specificity(search.collection, question)
    share = 0.0 if specific is None else 1 - specific
    return share if share >= MIN_FEEDBACK else 0.0


async def _read_chunks(
    search: Searching, lists: Sequence[RankedList], found: CollectionCandidates
) -> CollectionCandidates:
    plan = search.plan
    most = max(plan.reranked if plan.rerank else 0, SPARE * plan.top_k)
    chunks = await search.read(lists, found.feedback, most)
    return replace(found, lists=tuple(lists), chunks=chunks)
