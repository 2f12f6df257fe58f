"""Finds what disagrees between state, index and cache, and mends it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.chunk import revision
from ragstone.core.filters import eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.formats.recognition import INSTALL, UNREAD, is_installed
from ragstone.ports import Cache, Catalog, ChunkIndex, StateDump
from ragstone.service.maintenance import Upkeep

MOST_REVISIONS = 10_000_000

Mending = Callable[[], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that disagrees: a sentence that says what, one that says what is done about it,
    and how; None where only a person can."""

    what: str
    remedy: str
    mend: Mending | None = None


class Doctor:
    """Examines a Ragstone that may go on working meanwhile.

    `purge` deletes the chunks of retired revisions, `embed` gives the chunks of a collection that
    wait for vectors theirs, `reread` indexes a document from its source again, if it still has one.
    """

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        state: StateDump,
        cache: Cache,
        purge: Mending,
        embed: Callable[[Collection], Coroutine[Any, Any, object]],
        reread: Callable[[Document], Coroutine[Any, Any, bool]],
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._state = state
        self._cache = cache
        self._purge = purge
        self._embed = embed
        self._reread = reread

    async def examine(self, mend: bool) -> AsyncGenerator[Upkeep, None]:
        """Go through everything, and tell what was found."""
        notes: list[str] = []
        collections = await self._catalog.collections()
        total = len(collections) + 1
        findings = [*await self._state_flaws(), *await self._unpurged(), *await self._cached()]
        for done, collection in enumerate((*collections, None)):
            for finding in findings:
                notes.append(await _mend_and_describe(finding, mend))
            findings = []
            name = collection.name if collection else "done"
            yield Upkeep(name, done + 1, total, finished=collection is None, notes=tuple(notes))
            if collection:
                findings = await self._disagreements(collection)

    async def _state_flaws(self) -> list[Finding]:
        """The flaws that the state store reports."""
        remedy = "Restore a backup."
        return [Finding(flaw, remedy) for flaw in await self._state.flaws()]

    async def _unpurged(self) -> list[Finding]:
        """Old versions that still have chunks."""
        retired = await self._catalog.retired()
        if not retired:
            return []
        what = f"{len(retired):,} old versions of documents still have chunks."
        return [Finding(what, "They are deleted.", self._purge)]

    async def _cached(self) -> list[Finding]:
        """Entries of the cache that have ended."""
        before = (await self._cache.figures()).entries
        after = await self._cache.rebuild()
        if after >= before:
            return []
        return [Finding(f"{before - after:,} entries of the cache had ended.", "They are gone.")]

    async def _disagreements(self, collection: Collection) -> list[Finding]:
        """The differences between the catalog and the index."""
        await self._index.create(collection)
        # The index first: what begins to be written in between is known to the catalog then.
        held = await self._index.facet(collection, "revision", limit=MOST_REVISIONS)
        known = await self._catalog.revisions(collection)
        documents = await self._catalog.documents(collection.tenant, collection.id)
        strays = [name for name in held if name not in known]
        return [
            *self._stray_chunks(collection, strays, sum(held[name] for name in strays)),
            *await self._incomplete_documents(collection, documents, held),
            *await self._vectors(collection, documents),
            *self._unread(collection, documents),
        ]

    def _unread(self, collection: Collection, documents: list[Document]) -> list[Finding]:
        """Documents with scanned pages that were read without the extra for them."""
        unread = [one for one in documents if (one.metadata or {}).get(UNREAD)]
        if not unread:
            return []
        noun = "document has" if len(unread) == 1 else "documents have"
        what = f"{collection.name}: {len(unread):,} {noun} scanned pages that were not read."
        if not is_installed():
            return [Finding(what, f"To read them, {INSTALL}, and run the doctor again.")]

        async def mend() -> None:
            for document in unread:
                said = dict(document.metadata or {})
                said.pop(UNREAD)
                await self._reread(replace(document, metadata=said))

        return [Finding(what, "They are read again.", mend)]

    def _stray_chunks(self, collection: Collection, names: list[str], chunks: int) -> list[Finding]:
        if not names:
            return []

        async def delete() -> None:
            for name in names:
                await self._index.delete(collection, eq("revision", name))

        what = f"{collection.name}: {chunks:,} chunks belong to no document."
        return [Finding(what, "They are deleted.", delete)]

    async def _incomplete_documents(
        self, collection: Collection, documents: list[Document], held: dict[str, int]
    ) -> list[Finding]:
        """Documents with missing chunks."""
        short = []
        for one in documents:
            if _chunks(one, held) == one.chunks:
                continue
            now = await self._catalog.document(one.id)
            if now != one:
                continue  # It was changed since the index was asked.
            name = revision(one.id, one.version)
            found = await self._index.count(collection, eq("revision", name))
            if found != one.chunks:
                short.append(self._missing_chunks(collection, one, found))
        return short

    def _missing_chunks(self, collection: Collection, document: Document, found: int) -> Finding:
        what = (
            f"{collection.name}{document.path}: {found:,} of its {document.chunks:,} chunks "
            "are in the index."
        )

        async def mend() -> None:
            if not await self._reread(document):
                await self._catalog.retire([document.id])
                await self._purge()

        remedy = f"It is read again from {document.source!r}, or forgotten if that is gone."
        return Finding(what, remedy, mend)

    async def _vectors(self, collection: Collection, documents: list[Document]) -> list[Finding]:
        """Documents that are said to have all their vectors, or to lack some, and do not."""
        ready = [one for one in documents if one.status == "ready"]
        if not ready or not await self._index.without_vectors(collection, 1):
            return []
        waiting = await self._index.without_vectors(collection, MOST_REVISIONS)
        done = {revision(one.id, one.version) for one in ready}
        lacking = sum(chunk.revision in done for chunk in waiting)
        if not lacking:
            return []
        what = f"{collection.name}: {lacking:,} chunks of finished documents have no vector."
        return [Finding(what, "They are embedded.", lambda: self._embed(collection))]


def _chunks(document: Document, held: dict[str, int]) -> int:
    """The chunks that the index has of the version that answers."""
    if not document.version:
        return document.chunks
    return held.get(revision(document.id, document.version), 0)


async def _mend_and_describe(finding: Finding, mend: bool) -> str:
    """The text of a finding, which is first repaired if `mend` is true."""
    if finding.mend is None:
        return f"{finding.what} {finding.remedy}"
    if not mend:
        return f"{finding.what} 'ragstone doctor' without --check mends it."
    await asyncio.shield(asyncio.ensure_future(finding.mend()))
    return f"{finding.what} {finding.remedy}"
