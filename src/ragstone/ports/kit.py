"""One adapter of each port, for the stages."""

from dataclasses import dataclass

from ragstone.ports.answering import Answerer, Completer, History
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.embedding import Embedders
from ragstone.ports.index import ChunkIndex, Retriever
from ragstone.ports.reranking import Reranker, Statistics


@dataclass(frozen=True, slots=True)
class Kit:
    """One adapter of each port, for the stages."""

    index: ChunkIndex
    catalog: Catalog
    embedders: Embedders
    answerer: Answerer
    history: History
    reranker: Reranker
    statistics: Statistics
    completer: Completer | None = None
    elsewhere: Retriever | None = None
    cache: Cache | None = None
