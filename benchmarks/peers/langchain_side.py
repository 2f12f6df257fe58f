"""LangChain: EnsembleRetriever over BM25Retriever and FAISS with equal weights, as its
documentation of that retriever shows."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import jieba
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.embeddings import Embeddings
from Stemmer import Stemmer

from benchmarks.peers.chinese import PAIRS
from benchmarks.peers.exported import Exported
from benchmarks.peers.side import CANDIDATES, DEPTH, VECTORS, Search, main

Words = Callable[[str], list[str]]

ENGLISH = Stemmer("english")


def stem(text: str) -> list[str]:
    """Lower case, without punctuation, English endings cut."""
    stems: list[str] = ENGLISH.stemWords(re.findall(r"\w+", text.lower()))
    return stems


def pairs(text: str) -> list[str]:
    """Return pairs of Chinese characters."""
    return re.findall(PAIRS, text.lower())


WORDS: dict[str, dict[str, Words]] = {
    "en": {"default words": str.split, "stemmed words": stem},
    "zh": {"default words": str.split, "jieba's words": jieba.lcut, "pairs": pairs},
}
"""The default of BM25Retriever first, then better functions for its `preprocess_func`."""


class Known(Embeddings):
    """Gives the exported vectors of questions; chunks come with theirs."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError


@contextmanager
def opened(data: Exported) -> Iterator[Mapping[str, Search]]:
    names = [{"chunk": item} for item in data.ids]
    pairs_of = zip(data.texts, data.vectors(), strict=True)
    store = FAISS.from_embeddings(pairs_of, Known(data.question_vectors()), names)
    near = store.as_retriever(search_kwargs={"k": CANDIDATES})
    searches = {}
    variants = list(WORDS[data.language].items())
    for name, words in variants[: 1 if data.usual else None]:
        bm25 = BM25Retriever.from_texts(data.texts, names, preprocess_func=words, k=CANDIDATES)
        searches[name] = _search(EnsembleRetriever(retrievers=[bm25, near]))
    searches[VECTORS] = lambda question: [
        found.metadata["chunk"] for found in store.similarity_search(question, DEPTH)
    ]
    yield searches


def _search(both: EnsembleRetriever) -> Search:
    return lambda question: [found.metadata["chunk"] for found in both.invoke(question)]


if __name__ == "__main__":
    main(opened)
