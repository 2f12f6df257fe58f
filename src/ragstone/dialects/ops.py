"""What an operator asks: is it alive, is it ready, what has it done."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from ragstone.dialects.http import Json
from ragstone.metrics import Metrics
from ragstone.service import Service
from ragstone.wire import INSTANCE_HEADER, instance

READY_SECONDS = 10.0


def router(service: Service, metrics: Metrics, token: str) -> APIRouter:
    """The routes at the root."""
    routes = APIRouter(tags=["Operation"])
    headers = {INSTANCE_HEADER: instance(token)}

    @routes.get("/health", response_model=None)
    async def health() -> Response:
        """Whether the process answers at all."""
        return Json({"status": "ok"}, headers=headers)

    @routes.get("/ready", response_model=None)
    async def ready() -> Response:
        """Whether index, state and models answer; 503 names what does not."""
        found, fine = await checks(service)
        status = "ready" if fine else "unavailable"
        return Json({"status": status, "checks": found}, 200 if fine else 503)

    @routes.get("/metrics", response_model=None)
    async def figures() -> Response:
        """Counters and times in Prometheus' text format."""
        metrics.cache(await service.cache_figures())
        return Response(metrics.render(), headers={"content-type": metrics.content_type})

    return routes


async def checks(service: Service) -> tuple[dict[str, str], bool]:
    """What index, state and models say, and whether all of them answer."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            found = await service.ready()
    except TimeoutError:
        found = {"service": f"no answer within {READY_SECONDS:g} s"}
    return found, all(said == "ok" or said.startswith("ok: ") for said in found.values())
