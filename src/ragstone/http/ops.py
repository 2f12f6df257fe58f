"""Routes for operators: liveness, readiness, metrics."""

import asyncio
import hmac
import logging
import re

from fastapi import APIRouter, Request
from starlette.responses import Response

from ragstone.access.gate import Gate
from ragstone.core.caller import Caller
from ragstone.core.errors import RagstoneError, Unauthorized
from ragstone.http.identity import Who
from ragstone.http.middleware import is_loopback
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json
from ragstone.service import Service
from ragstone.service.wire import INSTANCE_HEADER, instance
from ragstone.settings import ServerSettings, Settings
from ragstone.telemetry.metrics import Metrics

READY_SECONDS = 10.0
FIGURES_SECONDS = 5.0
"""How long the stores may take to say what they hold: Prometheus waits ten seconds for it all."""

log = logging.getLogger(__name__)


FORWARDED = re.compile(r"forwarded|via|x-real-ip|x-forwarded-.*")
"""Headers of requests that something passed on, so that where they come from is not known."""


def router(
    service: Service, metrics: Metrics, token: str, settings: Settings, gate: Gate
) -> APIRouter:
    """The routes at the root."""
    routes = APIRouter(tags=["Operation"])
    headers = {INSTANCE_HEADER: instance(token)}

    @routes.get("/health", response_model=None)
    async def health() -> Response:
        """Whether the process answers at all."""
        return Json({"status": "ok", "service": settings.service.name}, headers=headers)

    @routes.get("/ready", response_model=None)
    async def ready() -> Response:
        """Whether index, state and models answer and the disk has room; 503 names what does not."""
        found, fine = await checks(service)
        status = "ready" if fine else "unavailable"
        return Json({"status": status, "checks": found}, 200 if fine else 503)

    @routes.get("/metrics", response_model=None, responses=document_responses("text/plain"))
    async def figures(request: Request, caller: Who) -> Response:
        """Counters and times in Prometheus' text format."""
        if not _is_alone(request, settings.server) or not await gate.admits_guests():
            _check_figures_token(request, caller, settings.server)
        await _look(service, metrics)
        shown = await asyncio.to_thread(metrics.render)
        return Response(shown, headers={"content-type": metrics.content_type})

    return routes


async def _look(service: Service, metrics: Metrics) -> None:
    """Have the figures of what is counted elsewhere; without a state store the others are shown,
    as they tell most when it fails."""
    try:
        async with asyncio.timeout(FIGURES_SECONDS):
            metrics.cache(await service.cache_figures())
            found, kinds = await service.store_figures(), await service.jobs.kinds()
    except (RagstoneError, TimeoutError) as error:
        log.warning("Figures of the stores are missing: %s", error or "no answer in time")
        metrics.stores_unknown()
    else:
        metrics.pools(found.pools)
        metrics.stores(found.totals, {kind.kind: kind.jobs for kind in kinds})


def _is_alone(request: Request, settings: ServerSettings) -> bool:
    """Tell whether nobody but this machine reaches the server, and it made this request itself. The
    figures name no tenant and no user; a token that is set is asked for here too."""
    peer = request.client.host if request.client else ""
    return (
        not settings.metrics_token.get_secret_value()
        and is_loopback(settings.host)
        and is_loopback(peer)
        and not any(map(FORWARDED.fullmatch, request.headers))
    )


def _check_figures_token(request: Request, caller: Caller, settings: ServerSettings) -> None:
    """Raise Unauthorized unless these figures, which are of all tenants, may be read."""
    if caller.operator or caller.local:
        return
    token = f"Bearer {settings.metrics_token.get_secret_value()}".encode()
    given = request.headers.get("authorization", "").encode()
    if settings.metrics_token.get_secret_value() and hmac.compare_digest(given, token):
        return
    raise Unauthorized(
        "The figures need the token of SERVER__METRICS_TOKEN. Send it as a bearer token."
    )


async def checks(service: Service) -> tuple[dict[str, str], bool]:
    """Return what index, state and models say, and whether all of them answer."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            found = await service.ready()
    except TimeoutError:
        found = {"service": f"no answer within {READY_SECONDS:g} s"}
    return found, all(said == "ok" or said.startswith("ok: ") for said in found.values())
