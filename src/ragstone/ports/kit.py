"""One adapter of each port, for the stages."""

from dataclasses import dataclass

from ragstone.ports.answering import Answerability, Answerer, Completer, History, Profile
from ragstone.ports.cache import Cache
from ragstone.ports.catalog import Catalog
from ragstone.ports.checking import Checker
from ragstone.ports.embedding import Embedders
from ragstone.ports.guarding import Topics
from ragstone.ports.index import ChunkIndex, Retriever
from ragstone.ports.intents import IntentExamples
from ragstone.ports.reranking import Reranker, Statistics
from ragstone.ports.templates import Templates
from ragstone.ports.vocabulary import Vocabulary
from ragstone.text.tokens import Count, count


@dataclass(frozen=True, slots=True)
class Kit:
    """One adapter of each port, for the stages. `profile` is the chat model's, `count`
    counts tokens as it does. `answerable` is there where a chat model answers, and `ensemble` are
    the models that vote."""

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
    profile: Profile = Profile()
    templates: Templates | None = None
    count: Count = count
    checker: Checker | None = None
    answerable: Answerability | None = None
    ensemble: tuple[Answerer, ...] = ()
