"""Haystack: a pipeline of InMemoryBM25Retriever, InMemoryEmbeddingRetriever and DocumentJoiner, as
its tutorial on hybrid retrieval shows, without its ranker."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.peers.chinese import PAIRS
from benchmarks.peers.exported import Exported
from benchmarks.peers.side import CANDIDATES, DEPTH, VECTORS, Search, main

USUAL = "reciprocal_rank_fusion"

MODES: dict[str, dict[str, Any]] = {
    "concatenate": {},
    "merge": {},
    "merge scaled": {"scale_score": True},
    "reciprocal_rank_fusion": {},
    "distribution_based_rank_fusion": {},
}
"""The joiner's default first; scaled scores of both retrievers lie in 0..1, as `merge` needs."""

WORDS: dict[str, dict[str, dict[str, Any]]] = {
    "zh": {"default words": {}, "pairs": {"bm25_tokenization_regex": PAIRS}}
}


@component
class Known:
    """Gives the exported vectors of questions, in the place of a text embedder."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._vectors[text]}


@contextmanager
def opened(data: Exported) -> Iterator[Mapping[str, Search]]:
    rows = list(zip(data.ids, data.texts, data.vectors(), strict=True))
    vectors = data.question_vectors()
    searches: dict[str, Search] = {}
    for name, words in WORDS.get(data.language, {"default words": {}}).items():
        store = InMemoryDocumentStore(**words)
        store.write_documents([Document(id=i, content=t, embedding=v) for i, t, v in rows])
        for mode in [USUAL] if data.usual else MODES:
            searches[f"{mode}, {name}"] = _search(store, vectors, mode.split()[0], MODES[mode])
    alone = InMemoryEmbeddingRetriever(store, top_k=DEPTH)
    searches[VECTORS] = lambda question: [
        document.id for document in alone.run(vectors[question])["documents"]
    ]
    yield searches


def _search(
    store: InMemoryDocumentStore,
    vectors: dict[str, list[float]],
    mode: str,
    options: dict[str, Any],
) -> Search:
    both = Pipeline()
    both.add_component("embedder", Known(vectors))
    both.add_component("near", InMemoryEmbeddingRetriever(store, top_k=CANDIDATES, **options))
    both.add_component("bm25", InMemoryBM25Retriever(store, top_k=CANDIDATES, **options))
    both.add_component("joiner", DocumentJoiner(join_mode=mode, top_k=DEPTH))
    both.connect("embedder.embedding", "near.query_embedding")
    both.connect("bm25", "joiner")
    both.connect("near", "joiner")

    def search(question: str) -> list[str]:
        found = both.run({"embedder": {"text": question}, "bm25": {"query": question}})
        return [document.id for document in found["joiner"]["documents"]]

    return search


if __name__ == "__main__":
    main(opened)
