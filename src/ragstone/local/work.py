"""What each kind of job does, and its progress as those who wait for it see it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

from ragstone.access.asking import ASKING
from ragstone.core.answer import Usage
from ragstone.core.caller import Caller
from ragstone.core.errors import UnknownCollection
from ragstone.core.turn import Principal
from ragstone.ingest.free_memory import give_back
from ragstone.ingest.pipeline import Pipeline
from ragstone.jobs.questions import CREDENTIAL, Answers, answer
from ragstone.jobs.runner import Report, Work
from ragstone.local.readers import WantedDocuments
from ragstone.local.removal import Removal
from ragstone.ports import Catalog
from ragstone.ports.jobs import EMBED_PART, READ_PART, Job, JobStore
from ragstone.service import FileCopy, FileFailure, IngestRequest, Progress, Skipped
from ragstone.service.jobs import ASK, JobView

INGEST, REBUILD, DELETE, READERS = "ingest", "rebuild", "delete", "readers"

_SUMMARY = (
    "files",
    "indexed",
    "unchanged",
    "pruned",
    "failed",
    "more_failed",
    "skipped",
    "chunks",
    "embedded",
    "pages",
    "questions",
    "usage",
)


def works(
    catalog: Catalog, pipeline: Pipeline, answers: Answers, removal: Removal, store: JobStore
) -> dict[str, Work]:
    """Return the kinds of jobs that every Ragstone does."""

    async def ingest(job: Job, report: Report) -> dict[str, Any]:
        request, reported = IngestRequest.of(job.request), _progress_reporter(report)
        earlier = _progress(job.id, job.progress) if job.attempts > 1 else None

        async def leaves() -> bool:
            # What an attempt before has written cannot be told from what others have.
            return job.attempts == 1 and await store.has_unfinished_ingest(
                job.tenant, job.collection
            )

        return _summary(
            await pipeline.ingest(job.id, request, reported, job.collection, earlier, leaves)
        )

    async def rebuild(job: Job, report: Report) -> dict[str, Any]:
        collection = await catalog.find_by_id(job.tenant, job.collection)
        if collection is None:
            raise UnknownCollection(job.request["collection"])
        return _summary(await pipeline.rebuild(job.id, collection, _progress_reporter(report)))

    async def delete(job: Job, report: Report) -> dict[str, Any]:
        asker = Principal(job.tenant, job.user, tuple(job.groups))
        readers = None if job.request.get("operator") else asker.names
        known, paths = int(job.request["documents"]), job.request["paths"]
        collection = await catalog.find_by_id(job.tenant, job.collection)
        if job.attempts > 1:
            return {"deleted": max(known, await removal.finish(readers, collection, paths))}
        if collection is None:
            raise UnknownCollection(job.request["collection"])
        return {"deleted": await removal.remove(readers, collection, paths)}

    async def ask(job: Job, report: Report) -> dict[str, Any]:
        whose = Principal(job.tenant, job.user, tuple(job.groups))
        # The question counts for who asked it, and waits with the others of that credential.
        ASKING.set(Caller(whose, "reader", None, str(job.request.get(CREDENTIAL, ""))))
        return await answer(answers, job)

    readers: Work = partial(_give_readers, catalog, pipeline)
    freeing = {INGEST: ingest, REBUILD: rebuild, DELETE: delete, READERS: readers}
    return {ASK: ask, **{kind: _free_memory_when_done(work) for kind, work in freeing.items()}}


async def _give_readers(
    catalog: Catalog, pipeline: Pipeline, job: Job, report: Report
) -> dict[str, Any]:
    collection = await catalog.find_by_id(job.tenant, job.collection)
    if collection is None:
        raise UnknownCollection(job.request["collection"])
    ids = await WantedDocuments(**job.request["wanted"]).ids(catalog, collection)
    await pipeline.give_readers(collection, ids, tuple(job.request["readers"]))
    return {"documents": len(ids)}


def part_works(pipeline: Pipeline) -> dict[str, Work]:
    """Return what a Ragstone does of others' ingests whose state and index it shares."""
    helping = pipeline.helping
    return {
        READ_PART: _free_memory_when_done(helping.read),
        EMBED_PART: _free_memory_when_done(helping.embed),
    }


def _free_memory_when_done(work: Work) -> Work:
    """The same work, and then what it has freed goes back to the system."""

    async def finish(job: Job, report: Report) -> dict[str, Any] | None:
        try:
            return await work(job, report)
        finally:
            await asyncio.to_thread(give_back)

    return finish


def read_progress(view: JobView) -> Progress:
    """The progress of an ingest or a rebuild, from a job that may go on in another process."""
    known = _progress(view.id, view.progress)
    if not view.ended:
        return replace(known, eta=view.eta)
    error = "The job was cancelled." if view.state == "cancelled" else view.error
    return replace(known, phase="done", eta=0.0, finished=True, error=error)


def _progress(job: str, stored: Mapping[str, Any]) -> Progress:
    """Return the progress that was stored, as that of a job that goes on."""
    names = {field.name for field in fields(Progress)} - {"job", "eta", "finished", "error"}
    known: dict[str, Any] = {k: v for k, v in stored.items() if k in names}
    known["failed"] = tuple(FileFailure(**item) for item in known.get("failed", ()))
    known["skipped"] = tuple(Skipped(**item) for item in known.get("skipped", ()))
    known["copies"] = tuple(FileCopy(**item) for item in known.get("copies", ()))
    known["notes"] = tuple(known.get("notes", ()))
    known["usage"] = Usage(**known.get("usage", {}))
    return Progress(job, **known)


def _progress_reporter(report: Report) -> Callable[[Progress], None]:
    return lambda progress: report({**asdict(progress), "share": progress.share})


def _summary(progress: Progress) -> dict[str, Any]:
    said: Mapping[str, Any] = asdict(progress)
    return {name: said[name] for name in (*_SUMMARY, "seconds", "notes")}
