"""One adapter of each port, for the stages."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from ragstone.core.records import ModelCheck
from ragstone.core.turn import Ask
from ragstone.language.tokens import Count, count
from ragstone.ports.answering import (
    Answerability,
    Answerer,
    AnswerJudge,
    Approvals,
    Completer,
    Conversing,
    History,
    Profile,
    Toolbox,
)
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.conversations import ConversationStore, FeedbackStore, Traces
from ragstone.ports.embedding import Embedders, Reranker, TermStatistics
from ragstone.ports.graph import EntityGraph, Vocabulary
from ragstone.ports.guarding import Checker, IntentExamples, Topics
from ragstone.ports.index import ChunkIndex, Retriever, ToolSearch
from ragstone.ports.jobs import RunningAnswers
from ragstone.ports.state import KeyStore, SettingsStore, StateDump, Templates


@dataclass(frozen=True, slots=True)
class PoolUse:
    """The connections of this process to a database: how many are `used` now, how many there may
    be at `most`, and how much work waits for one, as far as that is known."""

    name: str
    used: int
    most: int
    waiting: int = 0


@runtime_checkable
class Pooled(Protocol):
    """An adapter that takes its connections out of a pool."""

    def pool_use(self) -> PoolUse: ...


@dataclass(frozen=True, slots=True)
class ToolGateway:
    """A gateway of tools, and the search among them."""

    tools: Toolbox
    search: ToolSearch


@dataclass(frozen=True, slots=True)
class Adapters:
    """One adapter of each port, for the stages.

    What may be absent is what a deployment may not have, and None says so: a chat model (as
    `completer`, which does the work around an answer, and as `chat`, which converses), what tells
    whether passages hold an answer before it is asked (`answerable`), a model that judges answers
    instead of it (`evaluator`), a reranker that reads question and passage together beside the one
    that is named (`reading_reranker`), what tells whether an answer is what was asked (`judge`), a
    retrieval service in place of the index (`external_retriever`), a gateway of tools (`toolbox`)
    and its search (`tool_search`), calls that wait until somebody approves them (`approvals`), the
    answers that go on in each of several servers (`running`), and the graph of what chunks name
    (`graph`).
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
    completer: Completer | None = None
    evaluator: Completer | None = None
    reading_reranker: Reranker | None = None
    chat: Conversing | None = None
    check_models: Callable[[], AsyncGenerator[ModelCheck, None]] | None = None
    answerable: Answerability | None = None
    judge: AnswerJudge | None = None
    external_retriever: Retriever | None = None
    toolbox: Toolbox | None = None
    tool_search: ToolSearch | None = None
    approvals: Approvals | None = None
    running: RunningAnswers | None = None
    graph: EntityGraph | None = None
    profile: Profile = Profile()
    count: Count = count
    ensemble: tuple[Answerer, ...] = ()
    searching: AbstractAsyncContextManager[Any] = field(default_factory=nullcontext)
    pools: tuple[Pooled, ...] = ()
    added: Mapping[str, Any] = field(default_factory=dict)
    """What plugins and other packages bring for their own stages, by name."""

    def of_question(self, ask: Ask) -> "Adapters":
        """Return those of a question that wants the search of the gateway asked first."""
        search = self.tool_search
        if search is None or not search.serves(ask.organisation):
            return self
        return replace(self, external_retriever=search)
