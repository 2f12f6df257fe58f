"""The jobs of this process's Ragstone: who may see and steer which."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload
from uuid import uuid4

from ragstone.access.asking import ASKING, check_everywhere, check_known, limit_key
from ragstone.conversation.reach import select_readable
from ragstone.core.clock import state_time
from ragstone.core.errors import EmptyQuestion, InputError, JobEnded, UnknownJob
from ragstone.core.limits import check_ask
from ragstone.core.readers import Reader
from ragstone.core.turn import Ask, Principal
from ragstone.jobs.ending import KEEP_SECONDS
from ragstone.jobs.questions import CREDENTIAL, DOCUMENTS, ORIGIN, format_request, question_id
from ragstone.jobs.runner import Runner
from ragstone.local.collections import identify_collection, may_still_read
from ragstone.ports import CollectionNames
from ragstone.ports.jobs import (
    CANCELLED,
    DONE,
    ENDED,
    FAILED,
    PAUSED,
    QUEUED,
    RUNNING,
    Job,
    JobStore,
    NewJob,
    State,
)
from ragstone.service.jobs import ASK, EndedState, JobState, JobView, KindView

LOOK_SECONDS = 0.5
"""How often a watcher looks at a job that goes on in another process."""
MAX_ID = 200
HIDDEN = (ORIGIN, DOCUMENTS)
WITHDRAWN = "What this was answered from is gone, or not for you any more. Ask again."


MAX_QUEUED = 10_000
"""Jobs of a kind that may wait: a client that submits them in a loop must not fill the state."""

PRIORITIES, USUAL_PRIORITY = {"ask": 0, "evaluation": 9}, 5
"""The order of kinds of jobs, 0 first: somebody waits for an answer, nobody for an evaluation."""


class LocalJobs:
    """`service.jobs.JobsService` on a store and the runner of this process.

    The store has the id of a job's collection, the catalog what that is called now, and who may
    read the documents of an answer. `admit` raises TooManyRequests for a new question of who may
    ask none now; one that is queued waits.
    """

    def __init__(
        self,
        store: JobStore,
        catalog: CollectionNames,
        runner: Runner,
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._names = catalog
        self._admit = admit
        self._runner = runner

    async def ask(self, ask: Ask) -> JobView:
        if not ask.question.strip():
            raise EmptyQuestion
        check_ask(ask)
        ask = await identify_collection(self._names, ask)
        id = question_id(ask)
        known = await self._unless_withdrawn(await self._store.get(id))
        if known is None or known.state in (FAILED, CANCELLED):
            new = self._new_job(ASK, id, format_request(ask), ask.principal, ask.collection_id)
            known = await self._submit(new)
        return await self._view(known)

    async def submit(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        principal: Principal,
        priority: int | None = None,
        id: str = "",
    ) -> JobView:
        if kind not in self._runner.kinds:
            kinds = ", ".join(self._runner.kinds)
            raise InputError(f"There are no jobs of the kind {kind!r} here; there are {kinds}.")
        if len(id) > MAX_ID:
            raise InputError(f"The id of a job has at most {MAX_ID} characters.")
        # As it will be read again: equal requests are compared, and a tuple is not a list.
        stored = json.loads(json.dumps(dict(request)))
        name = str(stored.get("collection", ""))
        collection = await self._names.identity(principal.tenant, name) if name else ""
        new = self._new_job(kind, id or uuid4().hex, stored, principal, collection)
        if priority is not None:
            new = replace(new, priority=priority)
        job = await self._submit(new, same=not id)
        if not _is_of(principal, job):
            raise InputError("There is another job of this id already. Choose another id.")
        return await self._view(job)

    async def get(self, principal: Principal, id: str, *, admin: bool = False) -> JobView | None:
        job = await self._store.get(id)
        if job is None or not await self._has(principal, job, admin):
            return None
        job = await self._unless_withdrawn(job)
        progress = self._runner.progress(id) if job.state == RUNNING else None
        if progress is not None:
            job = replace(job, progress=dict(progress))
        mine = _is_of(principal, job)
        if not mine:
            job = replace(job, progress=_without_copies(job.progress))
        elif job.kind == ASK:
            # Of an answer that is not there yet, whoever asked is told what it is for.
            question = job.request.get(ASK, {}).get("question", "")
            job = replace(job, progress={**job.progress, "question": question})
        return await self._view(job, with_result=job.kind != ASK or mine)

    async def list(
        self,
        tenant: str,
        kind: str | None = None,
        state: JobState | None = None,
        limit: int = 100,
        *,
        principal: Principal | None = None,
        admin: bool = False,
    ) -> Sequence[JobView]:
        user = None if principal is None or admin else principal.user
        found = await self._store.list_all(tenant, kind, state, limit, user)
        if principal is not None:
            found = [job for job in found if await self._has(principal, job, admin)]
        found = [replace(job, progress=_without_copies(job.progress)) for job in found]
        return await self._views(found, with_result=False)

    async def cancel(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        until = state_time() + KEEP_SECONDS
        states: tuple[State, ...] = (QUEUED, RUNNING, PAUSED)
        return await self._change_state(principal, id, admin, states, CANCELLED, expires_at=until)

    async def pause(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._change_state(principal, id, admin, (QUEUED, RUNNING), PAUSED)

    async def resume(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._change_state(principal, id, admin, (PAUSED,), QUEUED, due_at=0.0)

    async def retry(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        anew: dict[str, Any] = {
            "due_at": 0.0,
            "failures": 0,
            "deaths": 0,
            "expires_at": None,
            "progress": {},
        }
        states: tuple[State, ...] = (FAILED, CANCELLED)
        return await self._change_state(principal, id, admin, states, QUEUED, **anew)

    async def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        seen: JobView | None = None
        while True:
            now = await self.get(principal, id, admin=admin)
            if now is None:
                raise UnknownJob(id)
            if now != seen:
                seen = now
                yield now
                if now.ended:
                    return
            self._runner.check_store()
            await self._runner.wait_for_change(LOOK_SECONDS)

    async def kinds(self) -> Sequence[KindView]:
        paused = await self._store.list_paused_kinds()
        counts = await self._store.counts()
        return [
            KindView(
                kind,
                kind in paused,
                self._runner.concurrency(kind),
                PRIORITIES.get(kind, USUAL_PRIORITY),
                {state: number for (of, state), number in counts.items() if of == kind},
            )
            for kind in self._runner.kinds
        ]

    async def pause_kind(self, kind: str) -> None:
        await self._pause_kind(kind, True)

    async def resume_kind(self, kind: str) -> None:
        await self._pause_kind(kind, False)

    async def clean(self, tenant: str, state: EndedState | None = None, age: float = 0.0) -> int:
        check_everywhere()
        states = ENDED if state is None else (state,)
        return await self._store.forget(tenant, states, state_time() - age)

    def wake(self) -> None:
        """A plugin has queued a job in a transaction of its own."""
        self._runner.wake()

    async def list_unfinished(self, *kinds: str) -> Sequence[JobView]:
        """Return the jobs of these kinds that have not ended, in every tenant."""
        return await self._views(await self._store.list_unfinished(kinds))

    async def _view(self, job: Job, with_result: bool = True) -> JobView:
        [view] = await self._views([job], with_result)
        return view

    async def _views(self, jobs: Sequence[Job], with_result: bool = True) -> Sequence[JobView]:
        """Jobs with the current names of their collections; the submitted name if one is gone."""
        ids: dict[str, set[str]] = {}
        for job in jobs:
            if job.collection:
                ids.setdefault(job.tenant, set()).add(job.collection)
        names = {tenant: await self._names.names(tenant, some) for tenant, some in ids.items()}

        def view(job: Job) -> JobView:
            name = names.get(job.tenant, {}).get(job.collection, _submitted_collection(job))
            return _job_view(job, name, with_result)

        return await asyncio.to_thread(lambda: [view(job) for job in jobs])

    async def _has(self, principal: Principal, job: Job, admin: bool) -> bool:
        """Tell whether the principal may know of the job."""
        mine = _is_of(principal, job)
        if not mine and not (admin and job.tenant == principal.tenant):
            return False
        reach = principal.collections
        if reach is None:
            return True
        named = await self._names.names(job.tenant, {job.collection}) if job.collection else {}
        if job.kind == ASK:
            return named.get(job.collection) in reach and await self._has_answer(principal, job)
        # What an own job did to a collection that it removed is still its owner's.
        gone = _submitted_collection(job) if mine else ""
        return named.get(job.collection, gone) in reach

    async def _has_answer(self, principal: Principal, job: Job) -> bool:
        """Tell whether a principal reaches the collections of all that a question was answered
        from, its conversation included; or, as long as nobody knows, all that its asker reached.
        Who asked learns of an answer that is for other readers now from `_unless_withdrawn`."""
        reach, origin = principal.collections, (job.result or {}).get(ORIGIN)
        if origin is None:
            asked = _asker_reach(job)
            return asked is not None and set(asked) <= set(reach or ())
        return bool(await select_readable([origin], Reader(reach, None), self._names, job.tenant))

    @overload
    async def _unless_withdrawn(self, job: Job) -> Job: ...
    @overload
    async def _unless_withdrawn(self, job: None) -> None: ...
    async def _unless_withdrawn(self, job: Job | None) -> Job | None:
        """Return the job, without its answer if that was made from documents that are gone by now,
        or, with its conversation, from some that who asked may not read any more."""
        if job is None or job.kind != ASK or not job.result:
            return job
        documents, origin = job.result.get(DOCUMENTS) or (), job.result.get(ORIGIN)
        asker = Principal(job.tenant, job.user, tuple(job.groups))
        if await may_still_read(self._names, asker, documents, origin):
            return job
        await self._store.move(job.id, (DONE,), CANCELLED, result=None, error=WITHDRAWN)
        return replace(job, state=CANCELLED, result=None, error=WITHDRAWN)

    async def _submit(self, new: NewJob, same: bool = False) -> Job:
        await self._runner.start()
        if new.kind == ASK and self._admit:
            await self._admit()
        job = await self._store.submit(new, MAX_QUEUED, same)
        self._runner.wake()
        return job

    def _new_job(
        self, kind: str, id: str, request: dict[str, Any], whose: Principal, collection: str
    ) -> NewJob:
        if kind == ASK:
            request = {**request, CREDENTIAL: limit_key(ASKING.get())}
        priority = PRIORITIES.get(kind, USUAL_PRIORITY)
        return NewJob(
            id, kind, request, whose.tenant, whose.user, whose.groups, collection, priority
        )

    async def _change_state(
        self,
        principal: Principal,
        id: str,
        admin: bool,
        states: tuple[State, ...],
        state: State,
        **values: Any,
    ) -> JobView:
        """Bring a job that is in one of `states` into another. Raises UnknownJob, JobEnded."""
        known = await self._store.get(id)
        check_known()
        if known is None or not await self._has(principal, known, admin):
            raise UnknownJob(id)
        moved = await self._store.move(id, states, state, **values)
        if moved and moved.state == RUNNING:
            self._runner.interrupt(moved)
        now = await self.get(principal, id, admin=admin)
        if now is None:
            raise UnknownJob(id)
        if moved is None:
            if now.state == state:
                return now
            raise JobEnded(f"The job is {now.state}: {_ALLOWED[state]}.")
        if state == QUEUED:
            await self._runner.start()
        self._runner.wake()
        return now

    async def _pause_kind(self, kind: str, paused: bool) -> None:
        if kind not in self._runner.kinds:
            kinds = ", ".join(self._runner.kinds)
            raise InputError(f"There are no jobs of the kind {kind!r} here; there are {kinds}.")
        await self._store.pause_kind(kind, paused)
        self._runner.wake()


_ALLOWED: Mapping[State, str] = {
    CANCELLED: "only one that waits, runs or is paused can be cancelled",
    PAUSED: "only one that waits or runs can be paused",
    QUEUED: "only a paused one can be resumed, and only a failed or cancelled one retried",
}


def _is_of(principal: Principal, job: Job) -> bool:
    """Tell whether the job was submitted in this security context."""
    return (
        job.tenant == principal.tenant
        and job.user == principal.user
        and set(job.groups) == set(principal.groups)
    )


def _without_copies(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The progress without the names of documents that only who began the job surely may read."""
    return {name: value for name, value in progress.items() if name != "copies"}


def _asker_reach(job: Job) -> list[str] | None:
    """Return the collections that a question's asker reached, None for all: its conversation may
    have brought in any of them."""
    reach: list[str] | None = job.request[ASK]["principal"].get("collections")
    return reach


def _submitted_collection(job: Job) -> str:
    """Return the collection named in the job's request."""
    request = job.request.get(ASK, {}) if job.kind == ASK else job.request
    return str(request.get("collection", ""))


def _job_view(job: Job, collection: str, with_result: bool) -> JobView:
    eta = job.progress.get("eta") if job.state == RUNNING else None
    result = job.result if with_result and job.state == DONE else None
    if result is not None and job.kind == ASK:
        result = {name: value for name, value in result.items() if name not in HIDDEN}
    return JobView(
        id=job.id,
        kind=job.kind,
        state=job.state,
        progress={"share": None, **job.progress},
        eta=eta if isinstance(eta, int | float) else None,
        result=result,
        error=job.error,
        attempts=job.attempts,
        created_at=job.created_at,
        updated_at=job.updated_at,
        code=job.code,
        collection=collection,
        user=job.user,
        priority=job.priority,
    )
