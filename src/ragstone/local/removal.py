"""Deleting documents: hidden at once, their chunks gone when no search looks at them any more.

Erasing a user: all that is theirs alone, and every byte that it left in files.

Each step can be done again, so an erasure that was cut off is simply run once more. What tells
which documents and jobs are the user's goes last.
"""

import asyncio
import logging
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ragstone.core.conversation import Forgotten
from ragstone.core.errors import UnknownDocument
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.ingest.free_memory import give_back
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.uploads import Spool, kept_folder, owner_digits
from ragstone.jobs.runner import Runner
from ragstone.local.keys import LocalKeys
from ragstone.ports import Adapters, Erasure, erase
from ragstone.ports.jobs import CANCELLED, PAUSED, QUEUED, RUNNING, Job, JobStore
from ragstone.service.jobs import ASK

Readers = Sequence[str] | None

PAGE = 1_000
"""Documents that are listed in one step."""


class Removal:
    """Deletes documents that `readers` may read, by the names that documents allow; None is all."""

    def __init__(self, adapters: Adapters, pipeline: Pipeline) -> None:
        self._adapters = adapters
        self._pipeline = pipeline

    async def number(
        self, readers: Readers, collection: Collection, paths: Sequence[str] | None
    ) -> int:
        """Tell how many documents `paths` name, None for all. Raises UnknownDocument."""
        if paths is not None:
            return len(await self._resolve_ids(readers, collection, paths))
        counts = await self._adapters.catalog.counts(collection.tenant, collection.id)
        counted = counts.get(collection.id, ())
        return sum(
            item.documents
            for item in counted
            if readers is None or not set(readers).isdisjoint(item.allowed)
        )

    async def remove(
        self, readers: Readers, collection: Collection, paths: Sequence[str] | None
    ) -> int:
        """Delete documents, None for the whole collection; how many went."""
        catalog = self._adapters.catalog
        if paths is not None:
            ids = await self._resolve_ids(readers, collection, paths)
            await self._pipeline.forget(collection, ids)
            await self._pipeline.purge()
            return len(ids)
        number = await self.number(readers, collection, None)
        # It may have been built anew meanwhile.
        now = await catalog.find_by_id(collection.tenant, collection.id) or collection
        # The documents first: a kill in between leaves an empty collection, never documents
        # without their chunks, and its job goes on. Then the collection, whose index the catalog
        # remembers until it is dropped.
        ids = await self._all(now)
        await catalog.retire(ids)
        await asyncio.to_thread(self._pipeline.originals.delete, ids)
        await catalog.drop_collection(collection.tenant, collection.id)
        await self._pipeline.purge()
        # A collection of few large documents is deleted without a job.
        await asyncio.to_thread(give_back)
        return number

    async def finish(
        self, readers: Readers, collection: Collection | None, paths: Sequence[str] | None
    ) -> int:
        """Go on with a `remove` that was cut off, perhaps when everything was done and the
        collection gone; how many went in this second part."""
        if collection is not None:
            with suppress(UnknownDocument):
                return await self.remove(readers, collection, paths)
        await self._pipeline.purge()
        return 0

    async def _all(self, collection: Collection) -> list[str]:
        """Return the ids of all documents of a collection, whoever may read them."""
        ids: list[str] = []
        after = ""
        while page := await self._adapters.catalog.documents(
            collection.tenant, collection.id, after=after, limit=PAGE
        ):
            ids += (item.id for item in page)
            after = page[-1].path
        return ids

    async def _resolve_ids(
        self, readers: Readers, collection: Collection, paths: Sequence[str]
    ) -> list[str]:
        """Return the ids of what `paths` name: by id, by path, or by a folder above. Raises
        UnknownDocument."""
        named: dict[str, None] = {}
        for path in paths:
            found = await self._adapters.catalog.ids(
                collection.tenant, collection.id, readers, path
            )
            if not found:
                raise UnknownDocument(path)
            named.update(dict.fromkeys(found))
        return list(named)


log = logging.getLogger(__name__)

STOPPED_SECONDS = 1.0
"""When another server has noticed that a job of its own was cancelled."""

ASIDE = "damaged"
"""Where `repair` puts damaged files, which hold what everybody said."""


class UserErasure:
    """Erases one user at a time."""

    def __init__(
        self,
        adapters: Adapters,
        state: Erasure,
        pipeline: Pipeline,
        jobs: JobStore,
        runner: Runner,
        keys: LocalKeys,
        data: Path,
    ) -> None:
        self._adapters = adapters
        self._state = state
        self._pipeline = pipeline
        self._jobs = jobs
        self._runner = runner
        self._keys = keys
        self._data = data
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Forgotten]] = set()

    async def erase(self, whose: Principal, user_id: str | None) -> Forgotten:
        """Erase a user, or one of its accounts; goes on if the caller leaves. Raises
        StateUnavailable, IndexUnavailable and StorageFull, and can be run again then."""
        task = asyncio.create_task(self._erase(whose, user_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """Wait for what goes on."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _erase(self, whose: Principal, user_id: str | None) -> Forgotten:
        async with self._turn:
            jobs = [job for job in await self._state.jobs(whose) if _is_of(job, user_id)]
            await self._stop(jobs)
            documents, keys = 0, 0
            if user_id is None:
                keys = await self._revoke_keys(whose)
                documents = await self._erase_documents(whose, jobs)
                await asyncio.to_thread(self._delete_files, whose, jobs)
            conversations, history = self._adapters.conversations, self._adapters.history
            rooms, turns = await conversations.forget(whose, user_id)
            days = await history.forget(whose, user_id)
            blocked = await self._state.delete(whose, user_id, jobs)
            cached = await self._adapters.cache.clear()
            for collection in await self._adapters.catalog.collections(whose.tenant):
                await erase(self._adapters.index, collection, deleted=False)
            await self._state.rewrite()
            return Forgotten(rooms, turns, days, blocked, cached, documents, len(jobs), keys)

    async def _stop(self, jobs: Sequence[Job]) -> None:
        """End the jobs that have not ended, wherever they run."""
        elsewhere = False
        for job in jobs:
            moved = await self._jobs.move(job.id, (QUEUED, RUNNING, PAUSED), CANCELLED)
            if moved and moved.state == RUNNING:
                elsewhere |= not self._runner.interrupt(moved)
        while any(self._runner.is_running(job.id) for job in jobs):
            await self._runner.wait_for_change(STOPPED_SECONDS)
        if elsewhere:
            await asyncio.sleep(STOPPED_SECONDS)

    async def _revoke_keys(self, whose: Principal) -> int:
        """End the user's keys, and what was signed with them, at once."""
        mine = [k for k in await self._keys.list_all(whose.tenant) if k.user == whose.user]
        for key in mine:
            await self._keys.revoke(whose.tenant, key.id)
        return len(mine)

    async def _erase_documents(self, whose: Principal, jobs: Sequence[Job]) -> int:
        """Erase the documents that only the user may read, and collections of nothing else."""
        catalog, mine = self._adapters.catalog, [f"user:{whose.user}"]
        filled = {job.collection for job in jobs}
        counts = await catalog.counts(whose.tenant)
        erased = 0
        for collection in await catalog.collections(whose.tenant):
            readable = await catalog.documents(whose.tenant, collection.id, readers=mine)
            theirs = [item.id for item in readable if list(item.allowed) == mine]
            if not theirs and collection.id not in filled:
                continue
            whole = len(theirs) == sum(item.documents for item in counts.get(collection.id, ()))
            if theirs or whole:
                await self._pipeline.erase(collection, theirs, whole)
            erased += len(theirs)
        return erased

    def _delete_files(self, whose: Principal, jobs: Sequence[Job]) -> None:
        spool = Spool(self._data)
        spool.forget(owner_digits(whose.tenant, whose.user))
        shutil.rmtree(kept_folder(self._data, whose), ignore_errors=True)
        for job in jobs:
            for handed in job.request.get("handed", ()):
                spool.drop(handed["file"])
        self._pipeline.forget_marks()
        shutil.rmtree(self._data / ASIDE, ignore_errors=True)


def _is_of(job: Job, user_id: str | None) -> bool:
    """Tell whether a job is of this account of its user, None for any."""
    return user_id is None or job.request.get(ASK, {}).get("user_id") == user_id
