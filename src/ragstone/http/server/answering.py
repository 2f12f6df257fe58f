"""One process that answers at a socket."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from ragstone import build
from ragstone.access import setup
from ragstone.access.gate import KnownTokens
from ragstone.core.errors import ConfigError, RagstoneError
from ragstone.http.app import create_app
from ragstone.http.middleware import is_loopback
from ragstone.http.server.connections import protocol, reserve_connections
from ragstone.http.server.loop import off_signals, on_signals
from ragstone.local import Ragstone
from ragstone.service import Service
from ragstone.service.keys import KeyGrant
from ragstone.settings import Settings
from ragstone.telemetry.metrics import Metrics

log = logging.getLogger(__name__)

BACKLOG = 2048
"""Connections that may wait to be accepted."""

CONNECTIONS = 16_384
"""Open connections of one process, or as many as the limit of open files allows; one more is
closed at once."""

GRACE_SECONDS = 25
"""How long running answers may go on after a signal to stop: Kubernetes kills after 30 seconds."""

HEAD_SECONDS = 20.0
"""Until a connection has sent a whole request head, else it ends."""

SEND_SECONDS = 60.0
"""How long a client may read nothing of what is sent to it; then its connection ends, and the
question with it."""

KEEP_ALIVE_SECONDS = 5
"""How long a connection may wait for its next request."""

OWN_SECONDS = 5.0


async def answer(
    settings: Settings,
    listener: socket.socket,
    tokens: KnownTokens,
    ready: Callable[[bool], None],
    say: Callable[[str], None] = print,
) -> None:
    """Serve at `listener` until SIGINT or SIGTERM; `ready` is called when it can be asked, with
    whether the local user's token counts.

    Where others can reach it and there is no credential, an admin's key is made, of which `say`
    tells once. Raises ConfigError where that cannot be, as several servers may start at once.
    """
    server = settings.server
    async with (
        setup.open_interceptor(settings) as interceptor,
        build.open(settings, interceptor=interceptor) as service,
    ):
        await _check_credentials(settings, service, say)
        by_token = tokens.local is not None and not await _has_credentials(settings, service)
        await service.start_jobs()
        config = uvicorn.Config(
            create_app(service, settings, tokens.operator, interceptor, tokens.local),
            http=protocol(HEAD_SECONDS, SEND_SECONDS, reserve_connections(CONNECTIONS)),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # Otherwise X-Forwarded-For, which anyone may send, stands for where they are.
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        listening = asyncio.Event()
        beside = [asyncio.create_task(_warm(service, listening))]
        if server.workers > 1:
            beside.append(asyncio.create_task(_show_own(service, interceptor.metrics)))

        def listens() -> None:
            ready(by_token)
            listening.set()

        try:
            await _Server(config, listens).serve([listener])
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


async def _warm(service: Ragstone, listening: asyncio.Event) -> None:
    """Load the models of the first question once the server accepts requests."""
    await listening.wait()
    try:
        await service.warm()
    except Exception:
        log.warning("Loading beforehand failed; the first question will load.", exc_info=True)


async def _show_own(service: Ragstone, metrics: Metrics) -> None:
    """Keep the figures of this process up to date, as another one may be asked for them."""
    while True:
        metrics.pools(service.pools())
        with suppress(RagstoneError):  # /metrics tells of a cache that does not answer.
            metrics.cache(await service.cache_figures())
        await asyncio.sleep(OWN_SECONDS)


async def _check_credentials(
    settings: Settings, service: Service, say: Callable[[str], None]
) -> None:
    auth, host = settings.auth, settings.server.host
    if is_loopback(host):
        return
    if auth.required is False:
        raise ConfigError(
            f"The server cannot listen on {host} with AUTH__REQUIRED=false: everyone could use it. "
            "Leave AUTH__REQUIRED out, or use SERVER__HOST=127.0.0.1."
        )
    if await _has_credentials(settings, service):
        return
    if settings.state.url:
        raise ConfigError(
            f"The server cannot listen on {host}: others could reach it without credentials. "
            "Set AUTH__ADMIN_KEY or AUTH__JWKS_URL, make a key with 'ragstone keys create NAME "
            "--role admin', or use SERVER__HOST=127.0.0.1."
        )
    made = await service.keys.create(KeyGrant("first start", auth.tenant, role="admin"))
    say(
        f"Others can reach {host}, so requests need a key. This is an admin's, which is not shown "
        f"again; 'ragstone keys' makes others:\n{made.secret}"
    )


async def _has_credentials(settings: Settings, service: Service) -> bool:
    return settings.auth.is_configured or await service.keys.exist()


class _Server(uvicorn.Server):
    """Says when it listens, and stops on signals without passing them on.

    Uvicorn itself raises the signal again at the end, which would end this process before the
    data directory is closed.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        on_signals(lambda number: self.handle_exit(number, None))
        try:
            yield
        finally:
            off_signals()
