"""Finds what disagrees between state, index and cache, and mends it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.chunk import revision
from ragstone.core.filters import OWN_TEXT, And, eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.formats.recognition import INSTALL, PICTURES_UNREAD, UNREAD, is_installed
from ragstone.ports import Cache, Catalog, ChunkIndex, StateDump
from ragstone.service.maintenance import Upkeep

MOST_REVISIONS = 10_000_000

PAGE = 1_000
"""Documents that are looked at in one step, between which others have their turn."""

KINDS = (UNREAD, PICTURES_UNREAD)

RETRY = (
    "Bring its source back and run 'ragstone doctor' again, restore a backup, or give it up with "
    "'ragstone doctor --forget'."
)

KEPT = "They are deleted when the backup that is being written has ended."

Mending = Callable[[], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that disagrees: a sentence that says what, one that says what is done about it,
    and how; None where only a person can. `mend` says whether it could. `forget` ends it by giving
    up what it is about."""

    what: str
    remedy: str
    mend: Mending | None = None
    forget: Mending | None = None


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

    async def examine(self, mend: bool, forget: bool = False) -> AsyncGenerator[Upkeep, None]:
        """Go through everything, and tell what was found. What can only be forgotten (chunks of
        unknown documents, documents whose source is out of reach) stays unless `forget`."""
        notes: list[str] = []
        collections = await self._catalog.collections()
        total = len(collections) + 1
        findings = [*await self._state_flaws(), *await self._unpurged(), *await self._cached()]
        for done, collection in enumerate((*collections, None)):
            for finding in findings:
                notes.append(await _mend_and_describe(finding, mend, forget))
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
        """Old versions and collections that still have chunks."""
        retired, unused = await self._catalog.retired(), await self._catalog.unused()
        kept = await self._catalog.kept()
        remedy = KEPT if kept else "They are deleted."
        mend = None if kept else self._purge
        found = (
            (len(retired), "old versions of documents still have chunks."),
            (len(unused), "indexes of collections that are gone or built anew are there still."),
        )
        return [Finding(f"{many:,} {what}", remedy, mend) for many, what in found if many]

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
        held = await self._index.facet(collection, "revision", OWN_TEXT, limit=MOST_REVISIONS)
        known = await self._catalog.revisions(collection)
        strays = await asyncio.to_thread(lambda: [name for name in held if name not in known])
        short: list[Document] = []
        unread: list[Document] = []
        ready: set[str] = set()
        after = ""
        while page := await self._catalog.documents(
            collection.tenant, collection.id, after=after, limit=PAGE
        ):
            short += [one for one in page if _chunks(one, held) != one.chunks]
            unread += [one for one in page if _is_unread(one)]
            ready |= {revision(one.id, one.version) for one in page if one.status == "ready"}
            after = page[-1].path
        theirs = {name: name.rpartition("@")[0] for name in strays}
        ids = (await self._catalog.known(sorted(set(theirs.values())))).keys()
        old = [name for name in strays if theirs[name] in ids]
        unknown = [name for name in strays if theirs[name] not in ids]
        return [
            *self._old_chunks(collection, old, sum(held[name] for name in old)),
            *self._unknown_chunks(collection, unknown, sum(held[name] for name in unknown)),
            *await self._incomplete_documents(collection, short),
            *await self._vectors(collection, ready),
            *self._unread(collection, unread),
        ]

    def _unread(self, collection: Collection, unread: list[Document]) -> list[Finding]:
        """Documents with scanned pages or pictures that were read without the extra for them."""
        if not unread:
            return []
        noun = "document has" if len(unread) == 1 else "documents have"
        what = f"{collection.name}: {len(unread):,} {noun} scans or pictures that were not read."
        if not is_installed():
            return [Finding(what, f"To read them, {INSTALL}, and run the doctor again.")]

        async def mend() -> bool:
            read = True
            for document in unread:
                said = dict(document.metadata or {})
                for kind in KINDS:
                    said.pop(kind, None)
                read &= await self._reread(replace(document, metadata=said))
            return read

        return [Finding(what, "They are read again.", mend)]

    def _old_chunks(self, collection: Collection, names: list[str], chunks: int) -> list[Finding]:
        """Chunks of versions that nobody knows, of documents that are known."""
        if not names:
            return []
        what = f"{collection.name}: {chunks:,} chunks belong to no version of their document."
        return [Finding(what, "They are deleted.", self._deleting(collection, names))]

    def _unknown_chunks(
        self, collection: Collection, names: list[str], chunks: int
    ) -> list[Finding]:
        """Chunks of documents that the state does not know, perhaps because it was damaged."""
        if not names:
            return []
        what = f"{collection.name}: {chunks:,} chunks belong to no document."
        remedy = (
            "They stay: after a loss of state they are all that is left of it. Restore a backup, "
            "or delete them with 'ragstone doctor --forget'."
        )
        return [Finding(what, remedy, forget=self._deleting(collection, names))]

    def _deleting(self, collection: Collection, names: list[str]) -> Mending:
        async def delete() -> bool:
            for name in names:
                await self._index.delete(collection, eq("revision", name))
            return True

        return delete

    async def _incomplete_documents(
        self, collection: Collection, suspected: list[Document]
    ) -> list[Finding]:
        """Documents with missing chunks."""
        short = []
        for one in suspected:
            now = await self._catalog.document(one.id)
            if now != one:
                continue  # It was changed since the index was asked.
            name = revision(one.id, one.version)
            found = await self._index.count(collection, And((eq("revision", name), OWN_TEXT)))
            if found != one.chunks:
                short.append(self._missing_chunks(collection, one, found))
        return short

    def _missing_chunks(self, collection: Collection, document: Document, found: int) -> Finding:
        what = (
            f"{collection.name}{document.path}: {found:,} of its {document.chunks:,} chunks "
            "are in the index."
        )

        async def forget() -> bool:
            await self._catalog.retire([document.id])
            await self._purge()
            return True

        return Finding(
            what,
            f"It is read again from {document.source!r}. If that is out of reach it stays as it "
            "is, unless you add --forget.",
            lambda: self._reread(document),
            forget,
        )

    async def _vectors(self, collection: Collection, ready: set[str]) -> list[Finding]:
        """Documents that are said to have all their vectors, or to lack some, and do not."""
        if not ready or not await self._index.without_vectors(collection, 1):
            return []
        waiting = await self._index.without_vectors(collection, MOST_REVISIONS)
        lacking = sum(chunk.revision in ready for chunk in waiting)
        if not lacking:
            return []
        what = f"{collection.name}: {lacking:,} chunks of finished documents have no vector."
        return [Finding(what, "They are embedded.", lambda: self._embed(collection))]


def _is_unread(document: Document) -> bool:
    return any((document.metadata or {}).get(kind) for kind in KINDS)


def _chunks(document: Document, held: dict[str, int]) -> int:
    """The chunks that the index has of the version that answers."""
    if not document.version:
        return document.chunks
    return held.get(revision(document.id, document.version), 0)


async def _mend_and_describe(finding: Finding, mend: bool, forget: bool) -> str:
    """The text of a finding, which is first repaired if `mend` is true."""
    if not mend:
        return f"{finding.what} {finding.remedy}"
    if finding.mend and await _finished(finding.mend):
        return f"{finding.what} That is mended."
    if finding.forget and forget and await _finished(finding.forget):
        return f"{finding.what} That is forgotten."
    if finding.mend:
        return f"{finding.what} It could not be read again and stays as it is. {RETRY}"
    return f"{finding.what} {finding.remedy}"


async def _finished(mending: Mending) -> bool:
    """Whether it could be done; a caller that leaves does not end it."""
    return await asyncio.shield(asyncio.ensure_future(mending())) is not False
