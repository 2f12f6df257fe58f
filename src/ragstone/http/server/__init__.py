"""`ragstone serve`: the HTTP server, in this process or in several.

The web app in the browser of who started `ragstone serve`, signed in.
"""

import asyncio
import html
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from ragstone.access.gate import KnownTokens
from ragstone.core.errors import ConfigError, DataDirectoryInUse
from ragstone.http.server import workers
from ragstone.http.server.answering import BACKLOG, answer
from ragstone.http.server.loop import run
from ragstone.ingest.free_memory import limit_arenas
from ragstone.service.server_file import find_server, local_token, login_address, publish, withdraw
from ragstone.settings import Settings

PAGE = "open.html"


def is_at_desktop() -> bool:
    """Whether somebody started this in a terminal of a desktop, whose browser can be opened."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    has_windows = sys.platform in ("darwin", "win32")
    return has_windows or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def open_page(data: Path, url: str, token: str) -> Path:
    """Open the web app by a page of the data directory that leads there, and return that page.

    The token is in a file that only its user can read: a command line, on which a browser gets an
    address, can be read by everyone on the machine. Behind `#` it is never sent to a server.
    """
    page = data / PAGE
    page.unlink(missing_ok=True)
    target = html.escape(f"{url}/#key={quote(token, safe='')}")
    handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Ragstone</title>'
            f'<meta http-equiv="refresh" content="0;url={target}">'
            f'<a href="{target}">Ragstone</a>\n'
        )
    import webbrowser  # Only here: every start would load it.

    webbrowser.open(page.as_uri())
    return page


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
