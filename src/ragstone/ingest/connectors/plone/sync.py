"""Keeps a collection in step with a Plone site: all of it, what changed, what is gone."""

import asyncio
import io
import json
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from ragstone.core.errors import DocumentError, Unavailable, UnknownCollection
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.ingest.connectors.plone.client import Item, PloneClient, PloneUnavailable
from ragstone.ingest.connectors.plone.names import CONNECTOR, names, path_in, tokens
from ragstone.ingest.connectors.plone.text import page
from ragstone.ingest.formats.types import ending_of, supported
from ragstone.ingest.handed import Spool, plain_name
from ragstone.service import FileFailure, Handed, IngestRequest, Progress, Service
from ragstone.settings import PloneSettings

log = logging.getLogger(__name__)

OVERLAP = 300.0
"""Seconds that a run looks back behind the last one: clocks differ, and catalogs lag."""

PAGE = 100_000
MOST_PASSED_OVER = 1000
"""Objects that one run fetches singly, because its pages did not hold them."""


@dataclass(frozen=True, slots=True)
class Synced:
    """How far a run is; the last one has `finished`. The objects `again` could not be fetched, and
    the next run tries them."""

    seen: int = 0
    total: int | None = None
    indexed: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: tuple[FileFailure, ...] = ()
    again: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    finished: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    """What is remembered between runs: when the last complete one began (0 for never), how far one
    that was cut off came, and the ids of what could not be fetched."""

    complete: float = 0.0
    began: float = 0.0
    cursor: int = 0
    again: tuple[str, ...] = ()


class PloneSync:
    """Reads `client`'s site into the collection of the settings, through the service's own ingest.

    What was fetched waits in the spool below `data`. A run that is cut off goes on where it was.
    """

    def __init__(
        self, service: Service, client: PloneClient, settings: PloneSettings, data: Path
    ) -> None:
        self._service = service
        self._client = client
        self._settings = settings
        self._spool = Spool(data)
        place = sha256(f"{client.site}\0{settings.tenant}\0{settings.collection}".encode())
        self._file = data.expanduser().absolute() / "plone" / f"{place.hexdigest()[:32]}.json"
        self._principal = Principal(settings.tenant, CONNECTOR, (CONNECTOR,))

    async def run(self, full: bool = False) -> AsyncGenerator[Synced, None]:
        """Index what changed since the last complete run, or everything, and forget what is gone.

        Raises PloneUnavailable, ConfigError; what was indexed until then stays.
        """
        state = await asyncio.to_thread(self._load)
        resumed = state.cursor > 0
        since = None if full or not state.complete else state.complete - OVERLAP
        state = replace(state, began=state.began if resumed else time.time())
        notes = ("The last run was cut off; this one goes on.",) if resumed else ()
        done = await self._each(state.again, Synced(notes=notes))
        start = max(0, state.cursor - self._settings.page_size)
        async with aclosing(self._client.pages(since, start)) as pages:
            async for items, total in pages:
                done = await self._indexed(items, replace(done, total=total))
                start += len(items)
                state = replace(state, cursor=start, again=done.again)
                await asyncio.to_thread(self._save, state)
                yield done
        done = await self._completed(done)
        await asyncio.to_thread(self._save, _State(state.began, again=done.again))
        yield done

    async def _each(self, uids: Iterable[str], done: Synced) -> Synced:
        """Index these objects one by one."""
        for uid in uids:
            if item := await self._client.item(uid):
                done = await self._indexed([item], done)
        return done

    async def _completed(self, done: Synced) -> Synced:
        """Index what was passed over, and forget what the site has no more."""
        there, known = await self._client.uids(), await self._known()
        passed_over = sorted(there - set(known) - set(done.again))
        done = await self._each(passed_over[:MOST_PASSED_OVER], done)
        gone = [document for uid in set(known) - there for document in known[uid]]
        if gone and not there:
            note = "The site lists no content at all, so nothing was deleted."
            return replace(done, notes=(*done.notes, note), finished=True)
        return replace(done, deleted=await self._delete(gone), finished=True)

    async def one(self, uid: str, wait: bool = True) -> Synced:
        """Index one object anew, or forget it if the site has it no more; without `wait`, until it
        is queued."""
        item = await self._client.item(uid)
        if item is None:
            return Synced(deleted=await self.forget(uid), finished=True)
        return await self._indexed([item], Synced(total=1), wait)

    async def forget(self, uid: str) -> int:
        """Delete the documents of one object; how many there were."""
        return await self._delete((await self._known()).get(uid, []))

    async def _indexed(self, items: Sequence[Item], done: Synced, wait: bool = True) -> Synced:
        """Hand a page of objects over, and delete what moved from where it was."""
        handed: dict[str, Handed] = {}
        failed, again = list(done.failed), list(done.again)
        try:
            for item in items:
                try:
                    if one := await self._handed(item):
                        handed[one.path] = one
                except (DocumentError, PloneUnavailable) as error:
                    failed.append(FileFailure(str(item.get("@id", ""))[:500], error.message))
                    if isinstance(error, PloneUnavailable):
                        again.append(str(item.get("UID")))
        except BaseException:
            for one in handed.values():
                self._spool.drop(one.file)
            raise
        end = await self._ingested(tuple(handed.values()), wait)
        if end.error:
            raise Unavailable(f"The objects could not be indexed: {end.error}")
        if wait:
            await self._delete_moved(handed)
        return replace(
            done,
            seen=done.seen + len(items),
            indexed=done.indexed + end.indexed,
            unchanged=done.unchanged + end.unchanged,
            failed=(*failed, *end.failed),
            again=tuple(dict.fromkeys(again)),
        )

    async def _handed(self, item: Item) -> Handed | None:
        """An object with its content in the spool; None for one that is not of the site."""
        path = path_in(self._client.site, str(item.get("@id", "")))
        uid = item.get("UID")
        if path is None or not isinstance(uid, str):
            log.warning("An object without a UID, or of another site, is passed over")
            return None
        content, name = await self._content(item, path)
        file = await asyncio.to_thread(self._spool.add, io.BytesIO(content), name)
        metadata = {
            "uid": uid,
            "portal_type": str(item.get("@type") or item.get("portal_type") or ""),
            "review_state": str(item.get("review_state") or ""),
            "url": str(item["@id"]),
        }
        return Handed(
            file,
            path,
            str(item["@id"]),
            title=str(item.get("title") or ""),
            modified=_seconds(item.get("modified")),
            allowed=names(tokens(item, self._settings.public_states)),
            metadata={name: value for name, value in metadata.items() if value},
        )

    async def _content(self, item: Item, path: str) -> tuple[bytes, str]:
        """The bytes of a file, or the text of anything else, with a name that says what it is."""
        file = item.get("file")
        stem = plain_name(path.rpartition("/")[2]) or "object"
        if not isinstance(file, dict) or not isinstance(file.get("download"), str):
            return page(item).encode("utf-8", "replace"), f"{stem}.html"
        name = plain_name(str(file.get("filename") or "")) or stem
        if not name.lower().endswith(supported()):
            name += ending_of(str(file.get("content-type", "")).partition(";")[0].strip())
        return await self._client.download(file["download"]), name

    async def _ingested(self, handed: tuple[Handed, ...], wait: bool) -> Progress:
        """The end of the job, or its beginning, from which on it is durable."""
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

    async def _delete_moved(self, handed: dict[str, Handed]) -> None:
        """Delete documents of these objects at other paths."""
        known = await self._known()
        moved = [
            document
            for path, one in handed.items()
            for document in known.get(one.metadata["uid"], [])
            if document.path != path
        ]
        await self._delete(moved)

    async def _known(self) -> dict[str, list[Document]]:
        """The documents of the site in the collection, by the ids of their objects."""
        known: dict[str, list[Document]] = {}
        for document in await self._documents():
            uid = (document.metadata or {}).get("uid")
            if document.source.startswith(self._client.site + "/") and isinstance(uid, str):
                known.setdefault(uid, []).append(document)
        return known

    async def _documents(self) -> list[Document]:
        try:
            name = self._settings.collection
            return await self._service.documents(self._principal, name, limit=PAGE)
        except UnknownCollection:
            return []

    async def _delete(self, documents: Sequence[Document]) -> int:
        if not documents:
            return 0
        ids = [document.id for document in documents]
        return await self._service.delete(self._principal, self._settings.collection, ids)

    def _load(self) -> _State:
        try:
            data = json.loads(self._file.read_text())
            again = tuple(str(uid) for uid in data["again"])
            return _State(float(data["complete"]), float(data["began"]), int(data["cursor"]), again)
        except (OSError, ValueError, KeyError, TypeError):
            return _State()

    def _save(self, state: _State) -> None:
        """In one step, so that a run that is killed leaves the state before or after."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps(asdict(state)))
        draft.replace(self._file)


def _seconds(moment: Any) -> float:
    """A time of Plone's (ISO 8601) as seconds since 1970, 0 for none."""
    try:
        return datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
