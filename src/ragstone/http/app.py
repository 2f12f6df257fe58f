"""The HTTP application: every dialect on one service, behind the guards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware

from ragstone import __version__
from ragstone.access import setup
from ragstone.access.gate import Gate
from ragstone.access.interceptor import Interceptor
from ragstone.access.rates import Rates
from ragstone.http import docs, local, ops, sign_in, web, widget
from ragstone.http.admin import collections, conversations, jobs, keys, operations, topics
from ragstone.http.admin import settings as runtime
from ragstone.http.admission import ALWAYS_OPEN, Authenticate, RateLimit, TimeLimit
from ragstone.http.below import BelowPath, root_path
from ragstone.http.dialects import MIDDLEWARE, DialectParts, dialects
from ragstone.http.identity import refuse_guests
from ragstone.http.middleware import (
    REQUEST_ID,
    BodyLimit,
    Correlate,
    Head,
    Observe,
    OnlyFromHere,
    SecurityHeaders,
    Unforeseen,
)
from ragstone.http.openapi import describe
from ragstone.http.responses import handle_errors
from ragstone.http.uploads import Uploads
from ragstone.service import Service, contract
from ragstone.settings import Settings
from ragstone.telemetry.metrics import Metrics

MEGABYTE = 1_000_000
READABLE = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after", REQUEST_ID)
"""Headers of an answer that web pages elsewhere may read, besides what browsers always let them."""


def create_app(
    service: Service,
    settings: Settings,
    token: str,
    interceptor: Interceptor | None = None,
    local_token: str | None = None,
) -> FastAPI:
    """Return the application. It owns neither `service` nor the interceptor that stands round it,
    whose figures are at /metrics and whose rates count requests too: who made them closes them.

    `token` is the operator's, and opens the routes below /local. `local_token` is asked for as long
    as no credentials are set; None lets everyone be the local user then. Raises ConfigError for
    settings that need what is not installed.
    """
    gate = setup.make_gate(settings.auth, service.keys, token, local_token, service.people)
    provider = setup.make_sign_in_client(settings.auth, gate)
    interceptor = interceptor or Interceptor()
    metrics, rates = interceptor.metrics, interceptor.rates

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await gate.aclose()
        if provider:
            await provider.aclose()

    app = FastAPI(
        title="Ragstone",
        version=__version__,
        description="Answers from your own documents, with the source of every sentence.",
        dependencies=[Depends(refuse_guests)],
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    pages = web.addresses()
    uploads = Uploads(settings.ragstone_data)
    parts = DialectParts(service, settings)
    own = contract.core_operations()
    added = [item for item in contract.operations().values() if item.name not in own]
    for routes in (
        *dialects(parts, ours=True),
        operations.router(service, own.values()),
        collections.router(service),
        conversations.router(service),
        local.router(service, uploads),
        topics.router(service),
        runtime.router(service),
        keys.router(service),
        jobs.router(service),
        ops.router(service, metrics, token, settings, gate),
        docs.router(app, settings.server),
        sign_in.login_router(gate),
        sign_in.router(provider, service.people, rates, settings),
        sign_in.password_router(service.people, gate, rates, settings),
        web.router(pages),
        widget.router(service, rates, settings.limits.requests_per_minute),
        # The last ones, so that no package takes an address of ours.
        operations.router(service, added),
        *dialects(parts, ours=False),
    ):
        app.include_router(routes)
    handle_errors(app)
    describe(app)
    _guard(app, settings, gate, rates, metrics, pages)
    for added_guard in MIDDLEWARE.make_usable(MIDDLEWARE, "It is left out.", parts).values():
        if added_guard is not None:
            app.add_middleware(added_guard)
    # The one added last runs first.
    app.add_middleware(Correlate, telemetry=interceptor.telemetry)
    app.add_middleware(
        BelowPath, root=root_path(settings.server), proxy=setup.make_proxy(settings.auth)
    )
    return app


def _guard(
    app: FastAPI,
    settings: Settings,
    gate: Gate,
    rates: Rates,
    metrics: Metrics,
    pages: frozenset[str],
) -> None:
    """Put the guards before the routes. The one added last runs first."""
    server = settings.server
    app.add_middleware(Head)
    app.add_middleware(
        BodyLimit, limit=server.max_request_mb * MEGABYTE, upload=server.max_upload_mb * MEGABYTE
    )
    app.add_middleware(TimeLimit, seconds=server.request_seconds, stream=server.stream_seconds)
    app.add_middleware(RateLimit, rates=rates, limit=settings.limits.requests_per_minute)
    opened = ALWAYS_OPEN | pages | {"/docs", "/openapi.json"}
    app.add_middleware(Authenticate, gate=gate, open_to_all=opened)
    if server.cors_origins:
        # Twice: a web page elsewhere may read a 500 only if it passes the permission for that.
        app.add_middleware(Unforeseen)
        app.add_middleware(
            CORSMiddleware,
            allow_origins=server.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            # Clients in browsers send headers of their own, such as OpenAI's x-stainless-lang.
            allow_headers=["*"],
            expose_headers=READABLE,
        )
    hosts = (*server.allowed_hosts, server.host) if server.allowed_hosts else ()
    app.add_middleware(OnlyFromHere, gate=gate, hosts=hosts, origins=server.cors_origins)
    policies = {"/docs": docs.POLICY, "/": web.POLICY}
    app.add_middleware(SecurityHeaders, policies=policies, shared=widget.SHARED)
    app.add_middleware(Unforeseen)
    app.add_middleware(local.Versioned)
    app.add_middleware(Observe, metrics=metrics)
