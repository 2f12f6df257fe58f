"""`ragstone serve`: the HTTP server, in this process or in several."""

import asyncio
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ragstone.access.gate import KnownTokens
from ragstone.core.errors import ConfigError, DataDirectoryInUse
from ragstone.http.server import workers
from ragstone.http.server.answering import BACKLOG, answer
from ragstone.http.server.browser import PAGE, is_at_desktop, open_page
from ragstone.http.server.loop import run
from ragstone.ingest.free_memory import limit_arenas
from ragstone.service.local_token import local_token, login_address
from ragstone.service.server_file import find_server, publish, withdraw
from ragstone.settings import Settings

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses that stand for all of this machine's, and how a program on it reaches them."""


def serve(
    settings: Settings, say: Callable[[str], None] = print, opens: bool | None = False
) -> None:
    """Serve until SIGINT or SIGTERM; `opens` shows the web app in the user's browser, None does so
    in a terminal of a desktop.

    Raises ConfigError for an address that is not free, for one that others can reach without
    credentials in a shared state; DataDirectoryInUse.
    """
    settings = workers.limit(settings)
    limit_arenas()
    run(_serve(settings, say, opens))


async def _serve(settings: Settings, say: Callable[[str], None], opens: bool | None) -> None:
    data = settings.ragstone_data.expanduser().absolute()
    running = await asyncio.to_thread(find_server, data)
    if running:
        raise DataDirectoryInUse(
            f"A server at {running[0]} already has the data directory {data}. "
            "Use that one, stop it, or choose another directory with --data."
        )
    tokens = KnownTokens(secrets.token_urlsafe(32), await _local_token(settings, data))
    with _listen(settings.server.host, settings.server.port) as listener:
        url = _url(listener)

        def ready(by_token: bool) -> None:
            publish(data, url, tokens.operator)
            say(f"Ragstone is ready at {url} (API below /v1, described at {url}/docs).")
            if by_token:
                say(_how_to_enter(login_address(url, tokens.local or "")))
            if is_at_desktop() if opens is None else opens:
                # In a thread: a browser in a terminal holds whoever started it.
                threading.Thread(
                    target=open_page, args=(data, url, tokens.operator), daemon=True
                ).start()

        try:
            if settings.server.workers > 1:
                await workers.Workers(settings, listener, tokens, ready).run()
            else:
                await answer(settings, listener, tokens, ready, say)
        finally:
            withdraw(data, tokens.operator)
            (data / PAGE).unlink(missing_ok=True)


async def _local_token(settings: Settings, data: Path) -> str | None:
    return (
        await asyncio.to_thread(local_token, data) if settings.auth.guests != "everything" else None
    )


def _how_to_enter(address: str) -> str:
    """Return what people and programs need. Only a terminal shows the token: logs would keep it."""
    if not sys.stdout.isatty():
        address = "the address that 'ragstone token --login' prints"
    return (
        f"In a browser: {address}\n"
        'For programs: curl -H "Authorization: Bearer $(ragstone token)" ...'
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # Connections inherit it. asyncio leaves it out for sockets of this kind, and then every
        # second answer on a connection waits 40 ms for the client's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise ConfigError(
            f"The server cannot listen on port {port} of {host} ({error.strerror}). "
            "Stop what uses it, or choose another with --port or SERVER__PORT."
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
