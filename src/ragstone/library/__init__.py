"""Ragstone in this process: the service behind `ragstone serve`, the command line and programs."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragstone import __version__
from ragstone.engine import Engine
from ragstone.errors import (
    InvalidTopic,
    UnknownCollection,
    UnknownDocument,
    UnknownModel,
    UnknownTopic,
)
from ragstone.events import Event
from ragstone.filters import AnyOf, Not
from ragstone.ingest.jobs import Jobs
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.topics import MOST_TOPICS, topic
from ragstone.library.functions import LocalFunctions
from ragstone.ports import CacheFigures, Embedder, Kit, Topics
from ragstone.records import BlockedQuestion, Collection, Document, Report, Ruling, Topic
from ragstone.service import CollectionSummary, Found, IngestRequest, Overview, Progress
from ragstone.stages.guard import Guard
from ragstone.text.phrases import key
from ragstone.turn import Ask, Principal


class Ragstone:
    """`service.Service` on adapters of this process; `build.open` makes one."""

    def __init__(
        self,
        kit: Kit,
        answers: Engine,
        searches: Engine,
        pipeline: Pipeline,
        jobs: Jobs,
        embedders: Callable[[], Sequence[Embedder]],
        data: Path,
        guard: Guard,
    ) -> None:
        self._kit = kit
        self._answers = answers
        self._searches = searches
        self._pipeline = pipeline
        self._jobs = jobs
        self._embedders = embedders
        self._data = data
        self._guard = guard
        self.functions = LocalFunctions(kit, searches)

    def ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        return self._answers.events(ask)

    async def search(self, ask: Ask) -> Found:
        turn = await self._searches.answered(ask)
        return Found(turn.hits, turn.trace, turn.question if turn.original else "")

    async def ingest(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        async with aclosing(self._job("ingest", asdict(request))) as job:
            async for progress in job:
                yield progress

    async def rebuild(self, tenant: str, collection: str) -> AsyncGenerator[Progress, None]:
        await self._known(tenant, collection)
        request = {"tenant": tenant, "collection": collection}
        async with aclosing(self._job("rebuild", request)) as job:
            async for progress in job:
                yield progress

    async def _job(self, kind: str, request: dict[str, Any]) -> AsyncGenerator[Progress, None]:
        job = await self._jobs.submit(kind, request)
        async with aclosing(self._jobs.watch(job)) as watched:
            async for progress in watched:
                yield progress

    async def collections(self, principal: Principal) -> list[CollectionSummary]:
        known = await self._kit.catalog.collections(principal.tenant)
        return list(await asyncio.gather(*(self._summary(c, principal) for c in known)))

    async def _summary(self, collection: Collection, principal: Principal) -> CollectionSummary:
        documents = await self._readable(principal, collection.name)
        async with self._kit.catalog.seeing() as hidden:
            where = Not(AnyOf("revision", tuple(sorted(hidden))))
            chunks = await self._kit.index.count(collection, where)
        pending = sum(d.chunks for d in documents if d.status == "text")
        return CollectionSummary(
            collection=collection,
            documents=sum(document.version > 0 for document in documents),
            chunks=chunks,
            failed=sum(document.status == "failed" for document in documents),
            pending=pending,
        )

    async def documents(
        self, principal: Principal, collection: str, *, limit: int = 1000, offset: int = 0
    ) -> list[Document]:
        await self._known(principal.tenant, collection)
        return (await self._readable(principal, collection))[offset : offset + limit]

    async def delete(
        self, principal: Principal, collection: str, paths: Sequence[str] | None = None
    ) -> int:
        known = await self._known(principal.tenant, collection)
        documents = await self._readable(principal, collection)
        if paths is not None:
            documents = _named(documents, paths)
        await self._kit.catalog.retire([document.id for document in documents])
        await self._pipeline.purge()
        if paths is None:
            await self._kit.catalog.drop_collection(known.tenant, known.name)
            await self._kit.index.drop(known)
        return len(documents)

    async def report(self, principal: Principal, days: int) -> Report:
        return await self._kit.history.report(principal.tenant, days)

    async def embed(self, texts: Sequence[str], model: str = "") -> tuple[str, Any]:
        usable = self._embedders()
        for embedder in usable:
            if model in ("", embedder.name):
                return embedder.name, await embedder.embed_passages(texts)
        names = ", ".join(embedder.name for embedder in usable)
        raise UnknownModel(f"There is no embedding model {model!r}; use {names}.")

    async def topics(self, tenant: str) -> list[Topic]:
        return list(self._topics.listed(tenant))

    async def put_topics(self, tenant: str, topics: Sequence[Topic]) -> int:
        given = {
            new.id: new
            for t in topics
            for new in (topic(tenant, t.term, t.synonyms, t.examples, t.language, t.note),)
        }
        known = {t.id for t in self._topics.listed(tenant)}
        if len(known | set(given)) > MOST_TOPICS:
            raise InvalidTopic(f"A tenant has at most {MOST_TOPICS:,} topics. Remove some first.")
        await self._topics.put(tenant, list(given.values()))
        return len(set(given) - known)

    async def remove_topics(self, tenant: str, terms: Sequence[str]) -> int:
        known = {name: t.id for t in self._topics.listed(tenant) for name in (t.id, key(t.term))}
        ids = set()
        for term in terms:
            found = known.get(term) or known.get(key(term))
            if not found:
                raise UnknownTopic(term)
            ids.add(found)
        await self._topics.remove(tenant, list(ids))
        return len(ids)

    async def blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        return await self._topics.blocked(tenant, limit)

    async def check_topics(self, tenant: str, question: str) -> Ruling:
        ruling, _ = await self._guard.ruling([" ".join(question.split())], tenant, self._kit)
        return ruling

    @property
    def _topics(self) -> Topics:
        assert self._kit.topics is not None  # noqa: S101  build.py always makes them
        return self._kit.topics

    async def cache_figures(self) -> CacheFigures:
        return await self._kit.cache.figures() if self._kit.cache else CacheFigures()

    async def clear_cache(self) -> int:
        return await self._kit.cache.clear() if self._kit.cache else 0

    async def rebuild_cache(self) -> int:
        return await self._kit.cache.rebuild() if self._kit.cache else 0

    async def overview(self) -> Overview:
        collections = await self.collections(Principal())
        return Overview(
            version=__version__,
            data=str(self._data),
            server=None,
            collections=len(collections),
            documents=sum(c.documents for c in collections),
            chunks=sum(c.chunks for c in collections),
            failed=sum(c.failed for c in collections),
            answerer=self._kit.answerer.name,
            models={embedder.name: "embedding" for embedder in self._embedders()},
            jobs=self._jobs.unfinished(),
            disk_bytes=await asyncio.to_thread(_size, self._data),
        )

    async def ready(self) -> dict[str, str]:
        checks = {
            "index": self._kit.index.ready(),
            "state": self._kit.catalog.ready(),
            "models": self._kit.answerer.ready(),
        }
        results = await asyncio.gather(*checks.values(), return_exceptions=True)
        return {name: _state(result) for name, result in zip(checks, results, strict=True)}

    async def start_jobs(self) -> None:
        """Continue what an earlier process left unfinished."""
        await self._jobs.start()

    async def aclose(self) -> None:
        """Stop jobs (the next start continues them) and wait for what is being stored."""
        await self._jobs.stop()
        await self._answers.aclose()
        await self._searches.aclose()
        self._pipeline.close()

    async def _known(self, tenant: str, name: str) -> Collection:
        collection = await self._kit.catalog.collection(tenant, name)
        if collection is None:
            raise UnknownCollection(name)
        return collection

    async def _readable(self, principal: Principal, collection: str) -> list[Document]:
        documents = await self._kit.catalog.documents(principal.tenant, collection)
        names = set(principal.names)
        return [document for document in documents if names & set(document.allowed)]


def _state(result: object) -> str:
    """What a check says: nothing, what is to be known, or an error."""
    if isinstance(result, BaseException):
        return str(result)
    return f"ok: {result}" if result else "ok"


def _named(documents: Sequence[Document], paths: Sequence[str]) -> list[Document]:
    """The documents that `paths` name: by id, by path, or by a folder above them."""
    named: dict[str, Document] = {}
    for path in paths:
        place = "/" + path.strip("/")
        found = [
            d
            for d in documents
            if d.id == path or d.path == place or d.path.startswith(place + "/")
        ]
        if not found:
            raise UnknownDocument(path)
        named.update((document.id, document) for document in found)
    return list(named.values())


def _size(root: Path) -> int:
    """Bytes on disk; the index has sparse files, whose length says nothing."""
    return sum(file.stat().st_blocks * 512 for file in root.rglob("*") if file.is_file())
