"""One adapter of each port, for the stages."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ragstone.core.records import ModelCheck
from ragstone.language.tokens import Count, count
from ragstone.ports.answering import (
    Answerability,
    Answerer,
    AnswerJudge,
    Completer,
    Conversing,
    History,
    Profile,
)
from ragstone.ports.approving import Approvals
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.checking import Checker
from ragstone.ports.comments import CommentReader
from ragstone.ports.conversations import ConversationStore
from ragstone.ports.dump import StateDump
from ragstone.ports.embedding import Embedders
from ragstone.ports.evaluation import EvaluationStore
from ragstone.ports.feedback import FeedbackStore
from ragstone.ports.graph import EntityGraph, EntityRecognizer, Mentions, ModelReadings, Themes
from ragstone.ports.guarding import Topics
from ragstone.ports.index import ChunkIndex, Retriever
from ragstone.ports.intents import IntentExamples
from ragstone.ports.keys import KeyStore
from ragstone.ports.pools import Pooled
from ragstone.ports.reranking import Reranker, TermStatistics
from ragstone.ports.running import RunningAnswers
from ragstone.ports.settings import SettingsStore
from ragstone.ports.tables import TableQueries
from ragstone.ports.templates import Templates
from ragstone.ports.toolbox import Toolbox
from ragstone.ports.traces import Traces
from ragstone.ports.vector_stores import VectorStores
from ragstone.ports.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Adapters:
    """One adapter of each port, for the stages.

    What may be absent is what a deployment may not have, and None says so: a chat model (as
    `completer`, which does the work around an answer, and as `chat`, which converses), what tells
    whether passages hold an answer before it is asked (`answerable`), a model that judges answers
    instead of it (`evaluator`), a reranker that reads question and passage together beside the one
    that is named (`reading_reranker`), what tells whether an answer
    is what was asked (`judge`), a retrieval service in place
    of the index (`external_retriever`), a gateway of tools (`toolbox`), what runs queries over
    tables (`tables`), calls that wait until somebody approves them (`approvals`), the answers
    that go on in each of several servers (`running`), the graph of
    what chunks name (`graph`), what finds names for it besides rules (`recognizer`), and what reads
    tables of comments (`comments`).
    `profile` is the chat model's, `count` counts tokens as it does,
    `ensemble` are the models that vote. `dump` is for backups. `searching` lets so many questions
    search at a time while the others wait in turn, so that a search that has begun is not slowed
    down, and documents can be ingested meanwhile. `pools` are those with connections to a database
    that may run short.
    """

    index: ChunkIndex
    catalog: Catalog
    embedders: Embedders
    answerer: Answerer
    history: History
    reranker: Reranker
    statistics: TermStatistics
    intents: IntentExamples
    topics: Topics
    vocabulary: Vocabulary
    cache: Cache
    templates: Templates
    settings: SettingsStore
    checker: Checker
    dump: StateDump
    traces: Traces
    conversations: ConversationStore
    keys: KeyStore
    feedback: FeedbackStore
    evaluations: EvaluationStore
    mentions: Mentions
    readings: ModelReadings
    themes: Themes
    vector_stores: VectorStores
    completer: Completer | None = None
    evaluator: Completer | None = None
    reading_reranker: Reranker | None = None
    chat: Conversing | None = None
    check_models: Callable[[], AsyncGenerator[ModelCheck, None]] | None = None
    answerable: Answerability | None = None
    judge: AnswerJudge | None = None
    external_retriever: Retriever | None = None
    toolbox: Toolbox | None = None
    tables: TableQueries | None = None
    approvals: Approvals | None = None
    running: RunningAnswers | None = None
    graph: EntityGraph | None = None
    comments: CommentReader | None = None
    recognizer: EntityRecognizer | None = None
    profile: Profile = Profile()
    count: Count = count
    ensemble: tuple[Answerer, ...] = ()
    searching: AbstractAsyncContextManager[Any] = field(default_factory=nullcontext)
    pools: tuple[Pooled, ...] = ()
