"""What the stages need from the outside, as Protocols; adapters live in their own packages.

`Kit` bundles one adapter of each for the stages. Only `build.py` makes one.
"""

from ragstone.ports.answering import (
    Answerability,
    Answerer,
    Completer,
    Conversing,
    History,
    Profile,
    Said,
)
from ragstone.ports.cache import Cache, CacheFigures, Kept, Near
from ragstone.ports.catalog import Catalog, Edition
from ragstone.ports.checking import Checker, Claim, Source, Support
from ragstone.ports.conversations import Conversations, Lease
from ragstone.ports.dump import Row, Rows, StateDump
from ragstone.ports.embedding import Embedder, Embedders, LateEmbedder, Vectors
from ragstone.ports.guarding import Topics, TopicStore
from ragstone.ports.index import ChunkIndex, Retriever, Search
from ragstone.ports.intents import IntentExamples, Likeness
from ragstone.ports.keys import KeyStore, StoredKey
from ragstone.ports.kit import Kit
from ragstone.ports.reranking import Judgement, Reranker, Statistics
from ragstone.ports.settings import Marks, SettingsStore
from ragstone.ports.templates import Templates
from ragstone.ports.toolbox import Returned, Toolbox, ToolSession
from ragstone.ports.traces import Traces
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
    "Conversations",
    "Conversing",
    "Edition",
    "Embedder",
    "Embedders",
    "History",
    "IntentExamples",
    "Judgement",
    "Kept",
    "KeyStore",
    "Kit",
    "LateEmbedder",
    "Lease",
    "Likeness",
    "Marks",
    "Near",
    "Profile",
    "Reranker",
    "Retriever",
    "Returned",
    "Row",
    "Rows",
    "Said",
    "Search",
    "SettingsStore",
    "Source",
    "StateDump",
    "Statistics",
    "StoredKey",
    "Support",
    "Templates",
    "ToolSession",
    "Toolbox",
    "TopicStore",
    "Topics",
    "Traces",
    "Vectors",
    "Vocabulary",
]
