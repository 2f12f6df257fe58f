"""What the stages need from the outside, as Protocols; adapters live in their own packages.

`Adapters` bundles one adapter of each for the stages. Only `build.py` makes one.
"""

from ragstone.ports.adapters import Adapters
from ragstone.ports.answering import (
    Answerability,
    Answerer,
    AnswerJudge,
    Completer,
    Conversing,
    History,
    Priced,
    Profile,
    Said,
)
from ragstone.ports.approving import Approvals
from ragstone.ports.cache import Cache, CacheFigures, Kept, Near
from ragstone.ports.catalog import (
    Begun,
    Catalog,
    CollectionNames,
    Edition,
    Look,
    StatusCount,
    Total,
    ValueCount,
    find_collection,
)
from ragstone.ports.checking import Checker, Claim, EvidenceSource, Support
from ragstone.ports.comments import CommentReader, ReadComments
from ragstone.ports.conversations import ConversationStore, Lease
from ragstone.ports.dump import Row, Rows, StateDump
from ragstone.ports.embedding import (
    IN_BULK,
    BridgingEmbedder,
    Embedder,
    Embedders,
    LateEmbedder,
    Vectors,
    in_bulk,
)
from ragstone.ports.erasure import Erasure
from ragstone.ports.evaluation import EvaluationStore, StoredRun
from ragstone.ports.feedback import FeedbackStore
from ragstone.ports.graph import EntityGraph, EntityRecognizer, Mentions, ModelReadings, Themes
from ragstone.ports.guarding import Topics, TopicStore
from ragstone.ports.index import (
    ChunkIndex,
    Erases,
    LoadsInBulk,
    Moves,
    Retriever,
    Search,
    SearchesLate,
    Shares,
    bulk_load,
    check_late,
    erase,
    home,
    may_share,
)
from ragstone.ports.intents import IntentExamples, Likeness
from ragstone.ports.jobs import Parts
from ragstone.ports.keys import KeyStore, StoredKey
from ragstone.ports.pools import Pooled, PoolUse
from ragstone.ports.reading import Pair, PairReader, PairReading
from ragstone.ports.reranking import Judgement, Reranker, TermStatistics
from ragstone.ports.running import Heard, Interest, RunningAnswers
from ragstone.ports.settings import Marks, SettingsStore
from ragstone.ports.tables import Cell, ColumnType, QueriedTable, QueryResult, TableQueries
from ragstone.ports.templates import Templates
from ragstone.ports.toolbox import Returned, Toolbox, ToolSession
from ragstone.ports.traces import Traces
from ragstone.ports.vector_stores import VectorStores
from ragstone.ports.vocabulary import Vocabulary

__all__ = [
    "IN_BULK",
    "Adapters",
    "AnswerJudge",
    "Answerability",
    "Answerer",
    "Approvals",
    "Begun",
    "BridgingEmbedder",
    "Cache",
    "CacheFigures",
    "Catalog",
    "Cell",
    "Checker",
    "ChunkIndex",
    "Claim",
    "CollectionNames",
    "ColumnType",
    "CommentReader",
    "Completer",
    "ConversationStore",
    "Conversing",
    "Edition",
    "Embedder",
    "Embedders",
    "EntityGraph",
    "EntityRecognizer",
    "Erases",
    "Erasure",
    "EvaluationStore",
    "EvidenceSource",
    "FeedbackStore",
    "Heard",
    "History",
    "IntentExamples",
    "Interest",
    "Judgement",
    "Kept",
    "KeyStore",
    "LateEmbedder",
    "Lease",
    "Likeness",
    "LoadsInBulk",
    "Look",
    "Marks",
    "Mentions",
    "ModelReadings",
    "Moves",
    "Near",
    "Pair",
    "PairReader",
    "PairReading",
    "Parts",
    "PoolUse",
    "Pooled",
    "Priced",
    "Profile",
    "QueriedTable",
    "QueryResult",
    "ReadComments",
    "Reranker",
    "Retriever",
    "Returned",
    "Row",
    "Rows",
    "RunningAnswers",
    "Said",
    "Search",
    "SearchesLate",
    "SettingsStore",
    "Shares",
    "StateDump",
    "StatusCount",
    "StoredKey",
    "StoredRun",
    "Support",
    "TableQueries",
    "Templates",
    "TermStatistics",
    "Themes",
    "ToolSession",
    "Toolbox",
    "TopicStore",
    "Topics",
    "Total",
    "Traces",
    "ValueCount",
    "VectorStores",
    "Vectors",
    "Vocabulary",
    "bulk_load",
    "check_late",
    "erase",
    "find_collection",
    "home",
    "in_bulk",
    "may_share",
]
