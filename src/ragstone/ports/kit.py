"""One adapter of each port, for the stages."""

from dataclasses import dataclass

from ragstone.ports.answering import Answerer, Completer, History
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.checking import Checker
from ragstone.ports.embedding import Embedders
from ragstone.ports.guarding import Topics
from ragstone.ports.index import ChunkIndex, Retriever
from ragstone.ports.intents import IntentExamples
from ragstone.ports.reranking import Reranker, Statistics
from ragstone.ports.vocabulary import Vocabulary


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
    intents: IntentExamples | None = None
    topics: Topics | None = None
    vocabulary: Vocabulary | None = None
    cache: Cache | None = None
    checker: Checker | None = None
