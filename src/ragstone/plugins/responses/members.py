"""Files in vector stores: documents that the caller's files were made into, one by one or in
batches."""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from typing import Any

from ragstone.core.caller import Caller
from ragstone.core.errors import (
    FileInUse,
    JobEnded,
    UnknownCollection,
    UnknownDocument,
    UnknownFile,
    UnknownJob,
)
from ragstone.core.metadata import check_input_metadata
from ragstone.core.records import Document
from ragstone.core.source import Source
from ragstone.core.turn import Principal
from ragstone.http.identity import narrow_principal
from ragstone.plugins.responses.contract import VECTOR_STORES, StoreFile
from ragstone.plugins.responses.kept_files import Files, KeptFile
from ragstone.service import Handed, IngestRequest, Service
from ragstone.service.jobs import JobState, JobView

Object = dict[str, Any]

BATCH = "vsfb_"
STATES = ("in_progress", "completed", "failed", "cancelled")
MAX_DOCUMENTS = 100_000
"""Documents of a collection that are listed."""
MAX_JOBS = 1_000
"""Jobs of the caller that have not ended and are looked at."""
PART = 100_000
"""Characters of a document's text in one piece."""
_UNFINISHED: tuple[JobState, ...] = ("queued", "running", "paused")
_FOLDER = re.compile(r"/(file-[0-9a-f]{32})/")
"""What the path of such a document begins with: the id of its file, so that two files of one name
stay two documents."""


def file_id(source: Source) -> str:
    """Return the id of the file that a source is of, else of its document."""
    return _file_id(source.path, source.document_id)


def attributes(metadata: Mapping[str, Any]) -> Object:
    """Return the metadata that OpenAI's attributes can hold."""
    return {k: v for k, v in metadata.items() if isinstance(v, str | int | float)}


async def find_file(files: Files, caller: Caller, id: str) -> KeptFile:
    """Return the caller's file of this id; raises UnknownFile."""
    found = await asyncio.to_thread(files.find, caller.principal, id)
    if found is None:
        raise UnknownFile(id)
    return found


class Members:
    """The files in vector stores. Whoever may read a document sees it; what is not yet one, or
    never became one, only who put it there."""

    def __init__(self, service: Service, files: Files) -> None:
        self._service = service
        self._files = files

    async def check(self, caller: Caller, ids: Iterable[str]) -> None:
        """Raise UnknownFile unless all of these are the caller's files."""
        for id in ids:
            await find_file(self._files, caller, id)

    async def add(self, caller: Caller, name: str, given: Mapping[str, Object]) -> str:
        """Index files by their ids, each with its attributes; the job that does it.

        Raises UnknownFile, InputError for attributes that are no metadata, StorageFull.
        """
        principal, now = caller.principal, time.time()
        metadata = [check_input_metadata(said) for said in given.values()]
        kept = [await find_file(self._files, caller, id) for id in given]
        paths = [f"/{file.id}/{file.name}" for file in kept]
        lent = await asyncio.to_thread(lambda: [self._files.lend(file) for file in kept])
        handed = [
            Handed(file, path, f"upload:{path}", modified=now, metadata=said, single=True)
            for file, path, said in zip(lent, paths, metadata, strict=True)
        ]
        request = IngestRequest(
            collection=name, tenant=principal.tenant, handed=tuple(handed), by=principal
        )
        async with aclosing(self._service.ingest(request)) as steps:
            job = (await anext(steps)).job
        whose = (principal.user, job, now)
        rows = [
            StoreFile(principal.tenant, name, file.id, path, *whose)
            for file, path in zip(kept, paths, strict=True)
        ]
        await VECTOR_STORES.of(self._service).put_files(rows)
        return job

    async def update(self, caller: Caller, name: str, id: str, said: Object) -> Object:
        """Give a file in a store other attributes; raises UnknownDocument, UnknownFile."""
        await self.find(caller, name, id)
        job = await self.add(caller, name, {id: said})
        async with aclosing(self._service.jobs.watch(caller.principal, job)) as views:
            async for _ in views:
                pass
        return await self.find(caller, name, id)

    async def list_all(self, caller: Caller, name: str, batch: str | None = None) -> list[Object]:
        """The files of a store, or of a batch; raises UnknownJob where there is no such one."""
        return await self._describe(caller, name, await self._rows(caller, name, batch), batch)

    async def _describe(
        self, caller: Caller, name: str, put: Iterable[StoreFile], batch: str | None
    ) -> list[Object]:
        """What became of files that were put into a store, and without a batch its documents."""
        principal, rows = caller.principal, {row.path: row for row in put}
        named = list(rows) if batch else None
        documents = await self._documents(principal, name, named)
        jobs: dict[str, JobView | None] = {}
        for path, row in rows.items():
            if row.job not in jobs and not row.is_settled(documents.get(path)):
                jobs[row.job] = await self._service.jobs.get(principal, row.job)
        if jobs:
            # What a job that has ended meanwhile did is seen only now.
            documents = await self._documents(principal, name, named)

        def states() -> list[Object]:
            found = (
                _member_json(name, row, documents.get(path), jobs.get(row.job) if row else None)
                for path in {**rows, **documents}
                for row in [rows.get(path)]
            )
            return [item for item in found if item]

        return await asyncio.to_thread(states)

    async def find(self, caller: Caller, name: str, id: str) -> Object:
        """One of a store's, by the id of the file or of the document; raises UnknownDocument."""
        row, document, job = await self._look_up(caller, name, id)
        found = _member_json(name, row, document, job)
        if found is None:
            raise UnknownDocument(id)
        return found

    async def remove(self, caller: Caller, name: str, id: str) -> Object:
        """Delete a document of a store; its file stays. Raises UnknownDocument, FileInUse."""
        row, document, job = await self._look_up(caller, name, id)
        if row and job and not job.ended and not row.is_settled(document):
            raise FileInUse("This file is being indexed. Delete it when that is done.")
        if _member_json(name, row, document, job) is None:
            raise UnknownDocument(id)
        if document:
            await self._service.delete(caller.principal, name, [document.id])
        if row:
            await VECTOR_STORES.of(self._service).remove_file(caller.principal, name, id)
        return {"id": id, "object": "vector_store.file.deleted", "deleted": True}

    async def content(self, caller: Caller, name: str, id: str) -> Object:
        """Return the text of a file as it was read; raises UnknownDocument."""
        _, document, _ = await self._look_up(caller, name, id)
        if document is None:
            raise UnknownDocument(id)
        parts: list[Object] = []
        at, total = 0, 1
        while at < total:
            read = await self._service.reading.read(caller.principal, name, document.id, at, PART)
            parts.append({"type": "text", "text": read.text})
            at, total = at + PART, read.total
        return {
            "object": "vector_store.file_content.page",
            "data": parts,
            "has_more": False,
            "next_page": None,
        }

    async def batch(self, caller: Caller, name: str, id: str) -> Object:
        """Return a batch, which is a job; raises UnknownJob."""
        rows = await self._rows(caller, name, id)
        members = await self._describe(caller, name, rows, id)
        job = await self._service.jobs.get(caller.principal, id.removeprefix(BATCH))
        counts = count_states(member["status"] for member in members)
        # A job that ends early after its last file has taken nothing from the batch.
        ended = job.state if job and counts.get(job.state) else "completed"
        return {
            "id": id,
            "object": "vector_store.files_batch",
            "created_at": int(rows[0].created_at),
            "vector_store_id": name,
            "status": "in_progress" if counts["in_progress"] else ended,
            "file_counts": counts,
        }

    async def cancel(self, caller: Caller, name: str, id: str) -> Object:
        """End a batch; what is indexed stays. Raises UnknownJob."""
        await self._rows(caller, name, id)
        with suppress(JobEnded, UnknownJob):
            await self._service.jobs.cancel(caller.principal, id.removeprefix(BATCH))
        return await self.batch(caller, name, id)

    async def count_waiting(self, principal: Principal) -> Mapping[str, int]:
        """The stores that are being filled by the principal, each with how many files wait."""
        found: dict[str, int] = {}
        for state in _UNFINISHED:
            for job in await self._service.jobs.list(
                principal.tenant, "ingest", state, MAX_JOBS, principal=principal
            ):
                rows = await VECTOR_STORES.of(self._service).files(principal, job=job.id)
                read = int(job.progress.get("files") or 0)
                waiting = found.get(job.collection, 0) + max(0, len(rows) - read)
                found[job.collection] = waiting
        return found

    async def _rows(self, caller: Caller, name: str, batch: str | None) -> list[StoreFile]:
        """Return what was put into a store, or by a batch of the caller's; raises UnknownJob."""
        stores, principal = VECTOR_STORES.of(self._service), narrow_principal(caller, name)
        if batch is None:
            return await stores.files(principal, name)
        job = batch.removeprefix(BATCH) if batch.startswith(BATCH) else ""
        rows = await stores.files(principal, name, job=job)
        mine = [row for row in rows if row.user == principal.user]
        if not mine:
            raise UnknownJob(batch)
        return mine

    async def _look_up(
        self, caller: Caller, name: str, id: str
    ) -> tuple[StoreFile | None, Document | None, JobView | None]:
        """Return all that is known of a file in a store by its id, or the document's."""
        principal, folder = narrow_principal(caller, name), f"/{id}/"
        rows = await VECTOR_STORES.of(self._service).files(principal, name, file=id)
        row = rows[0] if rows else None
        # Before the document: what a job that has ended did is there then.
        job = await self._service.jobs.get(principal, row.job) if row else None
        found: list[Document] = []
        with suppress(UnknownCollection):
            if _FOLDER.fullmatch(folder):
                found = await self._service.documents(principal, name, after=folder, limit=1)
            else:
                found = await self._service.documents(principal, name, named=[id], limit=1)
        known = [document for document in found if id == _file_id(document.path, document.id)]
        return row, known[0] if known else None, job

    async def _documents(
        self, principal: Principal, name: str, named: list[str] | None
    ) -> Mapping[str, Document]:
        """Return the documents of a collection, which need not be there yet, by path."""
        with suppress(UnknownCollection):
            found = await self._service.documents(principal, name, named=named, limit=MAX_DOCUMENTS)
            return {item.path: item for item in found}
        return {}


def count_states(states: Iterable[str]) -> Object:
    """Tell how many files are in which state."""
    counts = dict.fromkeys(STATES, 0)
    for state in states:
        counts[state] += 1
    return {**counts, "total": sum(counts.values())}


def _file_id(path: str, document_id: str) -> str:
    found = _FOLDER.match(path)
    return found[1] if found else document_id


def _member_json(
    name: str, row: StoreFile | None, document: Document | None, job: JobView | None
) -> Object | None:
    """Return a file of a vector store; None where neither a document nor the job says what became
    of it: the document was deleted, or it is another one's."""
    status, error = _state(row, document, job)
    if not status or not (row or document):
        return None
    made = row.created_at if row else document.modified if document else 0.0
    return {
        "id": row.file if row else _file_id(document.path, document.id) if document else "",
        "object": "vector_store.file",
        "created_at": int(made),
        "vector_store_id": name,
        "status": status,
        "usage_bytes": document.size if document else 0,
        "last_error": {"code": "invalid_file", "message": error} if error else None,
        "attributes": attributes((document and document.metadata) or {}),
        "chunking_strategy": {"type": "other"},
    }


def _state(
    row: StoreFile | None, document: Document | None, job: JobView | None
) -> tuple[str, str]:
    """Return the state of a file in OpenAI's words, empty for unknown, and why it failed."""
    settled = row is None or row.is_settled(document)
    if job and not job.ended and not settled:
        return "in_progress", ""
    if document and document.status == "failed":
        return "failed", document.error
    if document and document.status == "ready":
        return "completed", ""
    if job and job.state in ("failed", "cancelled"):
        return job.state, job.error
    if document:
        return "in_progress", ""
    failed = job.progress.get("failed", ()) if job and row else ()
    reason = next((item["reason"] for item in failed if row and item["path"] == row.path), "")
    return ("failed", reason) if reason else ("", "")
