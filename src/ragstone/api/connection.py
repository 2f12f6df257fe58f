"""The way to a Ragstone: through a server, or in this process. Opened when it is first needed."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit

from ragstone.core.errors import ClientClosed, ConfigError, Unreachable
from ragstone.core.turn import Principal
from ragstone.service.wire import INSTANCE_HEADER

if TYPE_CHECKING:
    from ragstone.remote import Remote
    from ragstone.service import Service
    from ragstone.settings import Settings

REACH_SECONDS = 10.0

Location = str | os.PathLike[str]


class Connection:
    """Opens the service at a location once, and closes it once.

    Raises ConfigError for what does not go together, and for settings that are wrong.
    """

    def __init__(
        self,
        location: Location | None,
        key: str | None,
        settings: Mapping[str, Any] | None,
        config: Location | None,
    ) -> None:
        place = os.fspath(location) if location is not None else None
        self._url = place if place and place.lower().startswith(("http://", "https://")) else ""
        self._key = key or ""
        self._own = bool(settings or config)
        self._settings: Settings | None = None
        if self._url and self._own:
            raise ConfigError(
                f"The server at {self._url} has settings of its own. Leave out settings and config."
            )
        if not self._url:
            if self._key:
                raise ConfigError("A key is for a server: give its address, http://... .")
            self._settings = _load(place, settings or {}, config)
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._service: Service | None = None
        self._closed = False

    async def service(self) -> "Service":
        """The service, opened now unless it is open.

        Raises ClientClosed, Unreachable, DataDirectoryInUse, ConfigError, StateUnavailable.
        """
        async with self._opening:
            if self._closed:
                raise ClientClosed
            if self._service is None:
                self._service = await self._open_service()
            return self._service

    @property
    def elsewhere(self) -> bool:
        """Whether the files of this machine are not those of the service's."""
        return bool(self._url)

    async def keep(self, content: BinaryIO, name: str) -> str:
        """Keep a file for an ingest; what `Handed.file` calls it. Raises StorageFull, and
        DocumentErrors for files that a server does not take."""
        service = await self.service()
        if self._settings is None:
            return await cast("Remote", service).upload(content, name)
        from ragstone.ingest.uploads import Spool

        return await asyncio.to_thread(Spool(self._settings.ragstone_data).add, content, name)

    async def aclose(self) -> None:
        """Close the service; nothing can be asked of it afterwards."""
        async with self._opening:
            self._closed = True
            self._service = None
            await self._stack.aclose()

    async def _open_service(self) -> "Service":
        from ragstone import remote  # Only a first call waits for the adapters.

        if self._settings is None:
            await _check_server(self._url)
            key = self._key or await asyncio.to_thread(_local_token, self._url)
            service = remote.connect_service(self._url, key)
            self._stack.push_async_callback(service.aclose)
            return service
        service = await self._stack.enter_async_context(remote.connect(self._settings))
        if self._own and isinstance(service, remote.Remote):
            await self._stack.aclose()
            raise ConfigError(
                f"A server has the data directory {self._settings.ragstone_data}, with settings "
                "of its own. Leave out settings and config, or stop the server."
            )
        return service


@dataclass(frozen=True, slots=True)
class Session:
    """A connection and its user."""

    connection: Connection
    principal: Principal = Principal()

    async def service(self) -> "Service":
        """See `Connection.service`."""
        return await self.connection.service()


def _load(data: str | None, given: Mapping[str, Any], config: Location | None) -> "Settings":
    """The settings of the file, the environment and the arguments; raises ConfigError,
    UnknownSetting."""
    from ragstone.settings import load
    from ragstone.settings.origin import PROGRAM

    if data is not None:
        given = {**given, "ragstone_data": Path(data)}
    return load(Path(config) if config is not None else None, PROGRAM, **given)


async def _check_server(url: str) -> None:
    """Raise Unreachable unless a Ragstone answers there."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=REACH_SECONDS, trust_env=False) as http:
            response = await http.get(f"{url.rstrip('/')}/health")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unreachable(
            f"No server answers at {url}. Check the address, or start one with 'ragstone serve'."
        ) from error
    if INSTANCE_HEADER not in response.headers:
        raise Unreachable(f"What answers at {url} is not a Ragstone server. Check the address.")


def _local_token(url: str) -> str:
    """The local user's token for the server of this machine's usual data directory, if it is at
    this address: another one, even if it says that it is the same, gets none."""
    from ragstone.service.server_file import find_server, read_token

    asked = urlsplit(url)
    if asked.hostname not in ("127.0.0.1", "::1", "localhost"):
        return ""
    try:
        data = _load(None, {}, None).ragstone_data.expanduser().absolute()
        server = find_server(data)
        return read_token(data) if server and urlsplit(server[0]).port == asked.port else ""
    except OSError:
        return ""  # It is another user's.
