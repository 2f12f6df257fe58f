"""The files of a server as a source, whatever protocol it speaks."""

import asyncio
import errno
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

import httpx2

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.ingest.places import is_hidden

CHUNK = 2**18
"""Bytes of a file that are read at a time."""

SECONDS = 60.0
"""How long a connection may be silent."""

MAX_SECONDS = 600.0
"""How long the next part of a file or listing may take."""

MAX_DEPTH = 100
"""Folders in each other. Where there are more, a link leads back."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file or folder, by its path below the source's folder."""

    path: str
    is_folder: bool = False
    version: str = ""
    modified: float = 0.0
    readers: tuple[str, ...] = ()
    closed: bool = False
    """Nobody may read it."""


class ServerTrouble(Exception):
    """Why a server does not do what it is asked for: the end of a sentence. Where it `is_local`,
    only this file or folder is concerned, and where it `is_refused`, that is not let be seen."""

    def __init__(
        self,
        reason: str,
        *,
        is_local: bool = False,
        is_refused: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.is_local = is_local
        self.is_refused = is_refused
        self.retry_after = retry_after


class RemoteFiles(ABC):
    """`ports.sources.ItemSource` of the files below a folder of a server, which `place` names.

    A protocol says how a folder is listed and a file read, and explains the errors of its library.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._open = AsyncExitStack()

    @abstractmethod
    def _list_folder(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        """Return what is in a folder, and below it where that is as cheap."""

    @abstractmethod
    def _read_file(self, path: str) -> AsyncGenerator[bytes, None]: ...

    @abstractmethod
    def _explain(self, error: Exception) -> ServerTrouble | None:
        """Return what an error means, None for one that is a mistake of ours."""

    def _link(self, path: str) -> str:
        """Return where people read a file, empty if nowhere."""
        return ""

    async def check(self) -> None:
        async with aclosing(self._list("")) as listed:
            await anext(listed, None)

    async def list_items(self, checkpoint: str) -> AsyncGenerator[SourceItem, None]:
        folders = [""]
        while folders:
            async with aclosing(self._list(folders.pop())) as listed:
                async for file in listed:
                    if is_hidden(file.path):
                        continue
                    if file.is_folder:
                        folders.append(file.path)
                        continue
                    yield SourceItem(
                        file.path,
                        file.version,
                        file.path,
                        file.readers,
                        url=self._link(file.path),
                        modified=file.modified,
                        closed=file.closed,
                    )

    async def list_keys(self) -> AsyncGenerator[str, None]:
        async with aclosing(self.list_items("")) as items:
            async for item in items:
                yield item.key

    def get_checkpoint(self) -> str:
        return ""

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        try:
            async with aclosing(self._guard(self._read_file(item.key))) as parts:
                async for part in parts:
                    target.write(part)
        except ServerTrouble as trouble:
            if trouble.is_local:
                raise DocumentError(f"It cannot be fetched: {trouble}.") from trouble
            raise self._unavailable("", trouble) from trouble

    async def aclose(self) -> None:
        await self._open.aclose()

    async def _list(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        """Yield the same of any protocol. Raises SourceUnavailable."""
        try:
            if folder.count("/") > MAX_DEPTH:
                raise ServerTrouble("its folders have no end, as where a link leads back")
            async with aclosing(self._guard(self._list_folder(folder))) as listed:
                async for file in listed:
                    yield file
        except ServerTrouble as trouble:
            raise self._unavailable(folder, trouble) from trouble

    async def _guard(self, parts: AsyncGenerator[Part, None]) -> AsyncGenerator[Part, None]:
        """Yield the parts, in time. Raises ServerTrouble."""
        async with aclosing(parts):
            while True:
                try:
                    async with asyncio.timeout(MAX_SECONDS):
                        part = await anext(parts)
                except StopAsyncIteration:
                    return
                except ServerTrouble:
                    raise
                except Exception as error:
                    if trouble := self._explain(error):
                        raise trouble from error
                    raise
                yield part

    def _unavailable(self, folder: str, trouble: ServerTrouble) -> SourceUnavailable:
        # A name may be no valid Unicode, and what is told must be.
        place = f"{self._place}{folder}".encode("utf-8", "replace").decode()
        return SourceUnavailable(f"{place} cannot be read: {trouble}.", trouble.retry_after)


def check_address(address: str) -> str:
    """Return the address of a server; raises ValueError for what is none."""
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ValueError("this is no address such as https://files.example.org/documents")
    return address


_STATUSES = {
    401: "it refuses the user or the password",
    403: "it does not let this user read that",
    404: "it is not there",
    429: "it takes no more requests for now",
    503: "it takes no requests for now",
}

_OF_SERVER = (401, 407, 429, 502, 503, 504)


def explain_status(status: int, headers: Mapping[str, str]) -> ServerTrouble:
    """Return what an HTTP status means that is an error. Names of headers are in small letters."""
    reason = f"{_STATUSES.get(status, 'it answers that it cannot')} ({status})"
    if 300 <= status < 400:
        reason = f"it has moved to {headers.get('location', '')[:300]!r}: give its new address"
    wait = headers.get("retry-after", "")
    retry_after = float(wait) if wait.isdecimal() else None
    return ServerTrouble(
        reason,
        is_local=status not in _OF_SERVER,
        is_refused=status in (403, 404, 410),
        retry_after=retry_after,
    )


def explain_connection(error: BaseException) -> ServerTrouble:
    """Tell why a connection failed: the first that says so of what a library's error comes from."""
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case socket.gaierror() | UnicodeError():
                return ServerTrouble("no machine of this name is known")
            case ssl.SSLCertVerificationError():
                return ServerTrouble(f"its certificate is not valid ({cause.verify_message})")
            case TimeoutError():
                return ServerTrouble("it took too long to answer")
            case OSError(errno=errno.ECONNREFUSED | errno.EHOSTUNREACH | errno.ENETUNREACH):
                return ServerTrouble("nothing answers there")
        cause = cause.__cause__ or cause.__context__
    return ServerTrouble("the connection broke")
