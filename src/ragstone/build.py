"""Settings to adapters: the only place that constructs them, opens them and closes them."""

import asyncio
import fcntl
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ragstone.engine import Engine
from ragstone.errors import ConfigError, DataDirectoryInUse
from ragstone.index.connect import ELSEWHERE, connect
from ragstone.index.elsewhere import Elsewhere, KnowledgeBase, RetrievalService
from ragstone.index.topics import TopicCollection
from ragstone.ingest.jobs import Jobs, Report, Work
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.vocabulary import VocabularyReader
from ragstone.library import Ragstone
from ragstone.models.configured_chat import chat_model, ensemble, with_standby
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.models.extractive import Extractive
from ragstone.models.held_tokens import HeldTokens
from ragstone.models.intent_examples import IntentClassifier
from ragstone.models.late_interaction import LateInteraction
from ragstone.models.listwise import ListwiseReranker
from ragstone.models.sampled_rarity import SampledRarity
from ragstone.models.token_closeness import TokenCloseness
from ragstone.models.token_counter import token_counter
from ragstone.models.verdict import LocalChecker
from ragstone.ports import (
    Cache,
    Catalog,
    Checker,
    ChunkIndex,
    Completer,
    Kit,
    Profile,
    Reranker,
    Retriever,
)
from ragstone.recipe import guard, recipes, search_recipes
from ragstone.records import Collection
from ragstone.service import IngestRequest, Progress
from ragstone.settings import CacheSettings, IndexSettings, Settings
from ragstone.state.cache import LocalCache
from ragstone.state.catalog import SqlCatalog
from ragstone.state.database import open_database
from ragstone.state.history import SqlHistory
from ragstone.state.jobs import SqlJobs
from ragstone.state.templates import SqlTemplates
from ragstone.state.topics import SqlTopics
from ragstone.state.vocabulary import SqlVocabulary

if TYPE_CHECKING:
    from ragstone.state.cache_redis import RedisCache

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_kit(settings: Settings) -> AsyncIterator[tuple[Kit, ConfiguredEmbedders, SqlJobs]]:
    """Open the data directory; raises DataDirectoryInUse, ConfigError, StateUnavailable."""
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        stack.enter_context(_locked(data))
        stack.enter_context(threadpool_limits(1, "blas"))
        database = await stack.enter_async_context(open_database(data / "state.sqlite"))
        catalog = await SqlCatalog.open(database)
        index = connect(settings.index, data / "index")
        stack.push_async_callback(index.aclose)
        embedders = await stack.enter_async_context(open_embedders(settings))
        rarity = SampledRarity(index, embedders)
        chat = chat_model(settings)
        profile = chat.profile if chat else Profile()
        tokens = HeldTokens(index)
        closeness = TokenCloseness(catalog, tokens, embedders, rarity)
        extractive = Extractive(closeness, settings.rag.refuse_below)
        answerer = with_standby(settings, chat, extractive)
        stack.push_async_callback(answerer.aclose)
        members = ensemble(settings) if chat else ()
        for member in members:
            stack.push_async_callback(member.aclose)
        reranker = _reranker(settings, chat) or LateInteraction(tokens, embedders, rarity)
        stack.push_async_callback(reranker.aclose)
        history = SqlHistory(database)
        elsewhere = _elsewhere(settings)
        if elsewhere:
            stack.push_async_callback(elsewhere.aclose)
        days = settings.rag.forbidden_log_days
        topics = await TopicCollection.open(SqlTopics(database), embedders, days)
        stack.push_async_callback(topics.aclose)
        kit = Kit(
            index,
            catalog,
            embedders,
            answerer,
            history,
            reranker,
            rarity,
            chat,
            elsewhere,
            IntentClassifier(embedders.english()),
            topics,
            SqlVocabulary(database),
            await stack.enter_async_context(_cache(settings.cache, data)),
            profile=profile,
            templates=SqlTemplates(database),
            count=token_counter(profile.tokenizer),
            checker=checker(),
            answerable=extractive if chat else None,
            ensemble=members,
        )
        for collection in await catalog.collections():
            await index.create(collection)
            await _warn_if_lost(collection, catalog, index)
        yield kit, embedders, SqlJobs(database)


def checker() -> Checker:
    """What compares claims with sources, on this machine."""
    return LocalChecker()


@asynccontextmanager
async def open_embedders(settings: Settings) -> AsyncIterator[ConfiguredEmbedders]:
    """The embedding models of the settings; raises ConfigError, ModelUnavailable."""
    embedders = ConfiguredEmbedders(settings.embedding)
    try:
        await embedders.connect()
        yield embedders
    finally:
        await embedders.aclose()


@asynccontextmanager
async def open_two_indexes(
    settings: Settings, source: IndexSettings, target: IndexSettings
) -> AsyncIterator[tuple[Catalog, ChunkIndex, ChunkIndex]]:
    """The catalog of the data directory and two indexes that its collections may be in.

    Raises DataDirectoryInUse, ConfigError, StateUnavailable.
    """
    if any(one.url.split("+", 1)[0].lower() in ELSEWHERE for one in (source, target)):
        raise ConfigError("A retrieval service holds no collections of ours: nothing can move.")
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        stack.enter_context(_locked(data))
        database = await stack.enter_async_context(open_database(data / "state.sqlite"))
        catalog = await SqlCatalog.open(database)
        here, there = (connect(one, data / "index") for one in (source, target))
        for index in (here, there):
            stack.push_async_callback(index.aclose)
        yield catalog, here, there


@asynccontextmanager
async def open(settings: Settings) -> AsyncIterator[Ragstone]:
    """A Ragstone on the data directory of `settings`, closed at the end."""
    async with open_kit(settings) as (kit, embedders, store):
        reader = await _reader(settings, kit)
        pipeline = Pipeline(kit.index, kit.catalog, kit.embedders, settings.ingest, reader)
        data = settings.ragstone_data.expanduser().absolute()
        searching = asyncio.Semaphore(settings.rag.parallel or (os.cpu_count() or 1) + 1)
        jobs = Jobs(data / "jobs.sqlite", store, _work(kit, pipeline))
        ragstone = Ragstone(
            kit,
            Engine(kit, recipes(settings), searching=searching),
            Engine(kit, search_recipes(settings), searching=searching),
            pipeline,
            jobs,
            embedders.usable,
            data,
            guard(settings),
        )
        try:
            yield ragstone
        finally:
            await ragstone.aclose()
            if reader:
                await reader.aclose()


async def _reader(settings: Settings, kit: Kit) -> VocabularyReader | None:
    """Who keeps the vocabularies; it begins with what an earlier process left unread."""
    if not settings.spelling.enabled or kit.vocabulary is None:
        return None
    reader = VocabularyReader(kit.index, kit.vocabulary)
    for collection in await kit.catalog.collections():
        reader.wake(collection)
    return reader


async def _warn_if_lost(collection: Collection, catalog: Catalog, index: ChunkIndex) -> None:
    """Say so when an index was exchanged and its chunks stayed behind."""
    documents = await catalog.documents(collection.tenant, collection.name, limit=10)
    if any(one.chunks for one in documents) and not await index.count(collection):
        log.warning(
            "The index holds nothing of the documents in collection %r. Move them from where they "
            "are with 'ragstone migrate', or set INDEX__URL back.",
            collection.name,
        )


@asynccontextmanager
async def _cache(settings: CacheSettings, data: Path) -> AsyncIterator[Cache | None]:
    """The semantic cache of the settings, None if it is off."""
    if not settings.enabled:
        yield None
        return
    cache = (
        _shared(settings)
        if settings.url
        else LocalCache(data / "cache.sqlite", settings.max_entries, settings.default_ttl_seconds)
    )
    await cache.open()
    try:
        yield cache
    finally:
        await cache.aclose()


def _shared(settings: CacheSettings) -> "RedisCache":
    """The cache of several servers."""
    try:
        from ragstone.state.cache_redis import RedisCache
    except ImportError as error:
        raise ConfigError(
            "CACHE__URL needs the Redis client: pip install 'ragstone[redis]'."
        ) from error
    password = settings.password.get_secret_value()
    return RedisCache(settings.url, password, settings.max_entries, settings.default_ttl_seconds)


def _elsewhere(settings: Settings) -> Retriever | None:
    """The retrieval service of the settings, if the index is one."""
    scheme = settings.index.url.split("+", 1)[0]
    if scheme == "kdb":
        return Elsewhere(settings.index, KnowledgeBase())
    if scheme == "retrieval":
        return Elsewhere(settings.index, RetrievalService())
    return None


def _reranker(settings: Settings, chat: Completer | None) -> Reranker | None:
    """The reranker that the settings name, None for late interaction."""
    rerank = settings.rerank
    if rerank.model_path:
        from ragstone.models.cross_encoder import CrossEncoder

        return CrossEncoder(rerank)
    if rerank.base_url:
        from ragstone.models.remote_reranker import RemoteReranker

        return RemoteReranker(rerank)
    if rerank.model == "llm":
        if chat is None:
            raise ConfigError("RERANK__MODEL is llm, but no chat model is set: set LLM__MODEL.")
        return ListwiseReranker(chat, rerank.weight)
    if rerank.model:
        raise ConfigError(
            f"RERANK__MODEL is {rerank.model!r}: set RERANK__BASE_URL to the endpoint that has it."
        )
    return None


def _work(kit: Kit, pipeline: Pipeline) -> dict[str, Work]:
    """What each kind of job does."""

    async def ingest(job: str, request: dict[str, Any], report: Report) -> Progress:
        lists = {name: tuple(request[name]) for name in ("paths", "allowed")}
        return await pipeline.ingest(job, IngestRequest(**{**request, **lists}), report)

    async def build_anew(job: str, request: dict[str, Any], report: Report) -> Progress:
        return await pipeline.rebuild(job, request["tenant"], request["collection"], report)

    return {"ingest": ingest, "rebuild": build_anew}


@contextmanager
def _locked(data: Path) -> Iterator[None]:
    """Hold the data directory for this process; the lock goes when the process does."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(
            f"The data directory {data} cannot be written ({error.strerror}). "
            "Choose another with --data or RAGSTONE_DATA."
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 20).decode() or "another process"
            raise DataDirectoryInUse(
                f"The data directory {data} is in use by process {holder}. "
                "Wait for it, stop it, or choose another directory with --data."
            ) from error
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)
