"""The jobs of a Ragstone in another process."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from ragstone.core.errors import UnknownJob
from ragstone.core.turn import Ask, Principal
from ragstone.service import wire
from ragstone.service.jobs import JobState, JobView, KindView

PATH = "/local/jobs"


class Post(Protocol):
    """Sends JSON and returns the JSON that comes back."""

    async def __call__(self, path: str, body: Any) -> Any: ...


Events = Callable[[str, Any], AsyncGenerator[Any, None]]


class RemoteJobs:
    """`service.jobs.JobsService` over HTTP; raises the errors that the server's service raised."""

    def __init__(self, post: Post, events: Events) -> None:
        self._post = post
        self._events = events

    async def ask(self, ask: Ask) -> JobView:
        return wire.load(JobView, await self._post(f"{PATH}/ask", wire.dump(ask)))

    async def submit(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        principal: Principal,
        priority: int | None = None,
        id: str = "",
    ) -> JobView:
        body = {"kind": kind, "request": dict(request), "priority": priority, "id": id}
        body["principal"] = wire.dump(principal)
        return wire.load(JobView, await self._post(f"{PATH}/submit", body))

    async def get(self, principal: Principal, id: str, *, admin: bool = False) -> JobView | None:
        try:
            return await self._one("get", principal, id, admin)
        except UnknownJob:
            return None

    async def list(
        self,
        tenant: str,
        kind: str | None = None,
        state: JobState | None = None,
        limit: int = 100,
        *,
        principal: Principal | None = None,
    ) -> Sequence[JobView]:
        body = {"tenant": tenant, "kind": kind, "state": state, "limit": limit}
        whose = wire.dump(principal) if principal else None
        found = await self._post(f"{PATH}/list", {**body, "principal": whose})
        return [wire.load(JobView, one) for one in found["jobs"]]

    async def cancel(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._one("cancel", principal, id, admin)

    async def pause(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._one("pause", principal, id, admin)

    async def resume(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._one("resume", principal, id, admin)

    async def retry(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        return await self._one("retry", principal, id, admin)

    async def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        body = _this(principal, id, admin)
        async with aclosing(self._events(f"{PATH}/watch", body)) as items:
            async for item in items:
                yield wire.load(JobView, item)

    async def kinds(self) -> Sequence[KindView]:
        found = await self._post(f"{PATH}/kinds", {})
        return [wire.load(KindView, one) for one in found["kinds"]]

    async def pause_kind(self, kind: str) -> None:
        await self._post(f"{PATH}/kinds/pause", {"kind": kind})

    async def resume_kind(self, kind: str) -> None:
        await self._post(f"{PATH}/kinds/resume", {"kind": kind})

    async def clean(self, tenant: str, state: JobState | None = None, age: float = 0.0) -> int:
        body = {"tenant": tenant, "state": state, "age": age}
        return int((await self._post(f"{PATH}/clean", body))["forgotten"])

    async def _one(self, action: str, principal: Principal, id: str, admin: bool) -> JobView:
        body = _this(principal, id, admin)
        return wire.load(JobView, await self._post(f"{PATH}/{action}", body))


def _this(principal: Principal, id: str, admin: bool) -> dict[str, Any]:
    return {"principal": wire.dump(principal), "id": id, "admin": admin}
