"""The HTTP application: every dialect on one service, behind the guards."""

from collections.abc import Iterator

from fastapi import APIRouter, FastAPI

from ragstone import __version__
from ragstone.dialects import chats, docs, local, openai, ops, plone, rag_v1, retrieval, topics
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
        *_dialects(service, settings, metrics),
        local.router(service, metrics, token),
        topics.router(service, token),
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


def _dialects(service: Service, settings: Settings, metrics: Metrics) -> Iterator[APIRouter]:
    """The routes of the dialects that are switched on."""
    on = settings.dialects
    if on.openai:
        yield openai.router(service, metrics)
    if on.retrieval:
        yield retrieval.router(service)
    if on.rag_v1:
        yield rag_v1.router(service, metrics)
    if on.chats:
        yield chats.router(service, metrics, settings)
    if on.plone:
        yield plone.router(service, metrics, settings)
