"""What the filters of LlamaIndex, Haystack and LangChain let through, and what comes without."""

from collections.abc import Sequence
from typing import Any

import faiss
from haystack import Document
from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from langchain_community.retrievers import BM25Retriever as LangChainBM25
from langchain_community.vectorstores import FAISS
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore

from benchmarks.peers.langchain_side import Known as LangChainKnown
from benchmarks.peers.llamaindex_side import Known
from benchmarks.peers.rights_texts import FIRST, READERS, TEXTS, VECTORS, Find, main

ROWS = VECTORS.tolist()
KNOWN = dict(zip(TEXTS, ROWS, strict=True))


def llamaindex() -> dict[str, Find]:
    nodes = [
        TextNode(id_=str(n), text=text, embedding=row, metadata={"readers": reader})
        for n, (text, row, reader) in enumerate(zip(TEXTS, ROWS, READERS, strict=True))
    ]
    filters = MetadataFilters(filters=[MetadataFilter(key="readers", value="everyone")])
    store = StorageContext.from_defaults(
        vector_store=FaissVectorStore(faiss.IndexFlatIP(len(ROWS[0])))
    )
    plain = VectorStoreIndex(nodes, embed_model=Known(KNOWN))
    quick = VectorStoreIndex(nodes, storage_context=store, embed_model=Known(KNOWN))

    def ask(retriever: BaseRetriever, question: int) -> list[int]:
        return [int(found.node.node_id) for found in retriever.retrieve(TEXTS[question])]

    def by_vectors(index: VectorStoreIndex) -> Find:
        def find(question: int, is_filtered: bool) -> list[int]:
            options = {"filters": filters} if is_filtered else {}
            return ask(index.as_retriever(similarity_top_k=FIRST, **options), question)

        return find

    def by_words(question: int, is_filtered: bool) -> list[int]:
        options: dict[str, Any] = {"filters": filters} if is_filtered else {}
        bm25 = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=FIRST, **options)
        return ask(bm25, question)

    return {"vectors": by_vectors(plain), "vectors in FAISS": by_vectors(quick), "words": by_words}


def haystack() -> dict[str, Find]:
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(id=str(n), content=text, embedding=row, meta={"readers": reader})
            for n, (text, row, reader) in enumerate(zip(TEXTS, ROWS, READERS, strict=True))
        ]
    )
    condition = {"field": "meta.readers", "operator": "==", "value": "everyone"}
    near = InMemoryEmbeddingRetriever(store, top_k=FIRST)
    bm25 = InMemoryBM25Retriever(store, top_k=FIRST)

    def ids(found: dict[str, Any]) -> Sequence[int]:
        return [int(document.id) for document in found["documents"]]

    def by_vectors(question: int, is_filtered: bool) -> Sequence[int]:
        return ids(near.run(ROWS[question], filters=condition if is_filtered else None))

    def by_words(question: int, is_filtered: bool) -> Sequence[int]:
        return ids(bm25.run(TEXTS[question], filters=condition if is_filtered else None))

    return {"vectors": by_vectors, "words": by_words}


def langchain() -> dict[str, Find]:
    metadata = [{"number": n, "readers": reader} for n, reader in enumerate(READERS)]
    pairs = zip(TEXTS, ROWS, strict=True)
    store = FAISS.from_embeddings(pairs, LangChainKnown(KNOWN), metadata)
    bm25 = LangChainBM25.from_texts(TEXTS, metadata, k=FIRST)

    def by_vectors(question: int, is_filtered: bool) -> list[int]:
        options = {"filter": {"readers": "everyone"}} if is_filtered else {}
        found = store.similarity_search(TEXTS[question], FIRST, **options)
        return [document.metadata["number"] for document in found]

    def by_words(question: int, is_filtered: bool) -> list[int]:
        if is_filtered:
            raise NotImplementedError("BM25Retriever has no filter")
        return [document.metadata["number"] for document in bm25.invoke(TEXTS[question])]

    return {"vectors in FAISS": by_vectors, "words": by_words}


if __name__ == "__main__":
    sides = {"LlamaIndex": llamaindex, "Haystack": haystack, "LangChain": langchain}
    main({f"{who}, {how}": find for who, side in sides.items() for how, find in side().items()})
