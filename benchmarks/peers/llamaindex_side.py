"""LlamaIndex: QueryFusionRetriever over a vector index and BM25Retriever, as its documentation
on reciprocal rank fusion and on relative score fusion shows, without generated queries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import faiss
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore
from pydantic import PrivateAttr

from benchmarks.peers.chinese import CHARACTERS, PAIRS
from benchmarks.peers.exported import Exported
from benchmarks.peers.side import CANDIDATES, DEPTH, VECTORS, Search, main

USUAL = "reciprocal_rerank"

MODES: dict[str, dict[str, Any]] = {
    "simple": {},
    "reciprocal_rerank": {"mode": "reciprocal_rerank"},
    "relative_score": {"mode": "relative_score"},
    "dist_based_score": {"mode": "dist_based_score"},
    "relative_score 60:40": {"mode": "relative_score", "retriever_weights": [0.6, 0.4]},
    "dist_based_score 60:40": {"mode": "dist_based_score", "retriever_weights": [0.6, 0.4]},
}
"""The default mode first; the documentation of relative scores weights vectors 60, BM25 40."""

UNSTEMMED = {"skip_stemming": True, "language": "zh"}
WORDS: dict[str, dict[str, dict[str, Any]]] = {
    "zh": {
        "default words": {},
        "characters": {"token_pattern": CHARACTERS, **UNSTEMMED},
        "pairs": {"token_pattern": PAIRS, **UNSTEMMED},
    }
}


class Known(BaseEmbedding):
    """Gives the exported vectors of questions; nodes come with theirs."""

    _vectors: dict[str, list[float]] = PrivateAttr()

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        super().__init__()
        self._vectors = vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vectors[query]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vectors[query]

    def _get_text_embedding(self, text: str) -> list[float]:
        raise NotImplementedError


@contextmanager
def opened(data: Exported) -> Iterator[Mapping[str, Search]]:
    rows = zip(data.ids, data.texts, data.vectors(), strict=True)
    nodes = [TextNode(id_=item, text=text, embedding=row) for item, text, row in rows]
    known = Known(data.question_vectors())
    store = FaissVectorStore(faiss.IndexFlatIP(len(nodes[0].embedding or ())))
    context = StorageContext.from_defaults(vector_store=store)
    near = VectorStoreIndex(nodes, storage_context=context, embed_model=known)
    searches: dict[str, Search] = {}
    for name, words in WORDS.get(data.language, {"default words": {}}).items():
        bm25 = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES, **words)
        for mode in [USUAL] if data.usual else MODES:
            searches[f"{mode}, {name}, FAISS"] = _search(near, bm25, MODES[mode])
    if not data.usual:
        plain = VectorStoreIndex(nodes, embed_model=known)
        searches["simple, in-memory vectors"] = _search(plain, bm25, {})
    alone = near.as_retriever(similarity_top_k=DEPTH)
    searches[VECTORS] = lambda question: [f.node.node_id for f in alone.retrieve(question)]
    yield searches


def _search(index: VectorStoreIndex, bm25: BaseRetriever, options: dict[str, Any]) -> Search:
    both = [index.as_retriever(similarity_top_k=CANDIDATES), bm25]
    fused = QueryFusionRetriever(
        both, llm=MockLLM(), num_queries=1, similarity_top_k=DEPTH, use_async=False, **options
    )
    return lambda question: [found.node.node_id for found in fused.retrieve(question)]


if __name__ == "__main__":
    main(opened)
