"""A folder over WebDAV (RFC 4918) as a source.

It takes two kinds of requests, which are our own: the library webdav4 refuses names with # or ?,
takes the % of a name for an escape, and keeps an answer and the tree of its XML in memory at once.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx2
from lxml import etree  # type: ignore[import-untyped]
from pydantic import Field, SecretStr, field_validator

from ragstone.plugins.sources.http_dates import parse_http_date
from ragstone.plugins.sources.remote_files import (
    CHUNK,
    SECONDS,
    ListedFile,
    RemoteFiles,
    ServerTrouble,
    check_address,
    explain_connection,
    explain_status,
)
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

_LIST: dict[str, Any] = {
    "headers": {"Depth": "1", "Content-Type": "application/xml; charset=utf-8"},
    "content": b'<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/><getetag/>'
    b"<getlastmodified/><getcontentlength/></prop></propfind>",
}


class WebdavOptions(SourceOptions):
    """Options of a WebDAV folder."""

    url: str = Field(description="The folder's address: https:// or http://.")
    user: str = Field("", description="The user's name; without one, the folder is open to all.")
    password: SecretStr = Field(SecretStr(""), description="The password.")

    _check_url = field_validator("url")(check_address)


class WebdavFolder(RemoteFiles):
    """The files of a WebDAV folder."""

    def __init__(self, parts: SourceParts[WebdavOptions]) -> None:
        options = parts.options
        self._url = f"{str(httpx2.URL(options.url)).rstrip('/')}/"
        super().__init__(self._url)
        password = options.password.get_secret_value()
        self._http = httpx2.AsyncClient(
            auth=(options.user, password) if options.user else None,
            # What is packed has any size once it is unpacked, and a redirect could lead anywhere.
            headers={"Accept-Encoding": "identity"},
            follow_redirects=False,
            timeout=SECONDS,
        )
        self._open.push_async_callback(self._http.aclose)

    async def _list_folder(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        place = f"{folder}/" if folder else ""
        # All of it before the first is given on: a server waits only so long for who reads slowly.
        listed = []
        async with self._request("PROPFIND", place, **_LIST) as response:
            if response.status_code != 207:
                raise ServerTrouble("it is no folder of WebDAV")
            async for node in _read_responses(response):
                listed.append(self._read_entry(node, place))
        for file in listed:
            if file.path != folder:
                yield file

    async def _read_file(self, path: str) -> AsyncGenerator[bytes, None]:
        async with self._request("GET", path) as response:
            async for part in response.aiter_raw(CHUNK):
                yield part

    def _explain(self, error: Exception) -> ServerTrouble | None:
        match error:
            case etree.XMLSyntaxError():
                return ServerTrouble("its listing is cut off or no XML")
            case httpx2.HTTPError() | TimeoutError():
                return explain_connection(error)
        return None

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, **request: Any
    ) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream(method, self._link(path), **request) as response:
            if not response.is_success:
                raise explain_status(response.status_code, response.headers)
            yield response

    def _read_entry(self, node: etree._Element, place: str) -> ListedFile:
        path = _decode(node.findtext("{DAV:}href") or "").rstrip("/")
        status = node.findtext("{DAV:}status")
        if not f"{path}/".startswith(_decode(self._url) + place) or (status and " 2" not in status):
            raise ServerTrouble("its listing is not whole, or of another folder")
        path = path[len(_decode(self._url)) :]
        if node.find(".//{DAV:}collection") is not None:
            return ListedFile(path, is_folder=True)
        modified = node.findtext(".//{DAV:}getlastmodified") or ""
        size = node.findtext(".//{DAV:}getcontentlength")
        version = node.findtext(".//{DAV:}getetag") or f"{size} {modified}"
        return ListedFile(path, False, version, parse_http_date(modified) or 0.0)

    def _link(self, path: str) -> str:
        return self._url + quote(path, errors="surrogateescape")


async def _read_responses(response: httpx2.Response) -> AsyncIterator[etree._Element]:
    """Yield the entries of a listing, each forgotten when the next one is asked for."""
    parser = etree.XMLPullParser(("end",), tag="{DAV:}response", resolve_entities=False)
    async for part in response.aiter_raw(CHUNK):
        parser.feed(part)
        for _, node in parser.read_events():
            yield node
            node.clear()
            while node.getprevious() is not None:
                del node.getparent()[0]
    parser.close()


def _decode(address: str) -> str:
    """Return the path of an address; bytes that are no UTF-8 are kept as lone surrogates."""
    return unquote(urlsplit(address).path, errors="surrogateescape")


WEBDAV = SourceKind("A folder over WebDAV.", WebdavOptions, WebdavFolder, of_server=True)
