"""Jobs that only exist in memory: what the dialects and the command line need of them."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragstone.core.errors import InputError, JobEnded, QueueFull, UnknownJob
from ragstone.core.turn import Ask, Principal
from ragstone.service.jobs import ENDED, EndedState, JobState, JobView, KindView

Owned = tuple[Principal, JobView]


@dataclass
class FakeJobs:
    """`service.jobs.JobsService`. A question is answered at once, unless it is 'wait' or 'full'."""

    known: dict[str, Owned] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)

    async def ask(self, ask: Ask) -> JobView:
        if ask.question == "full":
            raise QueueFull("Too many jobs wait.", 5.0)
        ended = ask.question != "wait"
        view = JobView(
            f"ragask_{abs(hash((ask.question, ask.principal)))}",
            "ask",
            "done" if ended else "running",
            {"share": 1.0 if ended else 0.5},
            None if ended else 2.0,
            {"question": ask.question, "answer": "42.", "sources": []} if ended else None,
            "",
            1,
            1.0,
            2.0,
            collection=ask.collection,
            user=ask.principal.user,
        )
        self.known.setdefault(view.id, (ask.principal, view))
        return view

    async def submit(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        principal: Principal,
        priority: int | None = None,
        id: str = "",
    ) -> JobView:
        if kind not in ("ask", "ingest"):
            raise InputError(f"There are no jobs of the kind {kind!r} here.")
        now = time.time()
        view = JobView(
            id or f"j{len(self.known)}",
            kind,
            "queued",
            {"share": None},
            None,
            None,
            "",
            0,
            now,
            now,
        )
        self.known[view.id] = principal, replace(view, user=principal.user)
        return view

    async def get(self, principal: Principal, id: str, *, admin: bool = False) -> JobView | None:
        owner, view = self.known.get(id, (None, None))
        if owner == principal:
            return view
        if view and owner and admin and owner.tenant == principal.tenant:
            return replace(view, result=None)
        return None

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
        found = [
            replace(view, result=None)
            for owner, view in self.known.values()
            if owner.tenant == tenant
            and (principal is None or admin or owner == principal)
            and kind in (None, view.kind)
            and state in (None, view.state)
        ]
        return found[:limit]

    async def cancel(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._move(principal, id, admin, ("queued", "running", "paused"), "cancelled")

    async def pause(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._move(principal, id, admin, ("queued", "running"), "paused")

    async def resume(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._move(principal, id, admin, ("paused",), "queued")

    async def retry(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._move(principal, id, admin, ("failed", "cancelled"), "queued")

    async def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        while True:
            view = await self.get(principal, id, admin=admin)
            if view is None:
                raise UnknownJob(id)
            yield view
            if view.ended:
                return
            await asyncio.sleep(0.05)

    async def kinds(self) -> Sequence[KindView]:
        return [KindView(k, k in self.paused, 4, 0, {"done": 1}) for k in ("ask", "ingest")]

    async def pause_kind(self, kind: str) -> None:
        self._check(kind)
        self.paused.add(kind)

    async def resume_kind(self, kind: str) -> None:
        self._check(kind)
        self.paused.discard(kind)

    async def clean(self, tenant: str, state: EndedState | None = None, age: float = 0.0) -> int:
        gone = [
            id
            for id, (owner, view) in self.known.items()
            if owner.tenant == tenant and view.state in ENDED and state in (None, view.state)
        ]
        for id in gone:
            del self.known[id]
        return len(gone)

    def _check(self, kind: str) -> None:
        if kind not in ("ask", "ingest"):
            raise InputError(f"There are no jobs of the kind {kind!r} here.")

    async def _move(
        self, principal: Principal, id: str, admin: bool, states: tuple[str, ...], state: JobState
    ) -> JobView:
        view = await self.get(principal, id, admin=admin)
        if view is None:
            raise UnknownJob(id)
        if view.state not in states:
            raise JobEnded(f"The job is {view.state}.")
        owner, known = self.known[id]
        self.known[id] = owner, replace(known, state=state)
        return replace(view, state=state)


TOLD = tuple(
    JobView(
        "told",
        "ask",
        state,
        {"share": share},
        1.5 if share < 1 else None,
        {"question": "Größe?", "answer": "北京 42.", "sources": []} if share == 1 else None,
        "",
        1,
        1.0,
        2.0,
        collection="default",
        user="local",
    )
    for state, share in (("queued", 0.0), ("running", 0.5), ("done", 1.0))
)


@dataclass
class ToldJobs(FakeJobs):
    """Knows a job 'told' with a history, and one 'running' without end; who watches no more is
    noted."""

    closed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        running = replace(TOLD[1], id="running")
        self.known |= {item.id: (Principal(), item) for item in (TOLD[-1], running)}

    async def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        try:
            if id == "told":
                for view in TOLD:
                    yield view
                return
            async for view in FakeJobs.watch(self, principal, id, admin=admin):
                yield view
        finally:
            self.closed.append(id)
