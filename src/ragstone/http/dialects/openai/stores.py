"""Files and vector stores of OpenAI's API: uploads that wait, and collections."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import UploadFile

from ragstone.core.caller import Caller
from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.metadata import described
from ragstone.core.records import Document
from ragstone.core.source import Source, hit_sources
from ragstone.core.turn import Ask
from ragstone.http.identity import narrowed
from ragstone.http.uploads import Uploads
from ragstone.service import CollectionSummary, Handed, IngestRequest, Progress, Service

Object = dict[str, Any]

PREFIX = "file-"
_FOLDER = re.compile(r"/(file-[0-9a-f]{32})/")
"""What the path of such a document begins with: the id of its upload, so that two files of one name
stay two documents."""

PAGE = 100_000
"""Documents of a collection at most."""


def file_id(source: Source) -> str:
    """The id of the file that a source is of: that of its upload, else its document's."""
    return _id_of(source.path, source.document_id)


def _id_of(path: str, document_id: str) -> str:
    found = _FOLDER.match(path)
    return found[1] if found else document_id


class Stores:
    """A vector store is a collection, and its id the collection's name. It is there with its first
    file. A file is an upload until it is put into a store, and a document of that from then on."""

    def __init__(self, service: Service, uploads: Uploads) -> None:
        self._service = service
        self._uploads = uploads

    async def upload(self, caller: Caller, file: UploadFile, purpose: str) -> Object:
        """Keep a file until it is put into a store; raises WrongType, StorageFull."""
        handle = await self._uploads.add(caller, file)
        return await self.file(caller, PREFIX + handle, purpose)

    async def file(self, caller: Caller, id: str, purpose: str = "assistants") -> Object:
        """A file that waits; raises UnknownDocument."""
        return await asyncio.to_thread(self._file_json, self._waiting(caller, id), id, purpose)

    async def content(self, caller: Caller, id: str) -> bytes:
        """What a file that waits holds; raises UnknownDocument."""
        return await asyncio.to_thread(Path(self._waiting(caller, id)).read_bytes)

    async def forget(self, caller: Caller, id: str) -> Object:
        """Delete a file that waits; raises UnknownDocument."""
        self._waiting(caller, id)
        await asyncio.to_thread(self._uploads.drop, caller, id.removeprefix(PREFIX))
        return {"id": id, "object": "file", "deleted": True}

    async def listed(self, caller: Caller) -> list[Object]:
        """The stores that the credential reaches."""
        found = await self._service.collections(caller.principal)
        return [store_json(one) for one in found if caller.reaches(one.name)]

    async def store(self, caller: Caller, name: str) -> Object:
        """One of them; raises UnknownCollection."""
        narrowed(caller, name)
        found = await self._service.collections(caller.principal)
        summary = next((one for one in found if one.name == name), None)
        if summary is None:
            raise UnknownCollection(name)
        return store_json(summary)

    async def put(
        self, caller: Caller, name: str, id: str, attributes: Mapping[str, Any] | None
    ) -> Object:
        """Index a file that waits in a store, to the end. One that cannot be read has failed, and
        says why. Raises UnknownDocument, InputError for attributes that are no metadata."""
        narrowed(caller, name)
        file = self._waiting(caller, id)
        path = f"/{id}/{Path(file).name}"
        own = described(dict(attributes or {}))
        handed = Handed(file, path, f"upload:{path}", metadata=own)
        request = IngestRequest(
            collection=name,
            tenant=caller.principal.tenant,
            handed=(handed,),
            by=caller.principal,
        )
        end = await _last(self._service.ingest(request))
        reason = end.error or next((one.reason for one in end.failed), "")
        if not reason:
            return await self.member(caller, name, id)
        return {
            **_member(id, name, "failed"),
            "last_error": {"code": "invalid_file", "message": reason},
        }

    async def members(
        self, caller: Caller, name: str, limit: int, after: str | None, order: str
    ) -> Object:
        """A page of the documents of a store that the caller may read; raises UnknownCollection."""
        principal = narrowed(caller, name)
        found = await self._service.documents(principal, name, limit=PAGE)

        def shown() -> Object:
            return page([member_json(one, name) for one in found], limit, after, order)

        return await asyncio.to_thread(shown)

    async def member(self, caller: Caller, name: str, id: str) -> Object:
        """One of them, by the id of its upload or of the document; raises UnknownDocument."""
        return member_json(await self._document(caller, name, id), name)

    async def remove(self, caller: Caller, name: str, id: str) -> Object:
        """Forget a document of a store; raises UnknownDocument."""
        document = await self._document(caller, name, id)
        await self._service.delete(caller.principal, name, [document.id])
        return {"id": id, "object": "vector_store.file.deleted", "deleted": True}

    async def drop(self, caller: Caller, name: str) -> Object:
        """Forget a whole store; raises UnknownCollection."""
        principal = narrowed(caller, name)
        await self._service.delete(principal, name)
        return {"id": name, "object": "vector_store.deleted", "deleted": True}

    async def search(self, caller: Caller, ask: Ask, least: float) -> Object:
        """The passages of a store that fit best; raises UnknownCollection."""
        principal = narrowed(caller, ask.collection)
        found = await self._service.search(replace(ask, principal=principal))
        shown = [one for one in hit_sources(found.hits) if one.score >= least]
        return {
            "object": "vector_store.search_results.page",
            "search_query": [found.corrected or ask.question],
            "data": [_result(one) for one in shown],
            "has_more": False,
            "next_page": None,
        }

    def _waiting(self, caller: Caller, id: str) -> str:
        handle = id.removeprefix(PREFIX)
        found = self._uploads.found(caller, handle) if id.startswith(PREFIX) else None
        if found is None:
            raise UnknownDocument(id)
        return found

    def _file_json(self, file: str, id: str, purpose: str) -> Object:
        there = Path(file).stat()
        return {
            "id": id,
            "object": "file",
            "bytes": there.st_size,
            "created_at": int(there.st_mtime),
            "filename": Path(file).name,
            "purpose": purpose,
            "status": "processed",
            "status_details": None,
            "expires_at": None,
        }

    async def _document(self, caller: Caller, name: str, id: str) -> Document:
        principal, folder = narrowed(caller, name), f"/{id}/"
        if _FOLDER.fullmatch(folder):
            found = await self._service.documents(principal, name, after=folder, limit=1)
        else:
            found = await self._service.documents(principal, name, named=[id], limit=1)
        if not found or id != _id_of(found[0].path, found[0].id):
            raise UnknownDocument(id)
        return found[0]


def store_json(summary: CollectionSummary) -> Object:
    """A collection as a vector store."""
    failed = min(summary.failed, summary.documents)
    counts = {
        "in_progress": 0,
        "completed": summary.documents - failed,
        "failed": failed,
        "cancelled": 0,
        "total": summary.documents,
    }
    return new_store_json(summary.name, counts)


def new_store_json(name: str, counts: Mapping[str, int] | None = None) -> Object:
    """A vector store, which has no file yet unless `counts` say otherwise."""
    none = dict.fromkeys(("in_progress", "completed", "failed", "cancelled", "total"), 0)
    now = int(time.time())
    return {
        "id": name,
        "object": "vector_store",
        "created_at": now,
        "last_active_at": now,
        "name": name,
        "status": "completed",
        "usage_bytes": 0,
        "file_counts": dict(counts or none),
        "metadata": {},
        "expires_after": None,
        "expires_at": None,
    }


def member_json(document: Document, store: str) -> Object:
    """A document as a file of a vector store."""
    metadata = document.metadata or {}
    id = _id_of(document.path, document.id)
    status = {"ready": "completed", "failed": "failed"}.get(document.status, "in_progress")
    error = {"code": "invalid_file", "message": document.error} if status == "failed" else None
    return {
        **_member(id, store, status),
        "created_at": int(document.modified),
        "usage_bytes": document.size,
        "last_error": error,
        "attributes": attributes(metadata),
    }


def _member(id: str, store: str, status: str) -> Object:
    return {
        "id": id,
        "object": "vector_store.file",
        "created_at": int(time.time()),
        "vector_store_id": store,
        "status": status,
        "usage_bytes": 0,
        "last_error": None,
        "attributes": {},
        "chunking_strategy": {"type": "other"},
    }


def attributes(metadata: Mapping[str, Any]) -> Object:
    """The metadata that OpenAI's attributes can hold."""
    return {k: v for k, v in metadata.items() if isinstance(v, str | int | float)}


def page(found: Sequence[Object], limit: int, after: str | None, order: str) -> Object:
    """A part of a list, by id: what comes after an id."""
    ranked = sorted(found, key=lambda one: str(one["id"]), reverse=order == "desc")
    if after is not None:
        places = [at for at, one in enumerate(ranked) if one["id"] == after]
        ranked = ranked[places[0] + 1 :] if places else []
    shown = ranked[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(ranked) > limit,
    }


def _result(source: Source) -> Object:
    return {
        "file_id": file_id(source),
        "filename": source.filename,
        "score": source.score,
        "attributes": attributes(source.metadata),
        "content": [{"type": "text", "text": source.text}],
    }


async def _last(job: AsyncGenerator[Progress, None]) -> Progress:
    """The last progress of a job, which goes on if the client leaves."""
    end = Progress("", error="The file was not indexed; the log may say why.")
    async with aclosing(job) as steps:
        async for step in steps:
            end = step
    return end
