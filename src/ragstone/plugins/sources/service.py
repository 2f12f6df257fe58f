"""Sources in this process: what is stored of them, and when their runs are due."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

from ragstone.core.caller import SCHEDULE
from ragstone.core.clock import state_time
from ragstone.core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    InputError,
    JobEnded,
    RagstoneError,
    UnknownJob,
    UnknownSource,
)
from ragstone.core.limits import check_collection_name
from ragstone.core.readers import check_readers
from ragstone.core.sync import SourceRun, StoredSource
from ragstone.core.turn import Principal
from ragstone.jobs.runner import Report, Work
from ragstone.local.added import ServiceParts, WorkParts
from ragstone.local.jobs import LocalJobs
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options, describe_options, list_secrets
from ragstone.plugins.sources.run import PAGE, SyncParts, SyncRequest, forget_documents, sync_parts
from ragstone.plugins.sources.schedule import check_schedule, find_due
from ragstone.plugins.sources.sync import open_source, run_source
from ragstone.ports.jobs import Job
from ragstone.ports.sources import SourceStore
from ragstone.service import wire
from ragstone.service.sources import SourceKindView, SourcesService, SourceView

log = logging.getLogger(__name__)

KIND = "source"
"""The kind of jobs that sync a source."""

LOOK_SECONDS = 2.0
"""How often it is looked for sources that are due."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class LocalSources:
    """`service.sources.SourcesService` in this process."""

    def __init__(self, parts: SyncParts, jobs: LocalJobs) -> None:
        self._parts = parts
        self._store = parts.store
        self._catalog = parts.catalog
        self._jobs = jobs
        self.observed: SourcesService = self

    async def add(
        self,
        principal: Principal,
        name: str,
        kind: str,
        collection: str = "default",
        *,
        options: Mapping[str, str] = {},
        every: float | None = None,
        cron: str | None = None,
        readers: Sequence[str] = (),
        operator: bool = False,
    ) -> SourceView:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"Not a valid name of a source: {name[:100]!r}. Use letters, digits, dots, hyphens "
                "and underscores, such as handbook."
            )
        check_schedule(every, cron)
        check_collection_name(collection)
        check_readers(readers)
        await asyncio.to_thread(_check_permitted, kind, options, operator)
        id = await self._catalog.identity(principal.tenant, collection)
        source = StoredSource(
            uuid4().hex,
            principal.tenant,
            name,
            kind,
            id,
            dict(options),
            tuple(dict.fromkeys(readers)),
            every,
            state_time(),
            cron,
        )
        await self._refuse_if_taken(source)
        await self._check_answers(source)
        due = source.created_at if every is not None else find_due(every, cron, state_time())
        if not await self._store.add(replace(source, next_at=due)):
            raise Conflict(f"There is a source {name!r} already. Choose another name.")
        return await self.show(principal, name)

    async def kinds(self, principal: Principal) -> Sequence[SourceKindView]:
        return await asyncio.to_thread(_describe_kinds)

    async def change(
        self,
        principal: Principal,
        name: str,
        *,
        every: float | None = None,
        cron: str | None = None,
        by_hand: bool = False,
        options: Mapping[str, str] = {},
        readers: Sequence[str] | None = None,
        operator: bool = False,
    ) -> SourceView:
        source, _ = await self._find(principal, name)
        check_schedule(every, cron)
        scheduled = every is not None or cron is not None
        if by_hand and scheduled:
            raise InputError("Not a valid schedule: by hand, or when it runs, not both.")
        if not (by_hand or scheduled or options) and readers is None:
            raise InputError("Nothing to change: give a schedule, options or readers.")
        changed = source
        if by_hand or scheduled:
            changed = replace(source, every=every, cron=cron)
        if options:
            given = {key: value for key, value in {**source.options, **options}.items() if value}
            await asyncio.to_thread(_check_permitted, source.kind, given, operator)
            changed = replace(changed, options=given)
            await self._check_answers(changed)
        if readers is not None:
            check_readers(readers)
            changed = replace(changed, readers=tuple(dict.fromkeys(readers)))
        values: dict[str, object] = {
            "every": changed.every,
            "cron": changed.cron,
            "next_at": find_due(changed.every, changed.cron, state_time()),
        }
        if (changed.options, changed.readers) == (source.options, source.readers):
            await self._store.change(source.id, **values)
            return await self.show(principal, name)
        values |= {
            "options": changed.options,
            "readers": changed.readers,
            # Every item may be another one, or for others.
            "checkpoint": "",
            "failures": 0,
            "next_at": state_time(),
        }
        await self._stop_runs(source)
        async with self._catalog.alone(source.tenant, f"source {source.id}"):
            await self._store.change(source.id, **values)
        return await self.show(principal, name)

    async def list(self, principal: Principal) -> Sequence[SourceView]:
        stored = await self._store.list_all(principal.tenant)
        ids = {source.collection for source in stored}
        names = await self._catalog.names(principal.tenant, ids)
        reach = principal.collections
        return [
            await self._view(source, names.get(source.collection, ""))
            for source in stored
            if reach is None or names.get(source.collection) in reach
        ]

    async def show(self, principal: Principal, name: str) -> SourceView:
        source, collection = await self._find(principal, name)
        return await self._view(source, collection)

    async def sync(
        self, principal: Principal, name: str, *, dry: bool = False, accept_removals: bool = False
    ) -> SourceRun:
        source, collection = await self._find(principal, name)
        wanted = SyncRequest(dry, accept_removals)
        return await _submit(self._jobs, self._store, source, collection, wanted)

    async def runs(self, principal: Principal, name: str, limit: int = 20) -> Sequence[SourceRun]:
        source, _ = await self._find(principal, name)
        return [
            await self._compare_with_job(run) for run in await self._store.runs(source.id, limit)
        ]

    async def remove(self, principal: Principal, name: str, *, documents: bool = False) -> int:
        source, _ = await self._find(principal, name)
        # Nothing is due any more, so no other run begins.
        await self._store.change(source.id, next_at=None, every=None, cron=None)
        await self._stop_runs(source)
        async with self._catalog.alone(source.tenant, f"source {source.id}"):
            removed = await forget_documents(self._parts, source) if documents else 0
            await self._store.remove(source.id)
            await asyncio.to_thread(self._parts.delete_files, source.id)
        return removed

    async def watch(self) -> None:
        """Begin the runs that are due, from now on and for as long as this is not cancelled."""
        while True:
            try:
                await self.begin_due()
            except RagstoneError as error:
                log.warning("Sources that are due wait: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def begin_due(self) -> None:
        """Begin the runs that are due now."""
        for source in await self._store.list_due(state_time()):
            # Before the run: one that is cancelled waits for the next time too.
            due = find_due(source.every, source.cron, state_time())
            await self._store.change(source.id, next_at=due)
            await self.observed.sync(Principal(source.tenant, SCHEDULE), source.name)

    async def _check_answers(self, source: StoredSource) -> None:
        """Raise SourceUnavailable unless the source answers."""
        opened = await asyncio.to_thread(open_source, self._parts, source)
        try:
            await opened.check()
        finally:
            await opened.aclose()

    async def _stop_runs(self, source: StoredSource) -> None:
        """Cancel the runs that go on or wait."""
        for run in await self._store.runs(source.id, PAGE):
            if run.state == "running":
                with suppress(JobEnded, UnknownJob):
                    await self._jobs.cancel(Principal(source.tenant), run.id, admin=True)

    async def _find(self, principal: Principal, name: str) -> tuple[StoredSource, str]:
        """Return a source, and its collection's name. Raises UnknownSource."""
        source = await self._store.find(principal.tenant, name)
        if source is None:
            raise UnknownSource(name)
        names = await self._catalog.names(source.tenant, [source.collection])
        collection = names.get(source.collection, "")
        if principal.collections is not None and collection not in principal.collections:
            raise UnknownSource(name)
        return source, collection

    async def _view(self, source: StoredSource, collection: str) -> SourceView:
        last = next(iter(await self._store.runs(source.id, 1)), None)
        return SourceView(
            source.name,
            source.kind,
            collection,
            source.options,
            source.readers,
            source.every,
            source.cron,
            source.next_at,
            await self._compare_with_job(last) if last else None,
        )

    async def _compare_with_job(self, run: SourceRun) -> SourceRun:
        """Return the run as it is: one whose job was cancelled or forgotten goes on no more."""
        if run.state != "running":
            return run
        source = await self._store.get(run.source)
        whose = Principal(source.tenant if source else "")
        job = await self._jobs.get(whose, run.id, admin=True)
        if job is not None and not job.ended:
            return run
        # The run may have ended since it was read.
        kept = await self._store.runs(run.source, PAGE)
        run = next((item for item in kept if item.id == run.id), run)
        if run.state != "running":
            return run
        return replace(run, state="stopped", error=job.error if job else "")

    async def _refuse_if_taken(self, source: StoredSource) -> None:
        """Raise Conflict where the source's folder has documents that are not its own."""
        place = source.tenant, source.collection
        below = f"/{source.name}"
        after = ""
        while page := await self._catalog.documents(*place, below=below, after=after, limit=PAGE):
            if any((item.metadata or {}).get("source") != source.name for item in page):
                raise Conflict(
                    f"The folder {below} of the collection has other documents already. Choose "
                    "another name."
                )
            after = page[-1].path


# A kind may have much to import, so the next two are run in threads.


def _describe_kinds() -> list[SourceKindView]:
    found = []
    for name in sorted(SOURCES):
        with suppress(ConfigError):  # `ragstone plugins` says what is broken.
            kind = SOURCES.get(name)
            options = tuple(describe_options(kind))
            found.append(SourceKindView(name, kind.help, kind.of_server, options))
    return found


def _check_permitted(kind: str, options: Mapping[str, str], operator: bool) -> None:
    """Raise InputError unless these are options of the kind, Forbidden where only the operator may
    give them."""
    declared = SOURCES.get(kind)
    if declared.of_server and not operator:
        raise Forbidden(
            f"A source of the kind {kind} reads what the server reaches: only its operator may say "
            "what, with 'ragstone source' there."
        )
    check_options(kind, declared, options)
    if list_secrets(declared) & options.keys() and not operator:
        raise Forbidden(
            "Only the server's operator may have a source use a secret of its environment."
        )


async def _submit(
    jobs: LocalJobs, store: SourceStore, source: StoredSource, collection: str, wanted: SyncRequest
) -> SourceRun:
    """Queue a run, unless an equal one waits or goes on already."""
    request: dict[str, Any] = {"source": source.id, **asdict(wanted)}
    # A job about a collection that is gone is about none.
    request |= {"collection": collection} if collection else {}
    whose = Principal(source.tenant)
    for _ in range(100):
        job = await jobs.submit(KIND, request, principal=whose)
        begun = SourceRun(job.id, source.id, job.created_at, dry=wanted.dry)
        run = await store.begin_run(begun)
        if run.state == "running":
            break
        # An equal job has done its work, and is about to say so: it saw nothing of what came since.
        await asyncio.sleep(0.05)
    return run


def source_work(given: WorkParts) -> Work:
    """Make the work of jobs that sync a source."""
    parts = sync_parts(given.settings, given.adapters, given.pipeline)

    async def work(job: Job, report: Report) -> dict[str, Any]:
        source = await parts.store.get(str(job.request["source"]))
        if source is None:
            return {}
        wanted = SyncRequest(bool(job.request["dry"]), bool(job.request["accept_removals"]))
        begun = SourceRun(job.id, source.id, job.created_at, dry=wanted.dry)
        earlier = await parts.store.begin_run(begun)
        if earlier.state == "running" and job.attempts > 1 and "run" in job.progress:
            # An ingest of a folder stores nothing of how far it is but this.
            earlier = wire.load(SourceRun, job.progress["run"])

        def report_run(run: SourceRun) -> None:
            report({"share": None, "run": wire.dump(run)})

        ended = await run_source(parts, source, wanted, earlier, report_run)
        return {"run": wire.dump(ended)}

    return work


def open_service(parts: ServiceParts) -> LocalSources:
    """Make the operations of this process."""
    return LocalSources(sync_parts(parts.settings, parts.adapters, parts.pipeline), parts.jobs)
