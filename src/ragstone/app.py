"""The HTTP application: every dialect on one service, behind the guards."""

from fastapi import FastAPI

from ragstone import __version__
from ragstone.dialects import (
    conversations,
    docs,
    jobs,
    local,
    local_jobs,
    maintenance,
    openai,
    ops,
    prompts,
    retrieval,
    statistics,
    topics,
)
from ragstone.dialects import settings as runtime
from ragstone.dialects.correlate import Correlate
from ragstone.dialects.guards import BodyLimit, Observe, OnlyFromHere
from ragstone.dialects.http import handle_errors
from ragstone.dialects.openapi import describe
from ragstone.metrics import Metrics
from ragstone.service import Service
from ragstone.settings import Settings
from ragstone.telemetry import Telemetry

MEGABYTE = 1_000_000


def create_app(
    service: Service, settings: Settings, token: str, telemetry: Telemetry | None = None
) -> FastAPI:
    """The application. It does not own `service`: who opened it closes it.

    `token` opens the routes below /local.
    """
    app = FastAPI(
        title="Ragstone",
        version=__version__,
        description="Answers from your own documents, with the source of every sentence.",
        docs_url=None,
        redoc_url=None,
    )
    telemetry = telemetry or Telemetry()
    metrics = Metrics(telemetry)
    for routes in (
        openai.router(service, metrics),
        retrieval.router(service),
        conversations.router(service),
        local.router(service, metrics, token),
        topics.router(service, token),
        maintenance.router(service, token),
        statistics.router(service, token),
        runtime.router(service),
        prompts.router(service),
        local_jobs.router(service, token),
        jobs.router(service, token),
        ops.router(service, metrics, token),
        docs.router(app),
    ):
        app.include_router(routes)
    handle_errors(app)
    describe(app)
    # The one added last runs first.
    app.add_middleware(BodyLimit, limit=settings.server.max_request_mb * MEGABYTE)
    app.add_middleware(OnlyFromHere)
    app.add_middleware(Observe, metrics=metrics)
    app.add_middleware(Correlate, telemetry=telemetry, logs=settings.log.requests)
    return app
