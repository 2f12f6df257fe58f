"""What the stages need from the outside, as Protocols; adapters live in their own packages.

`Kit` bundles one adapter of each for the stages. Only `build.py` makes one.
"""

from ragstone.ports.answering import Answerability, Answerer, Completer, History, Profile, Said
from ragstone.ports.cache import Cache, CacheFigures, Kept, Near
from ragstone.ports.catalog import Catalog, Edition
from ragstone.ports.checking import Checker, Claim, Source, Support
from ragstone.ports.embedding import Embedder, Embedders, LateEmbedder, Vectors
from ragstone.ports.guarding import Topics, TopicStore
from ragstone.ports.index import ChunkIndex, Retriever, Search
from ragstone.ports.intents import IntentExamples, Likeness
from ragstone.ports.kit import Kit
from ragstone.ports.reranking import Judgement, Reranker, Statistics
from ragstone.ports.templates import Templates
from ragstone.ports.vocabulary import Vocabulary

__all__ = [
    "Answerability",
    "Answerer",
    "Cache",
    "CacheFigures",
    "Catalog",
    "Checker",
    "ChunkIndex",
    "Claim",
    "Completer",
    "Edition",
    "Embedder",
    "Embedders",
    "History",
    "IntentExamples",
    "Judgement",
    "Kept",
    "Kit",
    "LateEmbedder",
    "Likeness",
    "Near",
    "Profile",
    "Reranker",
    "Retriever",
    "Said",
    "Search",
    "Source",
    "Statistics",
    "Support",
    "Templates",
    "TopicStore",
    "Topics",
    "Vectors",
    "Vocabulary",
]
