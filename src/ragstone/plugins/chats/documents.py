"""The documents of a chat: taken in durably, listed and forgotten."""

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from fastapi import UploadFile

from ragstone.core.caller import Caller
from ragstone.core.errors import RagstoneError, UnknownCollection
from ragstone.core.records import Document
from ragstone.ingest.formats.types import explain_unsupported, list_endings
from ragstone.ingest.uploads import Spool, plain_name
from ragstone.service import Handed, IngestRequest, Progress, Service

Object = dict[str, Any]

PAGE = 100_000


class ChatDocuments:
    """Only who gave a document, and who has the same user, can read it.

    What is uploaded is kept in the spool below `data` until it is indexed.
    """

    def __init__(self, service: Service, data: Path) -> None:
        self._service = service
        self._spool = Spool(data)

    async def add(
        self,
        caller: Caller,
        collection: str,
        files: Sequence[UploadFile],
        metadata: Mapping[str, Any],
    ) -> Object:
        """Index files: what was uploaded, and what failed with the reason."""
        failed: list[Object] = []
        handed: dict[str, Handed] = {}
        for file in files:
            name = plain_name(file.filename or "")
            try:
                one = await self._spool_upload(caller, collection, name, file)
            except RagstoneError as error:
                failed.append({"name": name, "error": error.message})
                continue
            if one is None:
                failed.append({"name": name, "error": _unreadable_message(name)})
                continue
            if one.path in handed:
                await asyncio.to_thread(self._spool.drop, handed[one.path].file)
            handed[one.path] = one
        if not handed:
            return {"uploaded": [], "failed": failed}
        end = await self._ingest(caller, collection, tuple(handed.values()), metadata)
        reasons = {failure.path: failure.reason for failure in end.failed}
        if end.error:
            reasons = dict.fromkeys(handed, end.error)
        failed += [{"name": _name(path), "error": reason} for path, reason in reasons.items()]
        known = {d.path: d for d in await self._documents(caller, collection, list(handed))}
        there = [known[path] for path in handed if path in known and path not in reasons]
        return {"uploaded": [_format_upload(document) for document in there], "failed": failed}

    async def list_all(self, caller: Caller, collection: str) -> list[Object]:
        """Return every document; none of a chat that has none."""
        found = await self._documents(caller, collection)
        return [
            {
                **_format_upload(document),
                "status": document.status,
                "error": document.error,
                "size": document.size,
                "pages": document.pages,
                "modified": document.modified,
            }
            for document in found
        ]

    async def remove(self, caller: Caller, collection: str, name: str) -> int:
        """Forget one by id or name; raises UnknownDocument, UnknownCollection."""
        known = await self._service.documents(caller.principal, collection, limit=PAGE)
        ids = [d.id for d in known if name in (d.id, _name(d.path))]
        return await self._service.delete(caller.principal, collection, ids or [name])

    async def clear(self, caller: Caller, collection: str) -> int:
        """Forget all of the caller's; an admin's request also drops the collection."""
        found = await self._documents(caller, collection)
        try:
            if caller.may("admin"):
                return await self._service.delete(caller.principal, collection)
            ids = [document.id for document in found]
            return await self._service.delete(caller.principal, collection, ids) if ids else 0
        except UnknownCollection:
            return 0

    async def _spool_upload(
        self, caller: Caller, collection: str, name: str, file: UploadFile
    ) -> Handed | None:
        """Return the upload in the spool; None if its type cannot be read."""
        if not name.lower().endswith(list_endings()):
            return None
        kept = await asyncio.to_thread(self._spool.add, file.file, name, whose=caller.principal)
        user = caller.principal.user
        path = f"/{name}" if caller.local else f"/{user_folder(user)}/{name}"
        source = f"upload:{collection}{path}"
        return Handed(kept, path, source, allowed=(f"user:{user}",), single=True)

    async def _ingest(
        self,
        caller: Caller,
        collection: str,
        handed: tuple[Handed, ...],
        metadata: Mapping[str, Any],
    ) -> Progress:
        """Return the last progress of the job, which continues if the client leaves."""
        request = IngestRequest(
            collection=collection,
            tenant=caller.principal.tenant,
            handed=handed,
            by=caller.principal,
            metadata=metadata,
        )
        end = Progress("", error="The documents were not indexed; the log may say why.")
        async with aclosing(self._service.ingest(request)) as job:
            async for progress in job:
                end = progress
        return end

    async def _documents(
        self, caller: Caller, collection: str, named: Sequence[str] | None = None
    ) -> list[Document]:
        try:
            return await self._service.documents(
                caller.principal, collection, limit=PAGE, named=named
            )
        except UnknownCollection:
            return []


def user_folder(user: str) -> str:
    """Return the folder of a user's documents, which no other user has: what is not a plain name is
    written as `%code;`."""
    plain = unicodedata.is_normalized("NFC", user)

    def is_kept(at: int, text: str) -> bool:
        if text in " .":
            return 0 < at < len(user) - 1 and user[at - 1] not in " ."
        return text in "@_-+" or (text.isalnum() and (plain or text.isascii()))

    return "".join(
        item if is_kept(at, item) else f"%{ord(item):x};" for at, item in enumerate(user)
    )


def _format_upload(document: Document) -> Object:
    return {"id": document.id, "name": _name(document.path), "chunk_count": document.chunks}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _unreadable_message(name: str) -> str:
    if not name:
        return "The file has no name. Give it one with an ending that says what it is."
    return explain_unsupported(name)
