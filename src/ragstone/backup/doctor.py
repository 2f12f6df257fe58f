"""Finds what disagrees between state, index and cache, and mends it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.chunk import revision
from ragstone.core.filters import OWN_TEXT, And, AnyOf, eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.formats.recognition import PICTURES_UNREAD, UNREAD, is_installed, missing_step
from ragstone.ports import Cache, Catalog, ChunkIndex, StateDump, home
from ragstone.service.maintenance import Upkeep

PAGE = 500
"""Documents that are looked at in one step, between which others have their turn."""

SCANNED = 500
"""Chunks that are, where not all of them are those of documents."""

MAX_NOTES = 100
"""Documents of a collection that are told, each in a sentence of its own."""

KINDS = (UNREAD, PICTURES_UNREAD)

RETRY = (
    "Bring its source back and run 'ragstone doctor' again, restore a backup, or give it up with "
    "'ragstone doctor --forget'."
)

KEPT = "They are deleted when the backup that is being written has ended."

MOVED = "'ragstone serve' moves it to INDEX__URL while it answers; its log says how far it is."

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
        unknown documents, documents whose source is out of reach) stays unless `forget`.

        However many documents there are, a page of them is in memory at once.
        """
        told = _Told(mend, forget)
        for finding in [
            *[Finding(flaw, "Restore a backup.") for flaw in await self._state.flaws()],
            *await self._find_unpurged(),
            *await self._check_cache(),
        ]:
            await told.add(finding)
        place = home(self._index)
        for collection in await self._catalog.collections():
            looked_at = 0
            if place and collection.place != place:
                await told.add(Finding(f"{collection.name} is still at INDEX__FROM_URL.", MOVED))
            seen = _Seen()
            await self._index.create(collection)
            yield Upkeep(collection.name, looked_at)
            async for page in self._pages(collection):
                for finding in await self._examine_page(collection, page, seen):
                    await told.add_document(finding)
                looked_at += len(page)
                yield Upkeep(collection.name, looked_at)
            told.end_documents(collection)
            for finding in await self._examine_collection(collection, seen):
                await told.add(finding)
        yield Upkeep("done", finished=True, notes=tuple(told.notes))

    async def _find_unpurged(self) -> list[Finding]:
        """Find old versions and collections that still have chunks."""
        retired, unused = await self._catalog.list_retired(), await self._catalog.list_unused()
        kept = await self._catalog.is_kept()
        remedy = KEPT if kept else "They are deleted."
        mend = None if kept else self._purge
        found = (
            (len(retired), "old versions of documents still have chunks."),
            (len(unused), "indexes of collections that are gone or built anew are there still."),
        )
        return [Finding(f"{many:,} {what}", remedy, mend) for many, what in found if many]

    async def _check_cache(self) -> list[Finding]:
        """Return entries of the cache that have ended."""
        before = (await self._cache.figures()).entries
        after = await self._cache.rebuild()
        if after >= before:
            return []
        return [Finding(f"{before - after:,} entries of the cache had ended.", "They are gone.")]

    async def _pages(self, collection: Collection) -> AsyncIterator[list[Document]]:
        """Yield the documents of a collection, some at a time."""
        after = ""
        while page := await self._catalog.documents(
            collection.tenant, collection.id, after=after, limit=PAGE
        ):
            yield page
            after = page[-1].path

    async def _examine_page(
        self, collection: Collection, page: Sequence[Document], seen: "_Seen"
    ) -> list[Finding]:
        """Return what disagrees about some documents, and can be told of each."""
        names = tuple(
            revision(document.id, document.version) for document in page if document.version
        )
        held: dict[str, int] = {}
        if names:
            theirs = And((AnyOf("revision", names), OWN_TEXT))
            held = await self._index.facet(collection, "revision", theirs, limit=len(names))
        seen.chunks += sum(held.values())
        seen.unread += sum(_is_unread(document) for document in page)
        ready = tuple(
            revision(document.id, document.version)
            for document in page
            if document.status == "ready"
        )
        if ready and seen.embedded is None:
            # Asked once a collection, as the index reads all of its chunks for that.
            seen.embedded = not await self._index.without_vectors(collection, 1)
        if ready and not seen.embedded:
            whole = AnyOf("revision", ready)
            seen.lacking += await self._index.count_without_vectors(collection, whole)
        short = [document for document in page if _chunks(document, held) != document.chunks]
        found = await self._incomplete_documents(collection, short)
        seen.short += len(found)
        return found

    async def _examine_collection(self, collection: Collection, seen: "_Seen") -> list[Finding]:
        """What disagrees about a collection as a whole, when its documents have been looked at."""
        found: list[Finding] = []
        # If each has its chunks, and there are no more, all of them are somebody's.
        if seen.short or seen.chunks != await self._index.count(collection, OWN_TEXT):
            found += await self._stray_chunks(collection)
        if seen.lacking:
            what = (
                f"{collection.name}: {seen.lacking:,} chunks of finished documents have no vector."
            )
            found.append(Finding(what, "They are embedded.", lambda: self._embed(collection)))
        if seen.unread:
            found.append(self._unread(collection, seen.unread))
        return found

    def _unread(self, collection: Collection, many: int) -> Finding:
        """Documents with scanned pages or pictures that were read without the extra for them."""
        noun = "document has" if many == 1 else "documents have"
        what = f"{collection.name}: {many:,} {noun} scans or pictures that were not read."
        if not is_installed():
            return Finding(what, f"To read them, {missing_step()}, and run the doctor again.")

        async def mend() -> bool:
            read = True
            async for page in self._pages(collection):
                for document in page:
                    if _is_unread(document):
                        said = dict(document.metadata or {})
                        for kind in KINDS:
                            said.pop(kind, None)
                        read &= await self._reread(replace(document, metadata=said))
            return read

        return Finding(what, "They are read again.", mend)

    async def _stray_chunks(self, collection: Collection) -> list[Finding]:
        """Return chunks of versions that nobody knows: of documents that are known, and of others,
        which the state does not know, perhaps because it was damaged."""
        old = unknown = 0
        async for strays in self._strays(collection):
            old += sum(strays.old.values())
            unknown += sum(strays.unknown.values())
        found = []
        if old:

            async def delete() -> None:
                async for strays in self._strays(collection):
                    await self._delete(collection, strays.old)

            what = f"{collection.name}: {old:,} chunks belong to no version of their document."
            found.append(Finding(what, "They are deleted.", delete))
        if unknown:

            async def forget() -> None:
                async for strays in self._strays(collection):
                    await self._delete(collection, strays.unknown)

            what = f"{collection.name}: {unknown:,} chunks belong to no document."
            remedy = (
                "They stay: after a loss of state they are all that is left of it. Restore a "
                "backup, or delete them with 'ragstone doctor --forget'."
            )
            found.append(Finding(what, remedy, forget=forget))
        return found

    async def _strays(self, collection: Collection) -> AsyncIterator["_Strays"]:
        """Yield the revisions among some chunks after others that the catalog does not know, with
        how many of these chunks are theirs."""
        async for chunks in self._index.scan(collection, OWN_TEXT, batch=SCANNED):
            # The index first: what begins to be written in between is known to the catalog then.
            held = Counter(chunk.revision for chunk in chunks)
            known = await self._catalog.revisions(list(held))
            strange = {name: many for name, many in held.items() if name not in known}
            if not strange:
                continue
            # What was purged in between is not a stray: neither has it.
            theirs = And((AnyOf("revision", tuple(strange)), OWN_TEXT))
            there = await self._index.facet(collection, "revision", theirs, limit=len(strange))
            ids = {name: name.rpartition("@")[0] for name in there}
            documents = await self._catalog.find_documents(sorted(set(ids.values())))
            old = {name: strange[name] for name in there if ids[name] in documents}
            unknown = {name: strange[name] for name in there if name not in old}
            yield _Strays(old, unknown)

    async def _delete(self, collection: Collection, revisions: Mapping[str, int]) -> None:
        if revisions:
            await self._index.delete(collection, AnyOf("revision", tuple(revisions)))

    async def _incomplete_documents(
        self, collection: Collection, suspected: Sequence[Document]
    ) -> list[Finding]:
        """Return documents with missing chunks."""
        short = []
        for document in suspected:
            now = await self._catalog.document(document.id)
            if now != document:
                continue  # It was changed since the index was asked.
            name = revision(document.id, document.version)
            found = await self._index.count(collection, And((eq("revision", name), OWN_TEXT)))
            if found != document.chunks:
                short.append(self._describe_incomplete(collection, document, found))
        return short

    def _describe_incomplete(
        self, collection: Collection, document: Document, found: int
    ) -> Finding:
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


@dataclass(slots=True)
class _Seen:
    """What was seen of a collection's documents: chunks that the index has of them, how many lack
    some, how many chunks lack a vector, and how many documents have parts that were not read.
    `embedded` says that no chunk of the collection lacks one, None before it was asked: that reads
    all of them."""

    chunks: int = 0
    short: int = 0
    lacking: int = 0
    unread: int = 0
    embedded: bool | None = None


@dataclass(frozen=True, slots=True)
class _Strays:
    """Revisions that the catalog does not know, with their chunks: `old` ones of documents that it
    knows, and of `unknown` ones."""

    old: Mapping[str, int]
    unknown: Mapping[str, int]


class _Told:
    """What was found, in words, after it was mended if that is wanted. Of the documents of a
    collection only the first are told one by one."""

    def __init__(self, mend: bool, forget: bool) -> None:
        self._mend = mend
        self._forget = forget
        self._documents = 0
        self.notes: list[str] = []

    async def add(self, finding: Finding) -> None:
        self.notes.append(await _mend_and_describe(finding, self._mend, self._forget))

    async def add_document(self, finding: Finding) -> None:
        said = await _mend_and_describe(finding, self._mend, self._forget)
        self._documents += 1
        if self._documents <= MAX_NOTES:
            self.notes.append(said)

    def end_documents(self, collection: Collection) -> None:
        """Note that what follows is of another collection."""
        if self._documents > MAX_NOTES:
            more = self._documents - MAX_NOTES
            self.notes.append(f"{collection.name}: the same of {more:,} more documents.")
        self._documents = 0


def _is_unread(document: Document) -> bool:
    return any((document.metadata or {}).get(kind) for kind in KINDS)


def _chunks(document: Document, held: dict[str, int]) -> int:
    """Return the chunks that the index has of the version that answers."""
    if not document.version:
        return document.chunks
    return held.get(revision(document.id, document.version), 0)


async def _mend_and_describe(finding: Finding, mend: bool, forget: bool) -> str:
    """Return the text of a finding, which is first repaired if `mend` is true."""
    if not mend:
        return f"{finding.what} {finding.remedy}"
    if finding.mend and await _finish(finding.mend):
        return f"{finding.what} That is mended."
    if finding.forget and forget and await _finish(finding.forget):
        return f"{finding.what} That is forgotten."
    if finding.mend:
        return f"{finding.what} It could not be read again and stays as it is. {RETRY}"
    return f"{finding.what} {finding.remedy}"


async def _finish(mending: Mending) -> bool:
    """Tell whether it could be done; a caller that leaves does not end it."""
    return await asyncio.shield(asyncio.ensure_future(mending())) is not False
