"""A command that holds the data directory for long answers the user's other commands meanwhile."""

import asyncio
import importlib
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from ragstone.service import Service
from ragstone.service.server_file import publish, withdraw
from ragstone.settings import AuthSettings, Settings

if TYPE_CHECKING:
    import uvicorn

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
BEGIN_SECONDS = 0.5
"""A command that ends sooner does not load a server; who asks by then waits at the socket."""

TELL_SECONDS = 1.0


@asynccontextmanager
async def answer_local_commands(
    service: Service, settings: Settings, say: Callable[[str], None]
) -> AsyncIterator[None]:
    """Let commands that can read the data directory ask `service` until the block ends, and nobody
    else. What they began by then is answered first, unless the block ends with an error."""
    data = settings.ragstone_data.expanduser().absolute()
    token = secrets.token_urlsafe(32)
    with socket.create_server((HOST, 0)) as listener:
        publish(data, f"http://{HOST}:{listener.getsockname()[1]}", token, lasting=False)
        server = _Beside(service, settings, listener, token)
        running = asyncio.create_task(server.run())
        try:
            yield
        except BaseException:
            server.stop(at_once=True)
            raise
        finally:
            withdraw(data, token)
            server.stop()
            done, _ = await asyncio.wait([running], timeout=TELL_SECONDS)
            if not done:
                say("Another command still works through this one, which ends with it.")
            await asyncio.gather(running, return_exceptions=True)


class _Beside:
    """The server, which begins a little later than the command."""

    def __init__(
        self, service: Service, settings: Settings, listener: socket.socket, token: str
    ) -> None:
        self._service = service
        # Only the token of the server file opens it, and keys: it is not a server for the network.
        closed = AuthSettings(required=True)
        self._settings = settings.model_copy(update={"auth": closed})
        self._listener = listener
        self._token = token
        self._ended = asyncio.Event()
        self._server: uvicorn.Server | None = None

    async def run(self) -> None:
        """Serve until `stop`. What breaks here leaves the command alone."""
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            try:
                await self._serve()
            except Exception:
                log.warning("Other commands cannot ask meanwhile", exc_info=True)

    async def _serve(self) -> None:
        # In a thread, so that the command goes on while a thousand modules load.
        module = await asyncio.to_thread(importlib.import_module, "ragstone.http.app")
        import uvicorn

        class Server(uvicorn.Server):
            """Leaves the signals to the command."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        app = module.create_app(self._service, self._settings, self._token)
        config = uvicorn.Config(
            app, ws="none", log_config=None, access_log=False, server_header=False
        )
        self._server = Server(config)
        if not self._ended.is_set():
            await self._server.serve([self._listener])

    def stop(self, at_once: bool = False) -> None:
        """Take no more requests, and end when those that came are answered, or `at_once`."""
        self._ended.set()
        if self._server is not None:
            self._server.should_exit = True
            if at_once:
                self._server.config.timeout_graceful_shutdown = 1
