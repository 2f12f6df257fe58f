"""Who may read documents, and why, in this process."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing

from ragstone.core.errors import InputError, RagstoneError, UnknownCollection, UnknownDocument
from ragstone.core.filters import Scalar
from ragstone.core.limits import check_collection_name
from ragstone.core.readers import FolderReaders, check_readers, normalize_folder, resolve_readers
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.ingest.pipeline import Pipeline
from ragstone.local.collections import identify_granted
from ragstone.local.jobs import LocalJobs
from ragstone.ports import Catalog, need_collection
from ragstone.service.readers import FolderRule, ReadersView

PAGE = 1_000
"""Documents that are listed in one step."""

NONE_NAMED = "Name documents: by their paths, a folder that they are below, or their metadata."


class LocalReaders:
    """`service.ReadersService` in this process."""

    def __init__(
        self, catalog: Catalog, pipeline: Pipeline, jobs: LocalJobs, kind: str, at_once: int
    ) -> None:
        self._catalog = catalog
        self._pipeline = pipeline
        self._jobs = jobs
        self._kind = kind
        self._at_once = at_once

    async def explain(
        self, principal: Principal, collection: str, path: str, admin: bool = False
    ) -> ReadersView:
        known = await need_collection(self._catalog, principal.tenant, collection)
        rules = await self._catalog.folder_readers(known.tenant, known.id)
        found = await self._catalog.documents(known.tenant, known.id, named=[path])
        document = next((item for item in found if item.version or admin), None)
        if not admin and not (document and set(principal.names) & set(document.allowed)):
            raise UnknownDocument(path)
        if document is None:
            place = "/" + path.strip("/")
            resolved = resolve_readers(place, (), False, rules)
            return ReadersView(place, resolved.allowed, resolved.reasons, False)
        own = document.own_readers or ()
        resolved = resolve_readers(document.path, own, document.readers_fixed, rules)
        return ReadersView(document.path, document.allowed, resolved.reasons)

    async def give(
        self,
        principal: Principal,
        collection: str,
        readers: Sequence[str],
        *,
        paths: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
    ) -> int:
        names = _check_names(readers)
        known = await need_collection(self._catalog, principal.tenant, collection)
        wanted = WantedDocuments(paths, below, having)
        ids = await wanted.ids(self._catalog, known)
        if len(ids) <= self._at_once:
            await self._pipeline.give_readers(known, ids, names)
            return len(ids)
        request = {"collection": collection, "readers": names, "wanted": wanted.data}
        job = await self._jobs.submit(self._kind, request, principal=principal)
        async with aclosing(self._jobs.watch(principal, job.id)) as watched:
            async for view in watched:
                if view.state == "done" and view.result:
                    return int(view.result["documents"])
        raise RagstoneError(view.error or "The change was cancelled; what it did stays.")

    async def folders(self, principal: Principal, collection: str) -> list[FolderRule]:
        id = await self._catalog.identity(principal.tenant, collection, make=False)
        if not id:
            raise UnknownCollection(collection)
        rules = await self._catalog.folder_readers(principal.tenant, id)
        return [
            FolderRule(rule.folder, rule.readers, "file" if rule.file else "administrator")
            for rule in rules
        ]

    async def set_folder(
        self, principal: Principal, collection: str, folder: str, readers: Sequence[str]
    ) -> None:
        names = _check_names(readers)
        check_collection_name(collection)
        place = normalize_folder(folder)
        tenant = principal.tenant
        id = await identify_granted(self._catalog, tenant, collection)
        rules = [FolderReaders(place, names)]
        if not names:
            known = await self._catalog.folder_readers(tenant, id)
            files = [rule.file for rule in known if rule.folder == place and rule.file]
            gone = await asyncio.to_thread(
                lambda: [file for file in files if not os.path.lexists(file)]
            )
            rules += [FolderReaders(place, (), file) for file in gone]
        if held := await self._catalog.find_by_id(tenant, id):
            await self._pipeline.put_folder_readers(held, rules)
        else:
            await self._catalog.put_folder_readers(tenant, id, rules)


class WantedDocuments:
    """Which documents of a collection are given other readers, whoever may read them now."""

    def __init__(
        self,
        paths: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
    ) -> None:
        if not (paths or below.strip("/") or having):
            raise InputError(NONE_NAMED)
        self.data = {
            "paths": None if paths is None else list(paths),
            "below": below,
            "having": dict(having or {}),
        }
        self._paths, self._below, self._having = paths, below, having

    async def ids(self, catalog: Catalog, collection: Collection) -> list[str]:
        """Return their ids. Raises UnknownDocument for a path at which nothing is."""
        place = collection.tenant, collection.id
        named: dict[str, None] | None = None
        for path in self._paths or ():
            found = await catalog.ids(*place, None, path)
            if not found:
                raise UnknownDocument(path)
            named = {**(named or {}), **dict.fromkeys(found)}
        if named is not None and not (self._below.strip("/") or self._having):
            return list(named)
        return [id async for id in self._list_matching(catalog, place, named)]

    async def _list_matching(
        self, catalog: Catalog, place: tuple[str, str], named: Mapping[str, None] | None
    ) -> AsyncIterator[str]:
        after = ""
        while page := await catalog.documents(
            *place, below=self._below, having=self._having, after=after, limit=PAGE
        ):
            for document in page:
                if named is None or document.id in named:
                    yield document.id
            after = page[-1].path


def _check_names(readers: Sequence[str]) -> tuple[str, ...]:
    check_readers(readers)
    return tuple(dict.fromkeys(readers))
