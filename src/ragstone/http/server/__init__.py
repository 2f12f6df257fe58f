"""`ragstone serve`: the HTTP server, in this process or in several."""

import asyncio
import secrets
import socket
from collections.abc import Callable

import uvloop

from ragstone.core.errors import ConfigError, DataDirectoryInUse
from ragstone.http.server import workers
from ragstone.http.server.answering import BACKLOG, answer
from ragstone.service.server_file import find_server, publish, withdraw
from ragstone.settings import Settings

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses that stand for all of this machine's, and how a program on it reaches them."""


def serve(settings: Settings, say: Callable[[str], None] = print) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises ConfigError for an address that is not free, for one that others can reach without
    credentials, and for processes that cannot share what they need; DataDirectoryInUse.
    """
    workers.check(settings)
    uvloop.run(_serve(settings, say))


async def _serve(settings: Settings, say: Callable[[str], None]) -> None:
    data = settings.ragstone_data.expanduser().absolute()
    running = await asyncio.to_thread(find_server, data)
    if running:
        raise DataDirectoryInUse(
            f"A server at {running[0]} already has the data directory {data}. "
            "Use that one, stop it, or choose another directory with --data."
        )
    token = secrets.token_urlsafe(32)
    with _listen(settings.server.host, settings.server.port) as listener:
        url = _url(listener)

        def ready() -> None:
            publish(data, url, token)
            say(f"Ragstone is ready at {url} (API below /v1, described at {url}/docs).")

        try:
            if settings.server.workers > 1:
                await workers.Workers(settings, listener, token, ready).run()
            else:
                await answer(settings, listener, token, ready)
        finally:
            withdraw(data, token)


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
