"""Figures and traces through the server that holds the data."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from ragstone.core.records import By, QuestionTrace, StageUse, Use
from ragstone.service import wire

Get = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class RemoteStatistics:
    """`service.Statistics` over HTTP."""

    def __init__(self, get: Get) -> None:
        self._get = get

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        query = {"tenant": tenant, "days": days, "by": by, **_of(user)}
        return [wire.load(Use, one) for one in (await self._get("/api/v1/stats", query))["use"]]

    async def traces(
        self, tenant: str, limit: int, before: float | None = None, user: str | None = None
    ) -> list[QuestionTrace]:
        since = {} if before is None else {"before": before}
        query = {"tenant": tenant, "limit": limit, **since, **_of(user)}
        found = await self._get("/api/v1/traces", query)
        return [wire.load(QuestionTrace, one) for one in found["traces"]]

    async def trace(self, tenant: str, id: str, user: str | None = None) -> QuestionTrace:
        query = {"tenant": tenant, **_of(user)}
        return wire.load(QuestionTrace, await self._get(f"/api/v1/traces/{quote(id, '')}", query))

    async def stages(self, tenant: str, days: int) -> list[StageUse]:
        found = await self._get("/api/v1/stats/stages", {"tenant": tenant, "days": days})
        return [wire.load(StageUse, one) for one in found["stages"]]


def _of(user: str | None) -> dict[str, str]:
    return {} if user is None else {"user": user}
