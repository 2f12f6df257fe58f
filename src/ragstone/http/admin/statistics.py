"""Statistics for operators: questions, their cost, and traces of single questions."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from ragstone.core.records import By
from ragstone.http.identity import Tenant
from ragstone.http.middleware import require_token
from ragstone.http.responses import Json
from ragstone.service import Service, wire

User = Annotated[str | None, Query(max_length=255, description="Only this user's.")]
Days = Annotated[int, Query(ge=1, le=3650, description="Today (UTC) and the days before.")]


def router(service: Service, token: str) -> APIRouter:
    """The routes below /api/v1/stats and /api/v1/traces."""
    routes = APIRouter(
        prefix="/api/v1", tags=["Statistics"], dependencies=[Depends(require_token(token))]
    )

    @routes.get("/stats", response_model=None)
    async def stats(tenant: Tenant, days: Days = 30, by: By = "day", user: User = None) -> Response:
        """Questions, tokens and cost by day, user, room or model."""
        found = await service.statistics.use(tenant, days, by, user)
        return Json({"use": [wire.dump(item) for item in found]})

    @routes.get("/stats/stages", response_model=None)
    async def stages(tenant: Tenant, days: Days = 1) -> Response:
        """How long each stage took, over the questions that are kept."""
        found = await service.statistics.stages(tenant, days)
        return Json({"stages": [wire.dump(item) for item in found]})

    @routes.get("/traces", response_model=None)
    async def traces(
        tenant: Tenant,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many.")] = 50,
        before: Annotated[float | None, Query(description="Older than this time.")] = None,
        user: User = None,
    ) -> Response:
        """The newest questions: what each stage did, and what they cost."""
        found = await service.statistics.traces(tenant, limit, before, user)
        return Json({"traces": [wire.dump(item) for item in found]})

    @routes.get("/traces/{id}", response_model=None)
    async def trace(
        id: Annotated[str, Path(max_length=255)], tenant: Tenant, user: User = None
    ) -> Response:
        """What happened to one question."""
        return Json(wire.dump(await service.statistics.trace(tenant, id, user)))

    return routes
