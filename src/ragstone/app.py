"""The HTTP application: every dialect on one service, behind the guards."""

from fastapi import FastAPI

from ragstone import __version__
from ragstone.dialects import docs, jobs, local, local_jobs, openai, ops, retrieval, topics
from ragstone.dialects.guards import BodyLimit, Observe, OnlyFromHere
from ragstone.dialects.http import handle_errors
from ragstone.metrics import Metrics
from ragstone.service import Service
from ragstone.settings import Settings

MEGABYTE = 1_000_000


def create_app(service: Service, settings: Settings, token: str) -> FastAPI:
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
    metrics = Metrics()
    for routes in (
        openai.router(service, metrics),
        retrieval.router(service),
        local.router(service, metrics, token),
        topics.router(service, token),
        local_jobs.router(service, token),
        jobs.router(service, token),
        ops.router(service, metrics, token),
        docs.router(app),
    ):
        app.include_router(routes)
    handle_errors(app)
    # The one added last runs first.
    app.add_middleware(BodyLimit, limit=settings.server.max_request_mb * MEGABYTE)
    app.add_middleware(OnlyFromHere)
    app.add_middleware(Observe, metrics=metrics)
    return app
