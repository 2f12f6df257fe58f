"""`ragstone serve`: the HTTP server in this process, on this machine only."""

import asyncio
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from ragstone import build
from ragstone.app import create_app
from ragstone.dialects.guards import is_loopback
from ragstone.errors import ConfigError, DataDirectoryInUse
from ragstone.evaluation.job import evaluations
from ragstone.remote import SERVER_FILE, find_server
from ragstone.settings import Settings
from ragstone.telemetry import Telemetry, tracer

GRACE_SECONDS = 10
"""How long running answers may go on after the server was told to stop."""


def serve(settings: Settings, say: Callable[[str], None] = print) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises ConfigError for an address that is not this machine's or not free, and
    DataDirectoryInUse.
    """
    asyncio.run(_serve(settings, say))


async def _serve(settings: Settings, say: Callable[[str], None]) -> None:
    data = settings.ragstone_data.expanduser().absolute()
    running = await asyncio.to_thread(find_server, data)
    if running:
        raise DataDirectoryInUse(
            f"A server at {running[0]} already has the data directory {data}. "
            "Use that one, stop it, or choose another directory with --data."
        )
    with _listen(settings.server.host, settings.server.port) as listener:
        async with build.open(settings, evaluations(settings)) as service:
            await service.start_jobs()
            token = secrets.token_urlsafe(32)
            url = _url(listener)

            def ready() -> None:
                _publish(data, {"url": url, "pid": os.getpid(), "token": token})
                say(f"Ragstone is ready at {url} (API below /v1, described at {url}/docs).")

            spans, provider = await asyncio.to_thread(tracer, settings.telemetry)
            config = uvicorn.Config(
                create_app(service, settings, token, Telemetry(spans)),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
            try:
                await _Server(config, ready).serve([listener])
            finally:
                _withdraw(data, token)
                if provider is not None:
                    await asyncio.to_thread(provider.shutdown)


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
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


def _listen(host: str, port: int) -> socket.socket:
    if not is_loopback(host):
        raise ConfigError(
            f"The server cannot listen on {host}: others could reach it, and credentials, which "
            "that needs, are not supported yet. Use SERVER__HOST=127.0.0.1."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
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
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _publish(data: Path, server: dict[str, Any]) -> None:
    """Write the server file in one step, readable by its owner alone."""
    draft = data / f"{SERVER_FILE}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(server, file)
    draft.replace(data / SERVER_FILE)


def _withdraw(data: Path, token: str) -> None:
    """Remove the server file, unless another server has written its own."""
    try:
        if json.loads((data / SERVER_FILE).read_text()).get("token") == token:
            (data / SERVER_FILE).unlink()
    except (OSError, ValueError):
        return
