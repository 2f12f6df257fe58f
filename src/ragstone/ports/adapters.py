"""One adapter of each port, for the stages."""

from dataclasses import dataclass

from ragstone.language.tokens import Count, count
from ragstone.ports.answering import (
    Answerability,
    Answerer,
    Completer,
    Conversing,
    History,
    Profile,
)
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.checking import Checker
from ragstone.ports.conversations import Conversations
from ragstone.ports.dump import StateDump
from ragstone.ports.embedding import Embedders
from ragstone.ports.guarding import Topics
from ragstone.ports.index import ChunkIndex, Retriever
from ragstone.ports.intents import IntentExamples
from ragstone.ports.keys import KeyStore
from ragstone.ports.reranking import Reranker, TermStatistics
from ragstone.ports.settings import SettingsStore
from ragstone.ports.templates import Templates
from ragstone.ports.toolbox import Toolbox
from ragstone.ports.traces import Traces
from ragstone.ports.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Adapters:
    """One adapter of each port, for the stages. `profile` is the chat model's, `count`
    counts tokens as it does. `answerable` is there where a chat model answers, and `ensemble` are
    the models that vote. `dump` is for backups."""

    index: ChunkIndex
    catalog: Catalog
    embedders: Embedders
    answerer: Answerer
    history: History
    reranker: Reranker
    statistics: TermStatistics
    completer: Completer | None = None
    external_retriever: Retriever | None = None
    intents: IntentExamples | None = None
    topics: Topics | None = None
    vocabulary: Vocabulary | None = None
    cache: Cache | None = None
    profile: Profile = Profile()
    templates: Templates | None = None
    settings: SettingsStore | None = None
    count: Count = count
    checker: Checker | None = None
    dump: StateDump | None = None
    traces: Traces | None = None
    conversations: Conversations | None = None
    keys: KeyStore | None = None
    chat: Conversing | None = None
    toolbox: Toolbox | None = None
    answerable: Answerability | None = None
    ensemble: tuple[Answerer, ...] = ()
