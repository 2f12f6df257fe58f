"""What sources of services in the cloud share: an API of JSON with its pages, and tokens for it.

Requests are plain HTTP: all are held to the same bounds, and tokens stay with their server.
"""

import asyncio
import json
import math
import zlib
from abc import ABC, abstractmethod
from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from hashlib import blake2b
from html import escape
from typing import Any, BinaryIO, Literal

import httpx2
from pydantic import Field, field_validator

from ragstone import __version__
from ragstone.core.errors import DocumentError, SourceUnavailable, TooLarge
from ragstone.core.readers import parse_readers
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.remote_files import (
    MAX_SECONDS,
    SECONDS,
    ServerTrouble,
    explain_connection,
    explain_status,
)
from ragstone.plugins.sources.site import AGENT, find_pause, read_content, read_whole
from ragstone.ports.sources import SourceOptions

MAX_ANSWER = 64 * 2**20
"""Bytes of an answer."""

MAX_FAULT = 2**16
"""Bytes of an answer that says what is wrong."""

MAX_WAIT = 120.0
"""Seconds of a Retry-After that are waited for within a run; after a longer one it is another."""

ATTEMPTS = 5
"""How often a request is made that the service puts off."""

MAX_HOPS = 3
"""Redirects from the address of a file to where its content is."""

MAX_NAME = 120
"""Characters of a title in a path."""

MAX_READER = 500
"""Characters of the name of an account or group."""

_BUSY = ("rateLimitExceeded", "userRateLimitExceeded")
"""Google's reasons of a 403 that is a 429."""

Next = str | Mapping[str, str]
"""The address of the next page, or what its request has besides; empty behind the last."""


class CloudOptions(SourceOptions):
    """Options of any service."""

    organization: str = Field(
        "", description="Readers of what is for the whole organization, such as group:staff."
    )
    rights: bool = Field(True, description="Whether an item is for those who may read it there.")

    @field_validator("organization")
    @classmethod
    def _check_organization(cls, value: str) -> str:
        if value:
            parse_readers([value])
        return value

    @property
    def organization_readers(self) -> tuple[str, ...]:
        """None where it is not said who the organization is: then it is nobody."""
        return parse_readers([self.organization]) if self.organization else ()


class TokenAuth(httpx2.Auth):
    """Gets a token (OAuth 2.0) with a form when it is needed, and anew when it is refused."""

    def __init__(self, address: str, make_form: Callable[[], Mapping[str, str]]) -> None:
        self._address = address
        self._make_form = make_form
        self.token = ""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """`httpx2.Auth`. Raises ServerTrouble."""
        for _ in range(2):
            used = self.token
            if not used:
                answer = yield httpx2.Request("POST", self._address, data=dict(self._make_form()))
                used = self.token = await _read_token(answer)
            request.headers["Authorization"] = f"Bearer {used}"
            response = yield request
            if response.status_code != 401:
                return
            # Another request may have got a new one meanwhile.
            if self.token == used:
                self.token = ""


async def _read_token(answer: httpx2.Response) -> str:
    """Return the token in an answer. Raises ServerTrouble."""
    # What authenticates has to read it as httpx2 does.
    told = _parse(await answer.aread())
    if answer.status_code == 429 or answer.status_code >= 500:
        raise _explain(answer, told)
    token = dig(told, "access_token")
    if token and token.isascii() and token.isprintable():
        return str(token)
    reason = str(dig(told, "error_description") or dig(told, "error") or answer.status_code)
    raise ServerTrouble(f"it refuses the credentials ({reason[:300]!r})")


class Api:
    """What is below an address. Methods raise ServerTrouble, which is local where it may concern
    only what was asked for."""

    def __init__(
        self, address: str, auth: httpx2.Auth | None, headers: Mapping[str, str] = {}
    ) -> None:
        self._base = httpx2.URL(address.rstrip("/"))
        self._auth = auth
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            headers={"User-Agent": f"{AGENT}/{__version__}", "Accept-Encoding": "gzip", **headers},
            timeout=SECONDS,
        )

    async def ask(self, path: str, body: object = None, **parameters: str) -> dict[str, Any]:
        """Return the answer to a request; a POST if there is a body."""
        try:
            async with (
                asyncio.timeout(MAX_SECONDS),
                self._request(self._locate(path), parameters, body) as response,
            ):
                if not response.is_success:
                    raise explain_status(response.status_code, response.headers)
                told = json.loads(await read_whole(response, MAX_ANSWER))
        except (TooLarge, DocumentError, ValueError, RecursionError) as error:
            raise ServerTrouble("it answers what is not of its API") from error
        except (httpx2.HTTPError, TimeoutError, zlib.error) as error:
            raise explain_connection(error) from error
        if not isinstance(told, dict):
            raise ServerTrouble("it answers what is not of its API")
        return told

    async def ask_pages(
        self, path: str, rows: str, find_next: Callable[[dict[str, Any]], Next], **parameters: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the pages of a listing, each with the list that `rows` names."""
        seen: set[str] = set()
        further: Next = parameters
        while True:
            if isinstance(further, str):
                page = await self.ask(further)
            else:
                page = await self.ask(path, **{**parameters, **further})
            listed = page.get(rows)
            if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
                raise ServerTrouble("its listing is not whole")
            yield page
            further = find_next(page)
            if not further:
                return
            if (place := str(further)) in seen:
                raise ServerTrouble("its listing leads back to where it was")
            seen.add(place)

    async def download(self, path: str, target: BinaryIO, **parameters: str) -> None:
        """Write a file. Raises also DocumentError."""
        address = self._locate(path)
        try:
            for hop in range(MAX_HOPS + 1):
                async with self._request(address, parameters, is_api=hop == 0) as response:
                    if response.is_success:
                        async for piece in read_content(response, math.inf):
                            target.write(piece)
                        return
                    address = response.url.join(response.headers["location"])
                parameters = {}
                if address.scheme not in ("https", self._base.scheme):
                    break
        except (httpx2.HTTPError, httpx2.InvalidURL, zlib.error) as error:
            raise explain_connection(error) from error
        raise ServerTrouble("its content is nowhere to be had", is_local=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _locate(self, path: str) -> httpx2.URL:
        """Return an address of the API: no other gets what lets us in."""
        base = self._base
        try:
            if path.startswith("/") and not path.startswith(f"{base.path.rstrip('/')}/"):
                path = f"{base.path.rstrip('/')}{path}"
            url = base.join(path)
        except httpx2.InvalidURL as error:
            raise ServerTrouble("its listing leads to what is no address") from error
        if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
            raise ServerTrouble(f"its listing leads to another server: {url.host!r}")
        return url

    @asynccontextmanager
    async def _request(
        self,
        address: httpx2.URL,
        parameters: Mapping[str, str],
        body: object = None,
        *,
        is_api: bool = True,
    ) -> AsyncIterator[httpx2.Response]:
        """An answer that is a success or leads elsewhere. What the service puts off for a short
        time is asked for again."""
        url = address.copy_merge_params(parameters) if parameters else address
        for attempt in range(1, ATTEMPTS + 1):
            async with self._http.stream(
                "GET" if body is None else "POST",
                url,
                json=body,
                auth=self._auth if is_api else None,
            ) as response:
                if response.is_success or response.has_redirect_location:
                    yield response
                    return
                trouble = _explain(response, await _read_fault(response))
            await wait_or_raise(trouble, attempt)


async def wait_or_raise(trouble: ServerTrouble, attempt: int) -> None:
    """Wait until a request may be made again; raise the trouble where that is too late."""
    pause = trouble.retry_after
    if pause is None or pause > MAX_WAIT or attempt == ATTEMPTS:
        raise trouble
    await sleep(pause)


async def _read_fault(response: httpx2.Response) -> Any:
    """Return what an answer says that is an error."""
    try:
        return _parse(await read_whole(response, MAX_FAULT))
    except (DocumentError, httpx2.HTTPError, zlib.error):
        return {}


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return {}


def _explain(response: httpx2.Response, told: Any) -> ServerTrouble:
    """Return what an answer means that is an error, with what it says."""
    status, headers = response.status_code, response.headers
    reasons = dig(told, "error", "errors", default=[])
    busy = any(dig(reason, "reason") in _BUSY for reason in reasons)
    usual = explain_status(429 if busy else status, headers)
    messages = dig(told, "errorMessages", default=[])
    detail = dig(told, "error", "message") or dig(told, "message") or next(iter(messages), "")
    reason = f"{usual}: {str(detail)[:300]!r}" if detail else str(usual)
    pause = find_pause(429 if busy else status, headers)
    return ServerTrouble(
        reason, is_local=usual.is_local, is_refused=usual.is_refused, retry_after=pause
    )


class CloudSource(ABC):
    """`ports.sources.ItemSource` of a service, which `place` names."""

    def __init__(self, place: str, api: Api) -> None:
        self._place = place
        self._api = api
        self._keys: list[str] = []
        """Of all that was listed, also of what has not changed."""
        self._checkpoint: Mapping[str, Any] = {}

    @abstractmethod
    async def _open(self) -> None:
        """Find what is to be listed. This and the others raise ServerTrouble."""

    @abstractmethod
    def _list(self, since: Mapping[str, Any]) -> AsyncGenerator[SourceItem, None]:
        """List everything, or what has changed since a checkpoint; and keep all keys."""

    @abstractmethod
    async def _write(self, item: SourceItem, target: BinaryIO) -> None:
        """Write the content of an item. Raises also DocumentError."""

    async def check(self) -> None:
        try:
            await self._open()
        except ServerTrouble as trouble:
            raise self._unavailable(trouble) from trouble

    async def list_items(self, checkpoint: str) -> AsyncGenerator[SourceItem, None]:
        try:
            async with aclosing(self._list(json.loads(checkpoint or "{}"))) as items:
                async for item in items:
                    yield item
        except ServerTrouble as trouble:
            raise self._unavailable(trouble) from trouble

    async def list_keys(self) -> AsyncGenerator[str, None]:
        for key in self._keys:
            yield key

    def get_checkpoint(self) -> str:
        return json.dumps(self._checkpoint) if self._checkpoint else ""

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        try:
            await self._write(item, target)
        except ServerTrouble as trouble:
            if trouble.is_local:
                raise DocumentError(f"It cannot be fetched: {trouble}.") from trouble
            raise self._unavailable(trouble) from trouble

    async def aclose(self) -> None:
        await self._api.aclose()

    def _unavailable(self, trouble: ServerTrouble) -> SourceUnavailable:
        return SourceUnavailable(f"{self._place} cannot be read: {trouble}.", trouble.retry_after)


def dig(told: Any, *names: str, default: Any = "") -> Any:
    """Return what is below these names, if it is what is expected there."""
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return told if isinstance(told, type(default)) else default


def make_digest(told: object) -> str:
    """Return a text that is another one when an answer is."""
    shown = json.dumps(told, sort_keys=True).encode("utf-8", "replace")
    return blake2b(shown, digest_size=16).hexdigest()


def parse_time(text: str) -> float:
    """Return a date of an API in seconds since 1970, 0 for what is none."""
    try:
        return max(datetime.fromisoformat(text).timestamp(), 0.0)
    except (ValueError, OverflowError):
        return 0.0


def make_name(title: str) -> str:
    """Return a title as a part of a path."""
    printable = "".join(char if char.isprintable() else " " for char in title)
    return printable.replace("/", " ")[:MAX_NAME].strip(". ") or "Untitled"


def make_readers(kind: Literal["user", "group"], name: str) -> tuple[str, ...]:
    """Return the reader of a name; none for a name that cannot be told here."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_READER:
        return ()
    return (f"{kind}:{name}",)


def make_page(title: str, body: str) -> bytes:
    """Return a page of HTML that says its title."""
    title = escape(title)
    head = f"<head><meta charset='utf-8'><title>{title}</title></head>"
    page = f"<html>{head}<body><main><h1>{title}</h1>{body}</main></body></html>"
    return page.encode("utf-8", "replace")


def check_link(link: str) -> str:
    """Return an address for people, empty for what is none."""
    return link if link.startswith(("https://", "http://")) else ""
