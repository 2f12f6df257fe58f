"""Settings to adapters: the only place that constructs them, opens them and closes them."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import ragstone
from ragstone.answer.extractive.extractive import REFUSE_UNLIKELY, Extractive
from ragstone.answer.extractive.meaning_closeness import MeaningCloseness
from ragstone.answer.extractive.token_closeness import TokenCloseness
from ragstone.core.disk import remove_leftovers
from ragstone.core.errors import ConfigError, StateUnavailable
from ragstone.core.limits import check_ask
from ragstone.core.records import Collection
from ragstone.core.turn import Ask
from ragstone.engine.engine import Engine
from ragstone.engine.room_queue import RoomQueue
from ragstone.engine.search_places import SearchPlaces
from ragstone.guard.topic_index import BLOCKED_DAYS, TopicCollection
from ragstone.index.connect import (
    connect,
    connect_all,
    external_retriever,
    names_retriever,
    readdress,
)
from ragstone.ingest.captions import CaptionMaker
from ragstone.ingest.move import explain_elsewhere, is_elsewhere
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.uploads import Spool
from ragstone.ingest.vocabulary import VocabularyReader
from ragstone.jobs.runner import Runner
from ragstone.language.tokens import token_counter
from ragstone.local import Ragstone
from ragstone.local.added import (
    ADDED_OBSERVERS,
    AdapterParts,
    EnricherParts,
    ServiceParts,
    WorkParts,
    added_enrichers,
    added_work,
    observe,
    open_added,
)
from ragstone.local.collections import identify_collection, with_known_values
from ragstone.local.configured import Configured
from ragstone.local.jobs import LocalJobs
from ragstone.local.maintenance import LocalMaintenance
from ragstone.local.opening import open_cache, open_templates
from ragstone.local.removal import Removal, UserErasure
from ragstone.local.repair import is_state_lost
from ragstone.local.suggesting import Suggestions, without_chat
from ragstone.local.work import part_works, works
from ragstone.models.configured_chat import (
    NOTE,
    WithFallback,
    chat_model,
    check_models,
    ensemble,
    evaluator,
    read_windows,
)
from ragstone.models.embedders import ConfiguredEmbedders, Connected, models_in_use
from ragstone.models.named import NamedModels
from ragstone.ports import (
    Adapters,
    Catalog,
    Checker,
    ChunkIndex,
    PairReader,
    Pooled,
    Profile,
    ToolGateway,
)
from ragstone.reader.configured import open_configured_reader
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.rerankers import RerankerParts, build_reranker
from ragstone.retrieve.rerankers.reading import ReadingReranker
from ragstone.retrieve.sampled_rarity import SampledRarity
from ragstone.settings import IndexSettings, Settings, StateSettings
from ragstone.store.connect import open_conversations, open_state
from ragstone.store.lock import lock_directory
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.dump import SqlDump, move
from ragstone.store.sql.erasure import SqlErasure
from ragstone.store.sql.history import SqlFeedback, SqlTraces
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlParts, SqlWorkers
from ragstone.store.sql.people import SqlKeys, SqlPeople
from ragstone.store.sql.running import SqlRunningAnswers
from ragstone.store.sql.settings import SqlSettings
from ragstone.store.sql.topics import SqlTopics
from ragstone.store.sql.vocabulary import SqlVocabulary
from ragstone.understand.intent_examples import IntentClassifier
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.reading_judge import ReadingJudge

if TYPE_CHECKING:
    from ragstone.access.interceptor import Interceptor

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_adapters(
    settings: Settings,
) -> AsyncIterator[tuple[Adapters, ConfiguredEmbedders, Database]]:
    """Open the data directory; raises DataDirectoryInUse, ConfigError, StateUnavailable."""
    data = settings.ragstone_data.expanduser().absolute()
    if ragstone._told_too_late:
        log.warning(
            "onnxruntime was loaded before ragstone, with its telemetry on: it may keep events "
            "about this program and send them. Import ragstone first, or set "
            "ORT_DISABLE_TELEMETRY=1."
        )
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_directory(data))
        if is_state_lost(settings):
            raise StateUnavailable(
                f"The state in {data} is gone, but there is an index. 'ragstone doctor' says what "
                "can be done."
            )
        stack.enter_context(threadpool_limits(1, "blas"))
        database = await stack.enter_async_context(open_state(settings.state, data))
        catalog = await SqlCatalog.open(database)
        connected = connect_all(settings.index, data / "index")
        index = connected.index
        stack.push_async_callback(index.aclose)
        embedders = await stack.enter_async_context(open_embedders(settings))
        rarity = SampledRarity(index, embedders)
        chat = chat_model(settings)
        if chat:
            await read_windows(chat)
        profile = chat.profile if chat else Profile()
        tokens = HeldTokens(index)
        closeness = TokenCloseness(catalog, tokens, embedders, rarity)
        meaning = MeaningCloseness(catalog, embedders)
        reader = await stack.enter_async_context(open_reader(settings))
        compare = checker(reader)
        extractive = Extractive(closeness, meaning, REFUSE_UNLIKELY, reader)
        answerer = WithFallback(chat, extractive, NOTE) if chat else extractive
        stack.push_async_callback(answerer.aclose)
        templates = await stack.enter_async_context(
            open_templates(database, settings.cache, settings.prompts)
        )
        members = ensemble(settings) if chat else ()
        for member in members:
            stack.push_async_callback(member.aclose)
        judge = evaluator(settings, chat)
        if judge:
            stack.push_async_callback(judge.aclose)
        models = NamedModels(data)
        parts = RerankerParts(settings.rerank, chat, templates, tokens, embedders, rarity, models)
        reranker = build_reranker(parts)
        stack.push_async_callback(reranker.aclose)
        if isinstance(reranker, Connected):
            await reranker.connect()
        conversations, history = await stack.enter_async_context(
            open_conversations(settings, database)
        )
        retriever = external_retriever(settings.index)
        if retriever:
            stack.push_async_callback(retriever.aclose)
        topics = await TopicCollection.open(SqlTopics(database), embedders, BLOCKED_DAYS)
        stack.push_async_callback(topics.aclose)
        added = await stack.enter_async_context(
            open_added(
                AdapterParts(settings, database, index, embedders.topic_embedder(), retriever)
            )
        )
        gateway: ToolGateway | None = added.get("gateway")
        # SQLite's connections are opened as they are needed: they never run short.
        pooled = (*((database,) if database.shared else ()), *connected.parts)
        adapters = Adapters(
            index,
            catalog,
            embedders,
            answerer,
            history,
            reranker,
            rarity,
            intents=IntentClassifier(embedders.english()),
            topics=topics,
            vocabulary=SqlVocabulary(database),
            cache=await stack.enter_async_context(open_cache(settings.cache, data)),
            templates=templates,
            settings=SqlSettings(database),
            checker=compare,
            dump=SqlDump(database, catalog),
            traces=SqlTraces(database),
            conversations=conversations,
            keys=SqlKeys(database),
            feedback=SqlFeedback(database),
            completer=chat,
            evaluator=judge,
            reading_reranker=_build_reading_reranker(settings, reader),
            chat=chat,
            check_models=partial(check_models, chat) if chat else None,
            answerable=extractive if chat else None,
            judge=ReadingJudge(reader, compare, embedders.multilingual()),
            external_retriever=retriever,
            toolbox=gateway.tools if gateway else None,
            tool_search=gateway.search if gateway else None,
            graph=added.get("graph"),
            added=added,
            approvals=added.get("approvals"),
            running=SqlRunningAnswers(database) if database.shared else None,
            profile=profile,
            count=token_counter(profile.tokenizer),
            ensemble=members,
            pools=tuple(item for item in pooled if isinstance(item, Pooled)),
        )
        await catalog.at_index(_place(settings.index, data))
        for collection in await catalog.collections():
            await index.create(collection)
            if await is_elsewhere(collection, catalog, index):
                log.warning("%s", explain_elsewhere(collection.name))
            else:
                await _forget_place(collection, catalog, settings.index)
        yield adapters, embedders, database


def checker(reader: PairReader) -> Checker:
    """Return what compares claims with sources."""
    return ReadingChecker(reader)


def _build_reading_reranker(settings: Settings, reader: PairReader) -> ReadingReranker | None:
    """Return the reader as a reranker; None where the operator has named another."""
    named = settings.rerank.model or settings.rerank.base_url
    return None if named else ReadingReranker(reader)


@asynccontextmanager
async def open_reader(settings: Settings) -> AsyncIterator[PairReader]:
    """The model that reads pairs of texts; raises ConfigError, ModelUnavailable
    for one that a setting names and that cannot be opened."""
    reader = await asyncio.to_thread(
        open_configured_reader, settings.reader, NamedModels(settings.ragstone_data)
    )
    try:
        yield reader
    finally:
        await reader.aclose()


@asynccontextmanager
async def open_embedders(settings: Settings) -> AsyncIterator[ConfiguredEmbedders]:
    """The embedding models of the settings; raises ConfigError, ModelUnavailable."""
    models = NamedModels(settings.ragstone_data)
    embedders = ConfiguredEmbedders(settings.embedding, models)
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
    if any(names_retriever(item) for item in (source, target)):
        raise ConfigError("A retrieval service holds no collections of ours: nothing can move.")
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_directory(data))
        database = await stack.enter_async_context(open_state(settings.state, data))
        catalog = await SqlCatalog.open(database)
        here, there = (
            connect(readdress(settings.index, item.url, item.api_key), data / "index")
            for item in (source, target)
        )
        for index in (here, there):
            stack.push_async_callback(index.aclose)
        yield catalog, here, there


async def move_state(
    settings: Settings, source: StateSettings, target: StateSettings
) -> Mapping[str, int]:
    """Move the state from one database to another; the rows of each table.

    Raises Conflict, DataDirectoryInUse, ConfigError, StateUnavailable.
    """
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_directory(data))
        here = await stack.enter_async_context(open_state(source, data))
        return await move(here, await stack.enter_async_context(open_state(target, data)))


@asynccontextmanager
async def open(
    settings: Settings, *, interceptor: "Interceptor | None" = None
) -> AsyncIterator[Ragstone]:
    """A Ragstone on the data directory of `settings`, closed at the end. `interceptor` stands round
    all that answers or searches, and where there is none, as in a command of its own, nothing is
    limited or measured."""
    async with open_adapters(settings) as (adapters, embedders, database):
        vocabulary = await _vocabulary_readers(settings, adapters)
        configured = Configured(settings)
        enricher_parts = EnricherParts(settings, adapters, configured.of_dialects)
        enrichers = [*vocabulary, *added_enrichers(enricher_parts)]
        data = settings.ragstone_data.expanduser().absolute()
        shared = database.shared and settings.index.is_shared
        pipeline = Pipeline(
            adapters.index,
            adapters.catalog,
            adapters.embedders,
            settings.ingest,
            enrichers,
            data,
            _caption_maker(settings, adapters),
            SqlParts(database) if shared else None,
        )
        await asyncio.to_thread(Spool(data).sweep)
        await asyncio.to_thread(remove_leftovers)
        most = (os.cpu_count() or 1) + 1
        # Only an index on a server can have a search wait for long.
        places = SearchPlaces(most) if settings.index.url else asyncio.Semaphore(most)
        adapters = replace(adapters, searching=places)
        rooms = RoomQueue(adapters.conversations)
        answering = interceptor.question if interceptor else None

        async def prepare_ask(ask: Ask) -> Ask:
            check_ask(ask)
            if ask.pictures and not (adapters.chat and adapters.chat.profile.vision):
                ask = await pipeline.with_picture_text(ask)
            ask = await identify_collection(adapters.catalog, ask)
            return configured.limit_ask(await with_known_values(adapters.catalog, ask))

        models = models_in_use(embedders.usable(), adapters.reranker)
        engine = partial(Engine, adapters, asked=prepare_ask)
        answers = engine(configured.answer_recipe, rooms=rooms, around=answering)
        quiet = without_chat(adapters)
        previewing = interceptor.preview if interceptor else None
        trial = Engine(quiet, configured.answer_recipe, asked=prepare_ask, around=previewing)
        removal, store = Removal(adapters, pipeline), SqlJobs(database)
        parts = part_works(pipeline) if shared else {}
        runner = Runner(
            store,
            SqlWorkers(database),
            {
                **added_work(
                    WorkParts(settings, adapters, answers, pipeline, interceptor is not None)
                ),
                **works(adapters.catalog, pipeline, answers, removal, store),
                **parts,
            },
            shared=database.shared,
        )
        ragstone = Ragstone(
            adapters,
            answers,
            engine(configured.search_recipe, around=interceptor.search if interceptor else None),
            engine(configured.call_recipe, rooms=rooms, around=answering),
            pipeline,
            removal,
            LocalJobs(store, adapters.catalog, runner, interceptor.admit if interceptor else None),
            runner,
            embedders.usable,
            data,
            configured,
            LocalMaintenance(adapters, pipeline, models),
            lambda keys: UserErasure(
                adapters, SqlErasure(database, data), pipeline, store, runner, keys, data
            ),
            SqlPeople(database),
            Suggestions(adapters, trial),
        )
        try:
            await ragstone.watch()
            observer_parts = ServiceParts(settings, adapters, ragstone.jobs, removal, pipeline)
            made = ADDED_OBSERVERS.make_usable(ADDED_OBSERVERS, "It is left out.", observer_parts)
            observed = observe(ragstone, filter(None, made.values()))
            yield observed
        finally:
            await ragstone.aclose()
            for enricher in enrichers:
                await enricher.aclose()


def _caption_maker(settings: Settings, adapters: Adapters) -> CaptionMaker | None:
    """Return what has pictures described, where that is wanted and can be done."""
    model = adapters.chat
    if not settings.ingest.captions or model is None or not model.profile.vision:
        return None
    return CaptionMaker(adapters.index, adapters.catalog, model, adapters.templates)


async def _vocabulary_readers(settings: Settings, adapters: Adapters) -> list[VocabularyReader]:
    """Return who keeps the vocabularies; it begins with what an earlier process left unread."""
    if not settings.spelling.enabled:
        return []
    reader = VocabularyReader(adapters.index, adapters.vocabulary)
    for collection in await adapters.catalog.collections():
        reader.wake(collection)
    return [reader]


def _place(settings: IndexSettings, data: Path) -> str:
    """Which index this process uses: the same for all who use the same, by the same address."""
    if settings.url and not names_retriever(settings):
        from ragstone.index.connect import index_place

        return index_place(settings.url)
    return f"{socket.gethostname()}:{data}"


async def _forget_place(collection: Collection, catalog: Catalog, settings: IndexSettings) -> None:
    """Forget what an earlier move says of a collection's place where the only index, which holds
    it, is another one by now, that the next move there begins anew."""
    if settings.from_url or not collection.place:
        return
    from ragstone.index.connect import index_place

    if collection.place != index_place(settings.url):
        await catalog.put_collection(replace(collection, place=""), known=True)
