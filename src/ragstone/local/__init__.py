"""Ragstone in this process: the service behind `ragstone serve`, the command line and programs."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from ragstone import __version__
from ragstone.access.asking import check_everywhere
from ragstone.core.disk import disk_bytes, has_space
from ragstone.core.errors import (
    InputError,
    InvalidTopic,
    ModelUnavailable,
    NoChatModel,
    RagstoneError,
    StorageFull,
    UnknownApproval,
    UnknownModel,
    UnknownTopic,
)
from ragstone.core.events import Event
from ragstone.core.filters import And, Filter, Scalar, exclude_hidden, reader_filter
from ragstone.core.limits import MAX_TOPICS, check_collection_name
from ragstone.core.metadata import check_input_metadata
from ragstone.core.readers import check_readers
from ragstone.core.records import (
    BlockedQuestion,
    Collection,
    Document,
    GuardDecision,
    ModelCheck,
    Report,
    Topic,
)
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.engine.engine import Engine
from ragstone.guard.topic_file import topic
from ragstone.ingest.embedding import explain_outgrown, may_outgrow
from ragstone.ingest.files import is_text
from ragstone.ingest.move import move_all
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.uploads import Originals
from ragstone.jobs.runner import Runner
from ragstone.language.phrases import key
from ragstone.local.added import ServiceParts, added_directories
from ragstone.local.configured import Configured
from ragstone.local.conversations import LocalConversations
from ragstone.local.jobs import LocalJobs
from ragstone.local.keys import LocalKeys
from ragstone.local.people import LocalPeople
from ragstone.local.readers import LocalReaders
from ragstone.local.reading import LocalReading
from ragstone.local.removal import Removal, UserErasure
from ragstone.local.resuming import KeptAnswers, may_read_again
from ragstone.local.settings import LocalSettings
from ragstone.local.statistics import LocalFeedback, LocalStatistics
from ragstone.local.suggesting import Suggestions
from ragstone.local.warming import MAX_SECONDS, warm
from ragstone.local.watching import Watch
from ragstone.local.work import DELETE, INGEST, READERS, REBUILD, read_progress
from ragstone.ports import (
    Adapters,
    Answerer,
    CacheFigures,
    Embedder,
    PeopleStore,
    PoolUse,
    RetrievalServer,
    Shares,
    StatusCount,
    Total,
    Vectors,
    home,
    in_bulk,
    need_collection,
)
from ragstone.service import (
    CollectionSummary,
    IngestRequest,
    Overview,
    Progress,
    SearchResult,
    StoreFigures,
)
from ragstone.service.added import added_services
from ragstone.service.maintenance import MaintenanceService

log = logging.getLogger(__name__)

MAX_NOTES = 256
"""Collections and principals whose notes are kept until the collection is another one."""

TOTALS_SECONDS = 60.0
"""How old the sums over all documents may be: each reads a row of an index a document."""

NO_MODEL = (
    "Functions need a chat model that calls them, and there is none: leave functions out, "
    "or set LLM__MODEL."
)


DELETE_AT_ONCE = 500
"""Documents that are deleted at once; more are deleted as a job."""


class Ragstone:
    """`service.Service` on adapters of this process; `build.open` makes one."""

    def __init__(
        self,
        adapters: Adapters,
        answers: Engine,
        searches: Engine,
        functions: Engine,
        pipeline: Pipeline,
        removal: Removal,
        jobs: LocalJobs,
        runner: Runner,
        embedders: Callable[[], Sequence[Embedder]],
        data: Path,
        configured: Configured,
        maintenance: MaintenanceService,
        erasure: Callable[[LocalKeys], UserErasure],
        people: PeopleStore,
        suggestions: Suggestions,
    ) -> None:
        self._adapters = adapters
        self._answers = answers
        self._kept = KeptAnswers(
            answers.events, partial(may_read_again, adapters.catalog), adapters.running
        )
        self._searches = searches
        self._functions = functions
        self._suggestions = suggestions
        self._pipeline = pipeline
        self._removal = removal
        self.jobs = jobs
        self._runner = runner
        self._embedders = embedders
        self._data = data
        self.maintenance = maintenance
        self.statistics = LocalStatistics(adapters)
        self.keys = LocalKeys(adapters.keys, adapters.catalog)
        self.people = LocalPeople(
            people,
            adapters.catalog,
            self.keys,
            configured.base.auth.tenant,
            directories=added_directories(configured.base),
        )
        self._erasure = erasure(self.keys)
        self.conversations = LocalConversations(adapters, answers.aclose, self._erasure.erase)
        self.reading = LocalReading(adapters, Originals(data), pipeline.picture)
        self.readers = LocalReaders(adapters.catalog, pipeline, jobs, READERS, DELETE_AT_ONCE)
        self.feedback = LocalFeedback(adapters.feedback)
        self._configured = configured
        parts = ServiceParts(configured.base, adapters, jobs, removal, pipeline)
        self._added = [(name, part.open(parts)) for name, part in added_services().items()]
        for name, added in self._added:
            setattr(self, name, added)
        self.settings = LocalSettings(
            adapters.settings, adapters.catalog, configured, adapters.cache, pipeline.wake_enrichers
        )
        refreshes = {"settings": self.settings.refresh, "prompts": adapters.templates.refresh}
        self._watch = Watch(adapters.settings, refreshes)
        self._purging: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._watching: list[asyncio.Task[None]] = []
        self._warming = False
        self._notes: dict[tuple[str, str, tuple[str, ...]], tuple[str, str]] = {}
        self._totals: tuple[float, tuple[Total, ...]] | None = None

    def ask(self, ask: Ask, key: str = "", after: int = 0) -> AsyncGenerator[Event, None]:
        return self._kept.events(ask, key, after) if key else self._answers.events(ask)

    async def stop(self, principal: Principal, key: str) -> bool:
        return await self._kept.stop(principal, key)

    async def approve(self, principal: Principal, step: str, approved: bool) -> None:
        if self._adapters.approvals is None:
            raise UnknownApproval
        await self._adapters.approvals.decide(principal, step, approved)

    async def search(self, ask: Ask) -> SearchResult:
        turn = await self._searches.answer(ask)
        corrected = turn.question if turn.original else ""
        return SearchResult(turn.hits, turn.trace, corrected, turn.notes)

    async def suggest(
        self,
        principal: Principal,
        collection: str,
        *,
        cited: Mapping[str, int] | None = None,
        asked: Sequence[str] = (),
        where: Filter | None = None,
    ) -> list[str]:
        return await self._suggestions.suggest(principal, collection, cited or {}, asked, where)

    async def function_calling(self, ask: Ask) -> Turn:
        if self._adapters.chat is None:
            raise InputError(NO_MODEL)
        return await self._functions.answer(ask)

    async def ingest(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        if not all(map(is_text, (*request.paths, *request.only))):
            raise InputError("A path is not valid text. Rename the file or the folder.")
        for readers in (request.allowed, *(handed.allowed for handed in request.handed)):
            check_readers(readers)
        handed = tuple(
            replace(item, metadata=check_input_metadata(item.metadata)) for item in request.handed
        )
        metadata = check_input_metadata(request.metadata)
        request = replace(request, metadata=metadata, handed=handed)
        whose = request.by or Principal(request.tenant)
        async with aclosing(self._job(INGEST, asdict(request), whose)) as job:
            async for progress in job:
                yield progress

    async def rebuild(self, tenant: str, collection: str) -> AsyncGenerator[Progress, None]:
        await need_collection(self._adapters.catalog, tenant, collection)
        request = {"tenant": tenant, "collection": collection}
        async with aclosing(self._job(REBUILD, request, Principal(tenant))) as job:
            async for progress in job:
                yield progress

    async def _job(
        self, kind: str, request: dict[str, Any], whose: Principal
    ) -> AsyncGenerator[Progress, None]:
        job = await self.jobs.submit(kind, request, principal=whose)
        async with aclosing(self.jobs.watch(whose, job.id)) as watched:
            async for view in watched:
                yield read_progress(view)

    async def collections(
        self, principal: Principal, *, operator: bool = False
    ) -> list[CollectionSummary]:
        catalog, names = self._adapters.catalog, None if operator else principal.names
        known = await catalog.collections(principal.tenant)
        counts = await catalog.counts(principal.tenant)
        made = await asyncio.to_thread(lambda: [_summary(c, counts, names) for c in known])
        return [await self._with_note(item, principal) if item.documents else item for item in made]

    async def collection(self, principal: Principal, collection: str) -> CollectionSummary:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        counts = await self._adapters.catalog.counts(known.tenant, known.id)
        return await self._with_note(_summary(known, counts, principal.names), principal)

    async def _with_note(
        self, summary: CollectionSummary, principal: Principal
    ) -> CollectionSummary:
        return replace(summary, note=await self._note(summary.collection, principal))

    async def _note(self, collection: Collection, principal: Principal) -> str:
        """What is to be said to its keeper, asked of the index where it could be anything."""
        if not may_outgrow(collection, self._adapters.embedders):
            return ""
        edition = await self._adapters.catalog.edition(collection.tenant, collection.id)
        whose = (collection.tenant, collection.id, principal.names)
        stamp, known = self._notes.get(whose, ("", ""))
        if edition and stamp == edition.stamp:
            return known
        async with self._adapters.catalog.snapshot(collection) as hidden:
            where = And((reader_filter(principal), exclude_hidden(hidden)))
            languages = await self._adapters.index.facet(collection, "language", where)
        note = explain_outgrown(collection, languages, self._adapters.embedders)
        if edition:
            self._notes[whose] = edition.stamp, note
            while len(self._notes) > MAX_NOTES:
                del self._notes[next(iter(self._notes))]
        return note

    async def documents(
        self,
        principal: Principal,
        collection: str,
        *,
        limit: int = 1000,
        offset: int = 0,
        after: str = "",
        named: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
        operator: bool = False,
    ) -> list[Document]:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        found = await self._adapters.catalog.documents(
            known.tenant,
            known.id,
            readers=None if operator else principal.names,
            named=named,
            below=below,
            having=having,
            after=after,
            limit=limit,
            offset=offset,
            skipped=named is not None,
        )
        return await asyncio.to_thread(
            lambda: [replace(document, collection=known.name) for document in found]
        )

    async def rename_collection(self, principal: Principal, old: str, new: str) -> Collection:
        check_everywhere()
        known = await need_collection(self._adapters.catalog, principal.tenant, old)
        check_collection_name(new)
        if new == known.name:
            return known
        return await self._adapters.catalog.rename_collection(known, new)

    async def delete(
        self,
        principal: Principal,
        collection: str,
        paths: Sequence[str] | None = None,
        *,
        operator: bool = False,
    ) -> int:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        readers = None if operator else principal.names
        documents = await self._removal.number(readers, known, paths)
        if documents <= DELETE_AT_ONCE:
            return await self._removal.remove(readers, known, paths)
        given = None if paths is None else sorted(paths)
        request = {"collection": collection, "paths": given, "documents": documents}
        request |= {"operator": True} if operator else {}
        job = await self.jobs.submit(DELETE, request, principal=principal)
        async with aclosing(self.jobs.watch(principal, job.id)) as watched:
            async for view in watched:
                if view.state == "done" and view.result:
                    return int(view.result["deleted"])
        raise RagstoneError(view.error or "The deletion was cancelled; what it did stays.")

    async def check_models(self) -> AsyncGenerator[ModelCheck, None]:
        check_everywhere()
        if self._adapters.check_models is None:
            raise NoChatModel("This check")
        async with aclosing(self._adapters.check_models()) as checks:
            async for check in checks:
                yield check

    async def report(self, principal: Principal, days: int) -> Report:
        check_everywhere()
        return await self._adapters.history.report(principal.tenant, days)

    async def embed(self, texts: Sequence[str], model: str = "") -> tuple[str, Vectors]:
        usable = self._embedders()
        for embedder in usable:
            if model in ("", embedder.name):
                with in_bulk():
                    return embedder.name, await embedder.embed_passages(texts)
        names = ", ".join(embedder.name for embedder in usable)
        raise UnknownModel(f"There is no embedding model {model!r}; use {names}.")

    async def topics(self, tenant: str) -> list[Topic]:
        check_everywhere()
        return list(await self._adapters.topics.list_all(tenant))

    async def put_topics(self, tenant: str, topics: Sequence[Topic]) -> int:
        check_everywhere()
        given = {
            new.id: new
            for t in topics
            for new in (topic(tenant, t.term, t.synonyms, t.examples, t.language, t.note),)
        }
        known = {t.id for t in await self._adapters.topics.list_all(tenant)}
        if len(known | set(given)) > MAX_TOPICS:
            raise InvalidTopic(f"A tenant has at most {MAX_TOPICS:,} topics. Remove some first.")
        await self._adapters.topics.put(tenant, list(given.values()))
        return len(set(given) - known)

    async def remove_topics(self, tenant: str, terms: Sequence[str]) -> int:
        check_everywhere()
        listed = await self._adapters.topics.list_all(tenant)
        known = {name: t.id for t in listed for name in (t.id, key(t.term))}
        ids = set()
        for term in terms:
            found = known.get(term) or known.get(key(term))
            if not found:
                raise UnknownTopic(term)
            ids.add(found)
        await self._adapters.topics.remove(tenant, list(ids))
        return len(ids)

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        check_everywhere()
        return await self._adapters.topics.list_blocked(tenant, limit)

    async def check_topics(self, tenant: str, question: str) -> GuardDecision:
        check_everywhere()
        guard = self._configured.of(tenant).guard
        ruling, _ = await guard.decide([" ".join(question.split())], tenant, self._adapters)
        return ruling

    async def cache_figures(self) -> CacheFigures:
        on = self._configured.of().settings.cache.enabled
        return await self._adapters.cache.figures() if on else CacheFigures()

    async def store_figures(self) -> StoreFigures:
        now = time.monotonic()
        if self._totals is None or now - self._totals[0] > TOTALS_SECONDS:
            self._totals = now, tuple(await self._adapters.catalog.totals())
        return StoreFigures(self._totals[1], self.pools())

    def pools(self) -> tuple[PoolUse, ...]:
        """Return the connections of this process to databases."""
        return tuple(pooled.pool_use() for pooled in self._adapters.pools)

    async def clear_cache(self) -> int:
        return await self._adapters.cache.clear()

    async def rebuild_cache(self) -> int:
        return await self._adapters.cache.rebuild()

    async def models(self) -> dict[str, str]:
        return {embedder.name: "embedding" for embedder in self._embedders()}

    async def overview(self) -> Overview:
        catalog, tenant = self._adapters.catalog, Principal().tenant
        known, counts = await catalog.collections(tenant), await catalog.counts(tenant)
        # The operator's: what there is, whoever may read it.
        collections = [_summary(item, counts, None) for item in known]
        return Overview(
            version=__version__,
            data=str(self._data),
            server=None,
            collections=len(collections),
            documents=sum(c.documents for c in collections),
            chunks=sum(c.chunks for c in collections),
            failed=sum(c.failed for c in collections),
            answerer=self._adapters.answerer.name,
            models=await self.models(),
            jobs=tuple(read_progress(v) for v in await self.jobs.list_unfinished(INGEST, REBUILD)),
            disk_bytes=await asyncio.to_thread(disk_bytes, self._data),
        )

    async def ready(self) -> dict[str, str]:
        checks = {
            "index": self._index_ready(),
            "state": self._adapters.catalog.ready(),
            "models": self._models_ready(),
            "disk": asyncio.to_thread(_check_space, self._data),
        }
        if self._adapters.conversations.apart:
            checks["conversations"] = self._adapters.conversations.ready()
        retriever = self._adapters.external_retriever
        if isinstance(retriever, RetrievalServer):
            checks["retrieval"] = retriever.ready()
        results = await asyncio.gather(*checks.values(), return_exceptions=True)
        return {name: _check_result(result) for name, result in zip(checks, results, strict=True)}

    async def _index_ready(self) -> None:
        await self._adapters.index.ready()
        await self._pipeline.placement.check_all()

    async def _models_ready(self) -> str | None:
        chat, alone = self._adapters.chat, self._configured.base.llm.fallback == "none"
        answerer = chat if alone and isinstance(chat, Answerer) else self._adapters.answerer
        said = await answerer.ready()
        if self._warming:
            raise ModelUnavailable("What the first question needs is being loaded.")
        return said

    async def watch(self) -> None:
        """Read the settings changed at run time, and watch for changes by other processes."""
        await self._watch.start()

    async def warm(self) -> None:
        """Load what the first question needs; not ready before that. Raises TimeoutError."""
        self._warming = True
        try:
            async with asyncio.timeout(MAX_SECONDS):
                await warm(self._adapters, self._configured.of().recipes.of("plain", "standard"))
        finally:
            self._warming = False

    async def start_jobs(self) -> None:
        """Continue the work that an earlier process left unfinished."""
        await self._runner.start()
        self._purging = self._purging or asyncio.create_task(self._purge())
        watches = [added.watch for _, added in self._added if hasattr(added, "watch")]
        self._watching = self._watching or [asyncio.create_task(watch()) for watch in watches]
        index = self._adapters.index
        if (home(index) or isinstance(index, Shares)) and self._moving is None:
            moving = move_all(index, self._adapters.catalog)
            self._moving = asyncio.create_task(moving)

    async def _purge(self) -> None:
        """Delete the chunks of retired revisions, and what else an earlier process left behind."""
        await asyncio.to_thread(self._pipeline.originals.drop_linked)
        try:
            await self._pipeline.finish_readers()
            await self._pipeline.purge()
        except RagstoneError as error:
            log.warning("Chunks of old versions wait for the next ingest: %s", error)

    async def aclose(self) -> None:
        """Stop jobs (the next start continues them) and wait for what is being stored."""
        await self._erasure.aclose()
        await self._watch.aclose()
        await self._kept.aclose()
        for task in (self._purging, self._moving, *self._watching):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._runner.stop()
        await self.keys.aclose()
        await self._answers.aclose()
        await self._searches.aclose()
        await self._functions.aclose()
        await self._suggestions.aclose()
        await self._pipeline.aclose()


def _check_result(result: object) -> str:
    """Return the result of a check as text: "ok", "ok" with a remark, or the error."""
    if isinstance(result, BaseException):
        return str(result)
    return f"ok: {result}" if result else "ok"


def _check_space(data: Path) -> None:
    """Raise StorageFull where the data directory has no room left."""
    if not has_space(data):
        raise StorageFull("The disk of the data directory is full. Free some space.")


def _summary(
    collection: Collection,
    counts: Mapping[str, Sequence[StatusCount]],
    names: Sequence[str] | None,
) -> CollectionSummary:
    """Return what these principals may read of a collection, None for all of it, by the counts
    of its tenant's."""
    mine = [
        item
        for item in counts.get(collection.id, ())
        if names is None or not set(names).isdisjoint(item.allowed)
    ]
    return CollectionSummary(
        collection=collection,
        documents=sum(item.documents for item in mine if item.answers),
        chunks=sum(item.chunks for item in mine if item.answers),
        failed=sum(item.documents for item in mine if item.status == "failed"),
        pending=sum(item.chunks for item in mine if item.status == "text"),
    )
