"""A run of a source whose items are fetched: what it lists is compared with what was read of it.

What is done is stored item by item, so a run that was cut off is simply run again. Only a listing
that came to its end says that something is gone.
"""

import asyncio
import os
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO, cast

from ragstone.core.errors import DocumentError, InputError, InvalidMetadata, TooLarge
from ragstone.core.metadata import check_input_metadata
from ragstone.core.readers import check_readers
from ragstone.core.records import Document
from ragstone.core.sync import ItemState, SourceItem
from ragstone.ingest.files import is_description_file
from ragstone.ingest.formats.types import list_endings
from ragstone.ingest.pipeline import unwrap_error_group
from ragstone.ingest.places import is_archive
from ragstone.ingest.uploads import Spool
from ragstone.plugins.sources.run import RunRecord, spool_owner
from ragstone.ports.sources import ItemSource, PartialSource
from ragstone.service import Handed, IngestRequest

PAGE = 200
"""Items that are compared, and documents that are handed over, at a time."""

BATCH_BYTES = 256 * 2**20
"""Bytes that wait in the spool at a time, about."""

FETCHES = 4
"""Items that are fetched at a time."""

IN_MEMORY = 4 * 2**20
"""Bytes of an item that are held in memory while it is fetched."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

MAX_BYTES = 2_000
"""Of an item's key, and of its path: an index of PostgreSQL takes 2,704 for a row."""


@dataclass(frozen=True, slots=True)
class _ListedItem:
    """An item with what was last read of it, and its document."""

    item: SourceItem
    path: str
    readers: tuple[str, ...]
    state: ItemState | None
    document: Document | None

    @property
    def is_read(self) -> bool:
        """Whether its content was read as it is."""
        known = self.state
        return (
            known is not None
            and (known.version, known.path) == (self.item.version, self.path)
            # Who deletes a document of a source sees it again, as with a folder.
            and (self.document is not None or bool(known.error))
        )

    @property
    def has_other_readers(self) -> bool:
        """Whether its document is for others than the item is now."""
        document = self.document
        if document is None or document.readers_fixed:
            return False
        return (document.own_readers or ()) != self.readers


class ItemRun:
    """Brings a collection up to date with what a source lists."""

    def __init__(self, record: RunRecord, opened: ItemSource) -> None:
        self._record = record
        self._opened = opened
        self._store = record.parts.store
        self._source = record.source
        self._spool = Spool(record.parts.data)
        self._owner = spool_owner(record.source.id)
        # Digests, as a source may list a million keys.
        self._seen: set[bytes] = set()
        # A hand-over takes a process of its own, so changes are gathered over pages.
        self._waiting: list[_ListedItem] = []
        self._to_try_again = False
        self._left_out: Counter[str] = Counter()
        self._closed = 0

    async def sync(self) -> str | None:
        """Do it; the new checkpoint, None where the next run is to begin from the old one. Raises
        SourceUnavailable and what the collection raises."""
        # What a run was fetching when its process was killed.
        await asyncio.to_thread(self._spool.forget, self._owner)
        since = "" if self._record.request.accept_removals else self._source.checkpoint
        async for page in _pages(self._opened.list_items(since)):
            await self._sync_page(page)
        await self._fetch_waiting()
        checkpoint = self._opened.get_checkpoint()
        if since:
            self._seen = {_digest(key) async for key in self._opened.list_keys()}
        opened = self._opened
        gap = opened.explain_gap() if isinstance(opened, PartialSource) else ""
        if gap and not self._record.request.accept_removals:
            self._record.note(f"{gap} Nothing was removed.")
        else:
            await self._remove_gone()
        if self._left_out:
            kinds = ", ".join(f"{kind} ({n:,})" for kind, n in self._left_out.most_common(10))
            self._record.note(f"Left out, as nothing reads them: {kinds}.")
        if self._closed:
            self._record.note(f"Left out, as they are for nobody: {self._closed:,}.")
        return None if self._to_try_again else checkpoint

    async def _sync_page(self, page: Sequence[SourceItem]) -> None:
        """Bring some items up to date: at once who may read them, soon what they hold."""
        listed = await self._look_up(await self._select(page))
        rights = [entry for entry in listed if entry.has_other_readers]
        to_fetch = [entry for entry in listed if not entry.is_read]
        for entry in listed:
            if entry.is_read and entry.has_other_readers:
                self._record.count(rights=1)
            elif entry.is_read and entry.state and entry.state.error:
                self._record.fail(entry.item.path, entry.state.error)
            elif entry.is_read:
                self._record.count(unchanged=1)
        if self._record.request.dry:
            new = sum(entry.state is None for entry in to_fetch)
            self._record.count(added=new, changed=len(to_fetch) - new)
        else:
            await self._give_readers(rights)
            self._waiting += to_fetch
            if len(self._waiting) >= PAGE:
                await self._fetch_waiting()
        await self._record.store()

    async def _select(self, page: Sequence[SourceItem]) -> list[SourceItem]:
        """Return the items that can be documents, each path once."""
        fit = [self._path(item) for item in page if not _find_fault(item)]
        holders = await self._store.keys_at(self._source.id, fit)
        taken = {entry.path for entry in self._waiting}
        selected = []
        unfit, closed = [], []
        usurped: dict[str, str] = {}
        for item in page:
            digest, path = _digest(item.key), self._path(item)
            if digest in self._seen:
                continue
            self._seen.add(digest)
            others = holders.get(path, set()) - {item.key}
            if item.closed:
                closed.append(item.key)
                continue
            if fault := _find_fault(item):
                self._record.fail(item.path, fault)
            elif path in taken or any(_digest(key) in self._seen for key in others):
                self._record.fail(item.path, "Another item of the source has the same path.")
                self._to_try_again = True
            elif not _is_document(item.path):
                ending = os.path.splitext(item.path)[1].lower()[:20]
                self._left_out[ending or "no ending"] += 1
            else:
                taken.add(path)
                usurped |= dict.fromkeys(others, path)
                selected.append(item)
                continue
            unfit.append(item)
        await self._close([key for key in closed if _fits(key)])
        self._closed += len(closed)
        if not self._record.request.dry:
            # What had the path before must not lend its readers to what has it now.
            await self._forget(list(usurped.values()), usurped)
            await self._leave(unfit)
        return selected

    async def _close(self, keys: Sequence[str]) -> None:
        """Remove what was read of items that are for nobody now: the source says so of each."""
        states = await self._store.items(self._source.id, keys)
        if not self._record.request.dry:
            closed = {key: state.path for key, state in states.items()}
            await self._forget(list(closed.values()), closed)
        self._record.count(removed=len(states))

    async def _leave(self, unfit: Sequence[SourceItem]) -> None:
        """Let what is known of items that can be no documents now be for no others than they are,
        and forget what is not at its path any more."""
        storable = [item for item in unfit if _fits(item.key)]
        listed = [entry for entry in await self._look_up(storable) if entry.state]
        moved = {e.item.key: e.state.path for e in listed if e.state and e.state.path != e.path}
        await self._give_readers([entry for entry in listed if entry.has_other_readers])
        await self._forget(list(moved.values()), moved)

    async def _look_up(self, items: Sequence[SourceItem]) -> list[_ListedItem]:
        states = await self._store.items(self._source.id, [item.key for item in items])
        paths = {item.key: self._path(item) for item in items}
        paths |= {key: state.path for key, state in states.items()}
        ids = {key: self._record.document_id(path) for key, path in paths.items()}
        documents = await self._record.parts.catalog.find_documents(list(ids.values()))
        listed = []
        for item in items:
            state, document = states.get(item.key), documents.get(ids[item.key])
            if state is None and document is not None and not self._is_own(document):
                document = None
            readers = item.readers or self._source.readers
            listed.append(_ListedItem(item, self._path(item), readers, state, document))
        return listed

    async def _give_readers(self, listed: Sequence[_ListedItem]) -> None:
        """Give documents the readers that their items have now. Before anything is fetched: who may
        not read it any more does not read the old content meanwhile."""
        by_readers: dict[tuple[str, ...], list[str]] = {}
        for entry in listed:
            if entry.document is not None:
                by_readers.setdefault(entry.readers, []).append(entry.document.id)
        collection = await self._record.find_collection() if by_readers else None
        if collection is not None:
            for readers, ids in by_readers.items():
                await self._record.parts.pipeline.tell_readers(collection, ids, readers)

    async def _fetch_waiting(self) -> None:
        """Fetch what waits and index it, as many at a time as the spool is to hold."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            handed, refused = await self._fetch_some(waiting)
            try:
                await self._refuse(refused)
                await self._index([entry for entry in waiting if entry.path in handed], handed)
            finally:
                for hand in handed.values():
                    await asyncio.to_thread(self._spool.drop, hand.file)
            done = handed.keys() | {entry.path for entry, _ in refused}
            waiting = [entry for entry in waiting if entry.path not in done]

    async def _fetch_some(
        self, waiting: Sequence[_ListedItem]
    ) -> tuple[dict[str, Handed], list[tuple[_ListedItem, DocumentError]]]:
        """Return what was fetched by path, and what could not be had."""
        places = asyncio.Semaphore(FETCHES)
        handed: dict[str, Handed] = {}
        refused: list[tuple[_ListedItem, DocumentError]] = []
        size = 0

        async def fetch(entry: _ListedItem) -> None:
            nonlocal size
            async with places:
                # What does not fit any more waits for the next time.
                if size >= BATCH_BYTES:
                    return
                try:
                    hand, length = await self._fetch(entry)
                except DocumentError as error:
                    refused.append((entry, error))
                else:
                    handed[entry.path] = hand
                    size += length

        try:
            await _run_all([fetch(entry) for entry in waiting])
        except BaseException:
            for hand in handed.values():
                self._spool.drop(hand.file)
            raise
        return handed, refused

    async def _fetch(self, entry: _ListedItem) -> tuple[Handed, int]:
        """An item with its content in the spool, and the bytes of that. Raises DocumentError."""
        item, source = entry.item, self._source
        link = {"url": item.url} if item.url else {}
        try:
            metadata = check_input_metadata({**item.metadata, **link, "source": source.name})
        except InputError as error:
            raise InvalidMetadata(error.message) from error
        most = self._record.parts.settings.max_file_mb
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as content:
            target = _LimitedFile(cast(BinaryIO, content), most)
            await self._opened.fetch(item, cast(BinaryIO, target))
            length = content.tell()
            content.seek(0)
            name = item.path.rpartition("/")[2]
            file = await asyncio.to_thread(
                self._spool.add, cast(BinaryIO, content), name, self._owner
            )
        # A source may say what it likes, and a document's source that is a path is a file here.
        place = item.url if _ADDRESS.match(item.url) else f"{source.kind}:{source.name}/{item.path}"
        handed = Handed(file, entry.path, place, item.title, item.modified, entry.readers, metadata)
        return handed, length

    async def _refuse(self, refused: Sequence[tuple[_ListedItem, DocumentError]]) -> None:
        """Count what could not be had. What is too large is not fetched again as it is."""
        states = []
        for entry, error in refused:
            self._record.fail(entry.item.path, error.message)
            if isinstance(error, TooLarge):
                states.append(self._read_state(entry, error.message))
            else:
                self._to_try_again = True
        await self._store.put_items(self._source.id, states)

    async def _index(self, listed: Sequence[_ListedItem], handed: Mapping[str, Handed]) -> None:
        """Index what was fetched, and store that it is read."""
        if not listed:
            return
        source = self._source
        request = IngestRequest(
            collection=await self._record.name_collection(),
            tenant=source.tenant,
            handed=tuple(handed.values()),
        )
        last = await self._record.parts.pipeline.ingest(
            self._record.run.id, request, lambda _: None, source.collection
        )
        failed = {failure.path: failure.reason for failure in last.failed}
        states, moved = [], {}
        for entry in listed:
            error = failed.get(entry.path, "")
            states.append(self._read_state(entry, error))
            if entry.state and entry.state.path != entry.path:
                moved[entry.item.key] = entry.state.path
            if error:
                self._record.fail(entry.item.path, error)
            elif entry.state is None:
                self._record.count(added=1)
            else:
                self._record.count(changed=1)
        await self._forget(list(moved.values()), moved)
        await self._store.put_items(source.id, states)

    async def _remove_gone(self) -> None:
        """Remove what the source has no more, unless its listing does not look whole."""
        known, after = 0, ""
        gone: dict[str, str] = {}
        while page := await self._store.list_items(self._source.id, after, 1_000):
            known += len(page)
            gone |= {item.key: item.path for item in page if _digest(item.key) not in self._seen}
            after = page[-1].key
        if not self._record.may_remove(len(gone), known, empty=not self._seen):
            return
        keys = list(gone)
        for start in range(0, len(keys), PAGE):
            some = {key: gone[key] for key in keys[start : start + PAGE]}
            await self._forget(list(some.values()), some)
            self._record.count(removed=len(some))
            await self._record.store()

    async def _forget(self, paths: Sequence[str], leaving: Mapping[str, str]) -> None:
        """Delete the documents at these paths, but for those of items that stay; then what is known
        of the items that are `leaving`."""
        if not leaving:
            return
        holders = await self._store.keys_at(self._source.id, paths)
        ids = [
            self._record.document_id(path)
            for path in paths
            if holders.get(path, set()) <= leaving.keys()
        ]
        collection = await self._record.find_collection()
        if collection is not None:
            known = await self._record.parts.catalog.find_documents(ids)
            await self._record.parts.pipeline.forget(collection, list(known))
        await self._store.remove_items(self._source.id, leaving.keys())

    def _read_state(self, entry: _ListedItem, error: str) -> ItemState:
        return ItemState(entry.item.key, entry.item.version, entry.path, error)

    def _is_own(self, document: Document) -> bool:
        """Tell whether a document of no known item was left by a run that was cut off, or by a
        source of this name that was removed."""
        return (document.metadata or {}).get("source") == self._source.name

    def _path(self, item: SourceItem) -> str:
        return f"/{self._source.name}/{item.path}"


class _LimitedFile:
    """Takes as much as a file may have."""

    def __init__(self, target: BinaryIO, most_mb: int) -> None:
        self._target = target
        self._most_mb = most_mb

    def write(self, data: bytes) -> int:
        """Write a part of the file. Raises TooLarge."""
        if self._target.tell() + len(data) > self._most_mb * 2**20:
            raise TooLarge(
                f"It has more than the {self._most_mb:,} MB that a file may have "
                "(INGEST__MAX_FILE_MB)."
            )
        return self._target.write(data)


async def _pages(items: AsyncIterator[SourceItem]) -> AsyncIterator[list[SourceItem]]:
    page: list[SourceItem] = []
    async for item in items:
        page.append(item)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


async def _run_all(coroutines: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run them together; the first error ends the others."""
    async with unwrap_error_group(), asyncio.TaskGroup() as group:
        for coroutine in coroutines:
            group.create_task(coroutine)


def _is_document(path: str) -> bool:
    name = path.rpartition("/")[2]
    # Who may read the members of an archive would have to follow the archive's readers.
    left_out = is_description_file(name) or is_archive(name)
    return name.lower().endswith(list_endings()) and not left_out


def _find_fault(item: SourceItem) -> str:
    """What is wrong with an item that cannot be a document; empty for others. Raises InputError for
    readers that are none: the source is broken, and nobody can say who may read it."""
    check_readers(item.readers)
    if not (_fits(item.key) and _fits(item.path)):
        return "Its name is empty, too long or no valid Unicode. Rename it."
    if not item.path.isprintable() or not {"", ".", ".."}.isdisjoint(item.path.split("/")):
        return "Its path has characters or parts that a path here cannot have. Rename it."
    return ""


def _fits(name: str) -> bool:
    """Tell whether a key or a path can be stored."""
    try:
        return 0 < len(name.encode()) <= MAX_BYTES
    except UnicodeEncodeError:
        return False


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).digest()
