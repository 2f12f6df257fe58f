"""Keeps a collection in step with a Plone site: all of it, what changed, what is gone."""

import asyncio
import io
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import ConfigError, DocumentError, Unavailable, UnknownCollection
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.ingest.formats.types import find_ending, list_endings
from ragstone.ingest.uploads import Spool, plain_name
from ragstone.plugins.plone.client import Item, PloneClient, PloneUnavailable
from ragstone.plugins.plone.names import CONNECTOR, site_path, stated_readers
from ragstone.plugins.plone.readers import LOOKED_AT, Readers, read_site_readers
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.summary import Summary, summary
from ragstone.plugins.plone.text import page
from ragstone.service import FileFailure, Handed, IngestRequest, Progress, Service

log = logging.getLogger(__name__)

PAGE_SIZE = 50
"""Objects fetched and indexed at a time."""
PAGE = 1000
"""Documents of the collection that are read at a time."""
VISITOR = "No credential is set (PLONE__TOKEN): only what visitors of the site may view is indexed."
UNTOLD = (
    "The site does not tell this user with whom some of its content is shared: that is for its "
    "managers alone. Give the user the role Manager or Site Administrator."
)
_ENDED = "The login at the site ended meanwhile; nothing was deleted. Try again."
_NOT_GIVEN = "The site did not give this object; the next run asks again."
LISTED_AGAIN = 3
"""How often the site is listed anew because the token ended meanwhile."""


Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Synced:
    """How far a run is; the last one has `finished`. What `failed` because the site did not give it
    is tried by the next run."""

    seen: int = 0
    total: int | None = None
    indexed: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: tuple[FileFailure, ...] = ()
    notes: tuple[str, ...] = ()
    finished: bool = False


@dataclass(frozen=True, slots=True)
class _Listed:
    """What the site has, or has below one address, at one moment."""

    objects: Mapping[str, Summary]
    public: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Ready:
    """An object as it goes into the collection."""

    item: Item
    about: Summary
    path: str
    allowed: Names


Known = Mapping[str, Sequence[Document]]
"""The documents of the site in the collection, by the UIDs of their objects."""


class PloneSync:
    """Reads `client`'s site into the collection of the settings, through the service's own ingest.

    Every run lists the whole site in a few fields, and compares that with the collection: what is
    gone is forgotten first, then what is new, changed or for others is fetched. A run that is cut
    off leaves less to do for the next. What was fetched waits in the spool below `data`. Whoever
    holds `turn` is the only one to change the collection: so nothing old replaces what is newer.
    """

    def __init__(
        self,
        service: Service,
        client: PloneClient,
        settings: PloneSettings,
        data: Path,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self._service = service
        self._client = client
        self._settings = settings
        self._spool = Spool(data)
        self._principal = Principal(settings.tenant, CONNECTOR, (CONNECTOR,))
        self._turn = turn or asyncio.Lock()
        self._types = frozenset(settings.content_types)

    async def run(self, full: bool = False, below: str = "") -> AsyncGenerator[Synced, None]:
        """Index what changed since the last run, or everything, and forget what is gone; of the
        whole site, or at and below one of its addresses. Documents of other types than those of
        the settings, which an event may have brought, stay until a full run.

        Raises PloneUnavailable, ConfigError; what was indexed until then stays.
        """
        if not self._settings.enabled:
            raise ConfigError("The site's RAG is switched off. Set RAG_ENABLED=true.")
        site, known = await self._list_site(below), await self._list_known()
        if not full:
            self._types |= _list_types(known)
        wanted = [entry for entry in site.objects.values() if self._path(entry) is not None]
        done = Synced(total=len(wanted), notes=() if below else self._notes(site, wanted))
        yield done
        async with self._turn:
            done = await self._forget_gone(known, wanted, site, below, done)
        expected, todo = await self._todo(site, wanted, known, full)
        same = len(wanted) - len(todo)
        done = replace(done, seen=same, unchanged=same)
        if expected.untold:
            done = replace(done, notes=(*done.notes, UNTOLD))
        for start in range(0, len(todo), PAGE_SIZE):
            some = todo[start : start + PAGE_SIZE]
            done = await self._index(some, expected, site.objects.values(), done, full)
            yield done
        yield replace(done, finished=True)

    async def one(self, uid: str, wait: bool = True) -> Synced:
        """Index one object anew, or forget it if the site has it no more; without `wait`, until it
        is queued."""
        await self._client.check()
        item = await self._client.item(uid)
        about = summary(item) if item else None
        if about is None or self._path(about) is None:
            if not await self._client.check():
                raise PloneUnavailable(_ENDED)
            return Synced(deleted=await self.forget(uid), finished=True)
        return await self._index([about], _Expected({}), (), Synced(total=1), True, wait)

    async def forget(self, uid: str) -> int:
        """Delete the documents of one object; how many there were."""
        async with self._turn:
            return await self._delete((await self._list_known()).get(uid, ()))

    async def holder(self, uid: str) -> str | None:
        """The address that has to be looked at besides the object itself when that has changed:
        its own where it holds others; empty, for the whole site, where it is not known by now."""
        found = await self._client.item(uid)
        if found is None:
            return ""
        return str(found.get("@id")) if found.get("is_folderish") is True else None

    async def _list_site(self, below: str) -> _Listed:
        """Return the site now, from listings that began and ended with a valid credential."""
        for _ in range(LISTED_AGAIN):
            await self._client.check()
            objects = {item.uid: item async for item in self._client.list_objects(below)}
            public = frozenset(objects)
            if not self._client.is_visitor:
                visitors = self._client.list_objects(below, visitor=True)
                public = frozenset([visitor.uid async for visitor in visitors])
            if await self._client.check():
                return _Listed(objects, public)
        raise PloneUnavailable(_ENDED)

    def _path(self, item: Summary) -> str | None:
        """Return the place of an object in the collection; None for what does not belong there."""
        if item.type not in self._types:
            return None
        return site_path(self._client.site, item.address)

    def _notes(self, site: _Listed, wanted: Sequence[Summary]) -> Names:
        """Return what an administrator should know of a site that shows little."""
        notes = (VISITOR,) if self._client.is_visitor else ()
        kinds = Counter(entry.type for entry in site.objects.values())
        kinds.subtract(item.type for item in wanted)
        left = {kind: number for kind, number in kinds.most_common() if number > 0}
        if not site.objects:
            who = "visitors" if self._client.is_visitor else "this user"
            return (*notes, f"The site {self._client.site} shows {who} no content at all.")
        if len(wanted) > sum(left.values()):
            return notes
        others = ", ".join(f"{kind} ({number:,})" for kind, number in left.items())
        types = ", ".join(self._settings.content_types)
        return (
            *notes,
            f"{len(wanted):,} of the site's {len(site.objects):,} objects are of the types "
            f"{types}. Not indexed: {others}. PLONE__CONTENT_TYPES says what is.",
        )

    async def _todo(
        self, site: _Listed, wanted: Sequence[Summary], known: Known, full: bool
    ) -> tuple["_Expected", list[Summary]]:
        """Return who may view the objects, and which of them are to be fetched: first what is
        known, as fewer people may see it now."""
        sample = await self._client.items([entry.uid for entry in wanted[:3]])
        if any(stated_readers(item) is not None for item in sample):
            # Only whole objects say who may view them.
            return _Expected({}), list(wanted)
        readers = Readers(self._client, self._settings, site.objects.values())
        allowed = await readers.of(wanted, site.public)
        todo = [
            entry
            for entry in wanted
            if full or self._differs(entry, allowed[entry.uid], known.get(entry.uid, ()))
        ]
        todo.sort(key=lambda entry: entry.uid not in known)
        return _Expected(allowed, readers.untold), todo

    def _differs(self, item: Summary, allowed: Names, documents: Sequence[Document]) -> bool:
        """Tell whether what the collection has of an object is not what the site has."""
        path = self._path(item)
        return not any(
            document.path == path
            and _is_for(document, allowed)
            and document.modified == item.modified
            and (document.metadata or {}).items() >= _metadata(item).items()
            for document in documents
        )

    async def _forget_gone(
        self, known: Known, wanted: Sequence[Summary], site: _Listed, below: str, done: Synced
    ) -> Synced:
        """Delete documents of objects that the site no longer has."""
        there = {item.uid for item in wanted}
        missing = [
            uid
            for uid, documents in known.items()
            if uid not in there and all(_is_below(item.source, below) for item in documents)
        ]
        # What is listed, but of another type now, is surely none of the collection's.
        unlisted = [uid for uid in missing if uid not in site.objects]
        kept = await self._still_there(known, unlisted)
        if unlisted and not await self._client.check():
            raise PloneUnavailable(_ENDED)
        if kept:
            note = f"{len(kept):,} objects that the site does not list are there, and were kept."
            done = replace(done, notes=(*done.notes, note))
        gone = [item for uid in missing if uid not in kept for item in known[uid]]
        return replace(done, deleted=await self._delete(gone))

    async def _still_there(self, known: Known, uids: Sequence[str]) -> set[str]:
        """Return those of the objects that can be viewed though they are not listed, as while the
        site's catalog is being made anew, and by the same people as before."""
        limit = asyncio.Semaphore(LOOKED_AT)
        readers = Readers(self._client, self._settings)

        async def there(uid: str) -> bool:
            document = known[uid][-1]
            public = EVERYONE in document.allowed
            async with limit:
                item = await self._client.get(document.source, visitor=public)
                about = summary(item) if item else None
                if about is None or about.uid != uid or self._path(about) != document.path:
                    return False
                if public:
                    return not about.is_hidden(time.time())
                return _is_for(document, (await readers.of([about], set()))[uid])

        found = await asyncio.gather(*(there(uid) for uid in uids))
        return {uid for uid, is_there in zip(uids, found, strict=True) if is_there}

    async def _index(
        self,
        some: Sequence[Summary],
        expected: "_Expected",
        places: Iterable[Summary],
        done: Synced,
        full: bool,
        wait: bool = True,
    ) -> Synced:
        """Fetch objects and hand them over. What cannot be had, and is elsewhere or for others
        now, is forgotten: old permissions must not outlast it. What has only moved is found at its
        old place until it is at its new one, for which is always waited."""
        async with self._turn:
            known = await self._list_known()
            fetched = await self._fetch(some, places)
            handed: dict[str, Handed] = {}
            failed = list(done.failed)
            same = 0
            old: list[Document] = []
            moved: dict[str, list[Document]] = {}
            try:
                for item in some:
                    documents = known.get(item.uid, ())
                    ready = fetched.get(item.uid)
                    if ready is None:
                        failed.append(FileFailure(item.address[:500], _NOT_GIVEN))
                        old += _unlike(documents, self._path(item), expected.allowed.get(item.uid))
                        continue
                    if not (full or self._differs(ready.about, ready.allowed, documents)):
                        same += 1
                        continue
                    unlike = _unlike(documents, ready.path, ready.allowed)
                    try:
                        handed[ready.path] = await self._spool_object(ready)
                    except (DocumentError, PloneUnavailable) as error:
                        failed.append(FileFailure(item.address[:500], error.message))
                        old += unlike
                    else:
                        same_readers = [doc for doc in unlike if _is_for(doc, ready.allowed)]
                        if same_readers:
                            moved[ready.path] = same_readers
                        # Nobody sees how a job ends that is not waited for.
                        old += [
                            doc
                            for doc in unlike
                            if doc not in same_readers and (not wait or doc.path != ready.path)
                        ]
            except BaseException:
                for hand in handed.values():
                    self._spool.drop(hand.file)
                raise
            deleted = await self._delete(old)
            end = await self._ingest(tuple(handed.values()), wait or bool(moved))
            if end.error:
                raise Unavailable(f"The objects could not be indexed: {end.error}")
            broken = {failure.path for failure in end.failed}
            stale = [
                document
                for path in broken & handed.keys()
                for document in known.get(str(handed[path].metadata["uid"]), ())
                if document.version and not _is_for(document, handed[path].allowed)
            ]
            # Where two changed places, each has replaced what the other one left.
            left = [
                doc
                for path in moved.keys() - broken
                for doc in moved[path]
                if doc.path not in handed
            ]
            deleted += await self._delete([*stale, *left])
        return replace(
            done,
            seen=done.seen + len(some),
            indexed=done.indexed + end.indexed,
            unchanged=done.unchanged + end.unchanged + same,
            deleted=done.deleted + deleted,
            failed=(*failed, *end.failed),
        )

    async def _fetch(self, some: Sequence[Summary], places: Iterable[Summary]) -> dict[str, _Ready]:
        """The objects as they are now, whatever a listing said, and who may view them now."""
        items = {
            str(entry["UID"]): entry for entry in await self._client.items([o.uid for o in some])
        }
        if len(items) < len(some) and not await self._client.check():
            raise PloneUnavailable(_ENDED)
        about = {uid: one for uid, item in items.items() if (one := summary(item))}
        now = [entry for entry in about.values() if self._path(entry) is not None]
        public = await self._client.visible([entry.uid for entry in now])
        readers = Readers(self._client, self._settings, [*places, *now])
        allowed = await readers.of(now, public)
        found = {}
        for item in now:
            if (told := read_site_readers(items[item.uid], item, time.time())) is not None:
                allowed[item.uid] = told
            path = self._path(item) or ""
            found[item.uid] = _Ready(items[item.uid], item, path, allowed[item.uid])
        return found

    async def _spool_object(self, ready: _Ready) -> Handed:
        """Return an object with its content in the spool."""
        content, name = await self._content(ready.item, ready.path)
        file = await asyncio.to_thread(self._spool.add, io.BytesIO(content), name)
        return Handed(
            file,
            ready.path,
            ready.about.address,
            title=ready.about.title,
            modified=ready.about.modified,
            allowed=ready.allowed,
            metadata=_metadata(ready.about),
            single=True,
        )

    async def _content(self, item: Item, path: str) -> tuple[bytes, str]:
        """The bytes of a file, or the text of anything else, with a name that says what it is."""
        file = item.get("file")
        stem = plain_name(path.rpartition("/")[2]) or "object"
        if not isinstance(file, dict) or not isinstance(file.get("download"), str):
            return page(item).encode("utf-8", "replace"), f"{stem}.html"
        name = plain_name(str(file.get("filename") or "")) or stem
        if not name.lower().endswith(list_endings()):
            name += find_ending(str(file.get("content-type", "")).partition(";")[0].strip())
        size = file.get("size")
        known = size if isinstance(size, int) else None
        return await self._client.download(file["download"], known), name

    async def _ingest(self, handed: tuple[Handed, ...], wait: bool) -> Progress:
        """Return the end of the job, or its beginning, from which on it is durable."""
        last = Progress("", finished=True)
        if handed:
            settings = self._settings
            request = IngestRequest(
                collection=settings.collection, tenant=settings.tenant, handed=handed
            )
            async with aclosing(self._service.ingest(request)) as job:
                async for progress in job:
                    last = progress
                    if not wait:
                        break
        return last

    async def _list_known(self) -> Known:
        known: dict[str, list[Document]] = {}
        site = self._client.site
        for document in await self._documents():
            uid = (document.metadata or {}).get("uid")
            if isinstance(uid, str) and _is_below(document.source, site):
                known.setdefault(uid, []).append(document)
        return known

    async def _documents(self) -> list[Document]:
        """Return all documents of the collection, those that never answered among them."""
        found: list[Document] = []
        try:
            while True:
                after = found[-1].path if found else ""
                some = await self._service.documents(
                    self._principal, self._settings.collection, limit=PAGE, after=after
                )
                found += some
                if len(some) < PAGE:
                    return found
        except UnknownCollection:
            return []

    async def _delete(self, documents: Sequence[Document]) -> int:
        if not documents:
            return 0
        ids = list({document.id: None for document in documents})
        return await self._service.delete(self._principal, self._settings.collection, ids)


@dataclass(frozen=True, slots=True)
class _Expected:
    """Who may view the objects that a listing showed, by UID, and whether the site kept to itself
    who something is shared with."""

    allowed: Mapping[str, Names]
    untold: bool = False


def _list_types(known: Known) -> set[str]:
    every = (document.metadata or {} for documents in known.values() for document in documents)
    return {str(said["portal_type"]) for said in every if "portal_type" in said}


def _metadata(item: Summary) -> dict[str, str]:
    said = {
        "uid": item.uid,
        "portal_type": item.type,
        "review_state": item.state,
        "url": item.address,
    }
    return {name: value for name, value in said.items() if value}


def _unlike(
    documents: Sequence[Document], path: str | None, allowed: Names | None
) -> list[Document]:
    """Return documents that are elsewhere, or for others."""
    return [
        document
        for document in documents
        if document.path != path or not _is_for(document, allowed)
    ]


def _is_for(document: Document, allowed: Names | None) -> bool:
    """Tell whether a document came for these readers. Those that an administrator has set stay,
    whatever the site says."""
    own = document.own_readers or document.allowed
    return allowed is not None and (document.readers_fixed or own == allowed)


def _is_below(address: str, root: str) -> bool:
    return not root or address == root or address.startswith(root + "/")
