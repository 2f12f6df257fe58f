"""The addresses of one web site, asked for politely and within bounds.

A site is somebody else's: it may answer with anything, for as long as it likes, and lead anywhere.
Nothing outside its origin is ever asked for, so a password goes nowhere else.
"""

import asyncio
import zlib
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urljoin

import httpx2
from protego import Protego
from pydantic import Field, SecretStr, field_validator

from ragstone import __version__
from ragstone.core.clock import state_time
from ragstone.core.errors import DocumentError, SourceUnavailable, TooLarge
from ragstone.ingest.formats.decode import decode_as
from ragstone.plugins.sources.http_dates import parse_http_date
from ragstone.ports.sources import SourceOptions

AGENT = "ragstone"
"""What robots.txt knows it by."""

AT_ONCE = 3
"""Requests to a site at a time."""

SILENT_SECONDS = 30.0
"""How long a site may say nothing."""

SECONDS = 600.0
"""How long one answer may take."""

MAX_DELAY = 30.0
"""Seconds of a crawl-delay that are kept to."""

MAX_PAUSE = 86_400.0
"""Seconds of a Retry-After that are kept to."""

BUSY_SECONDS = 60.0
"""The pause after a 429 that asks for none."""

MAX_BYTES = 16 * 2**20
"""Of a page, a feed and robots.txt."""

MAX_HOPS = 5
"""Redirects that are followed from the given address."""

MAX_ADDRESS = 1_900
"""Characters of an address: it is an item's key, which has 2,000 bytes."""

PAGE_TYPES = ("text/html", "application/xhtml+xml")

_PIECE = 2**18


class SiteOptions(SourceOptions):
    """Options of what is at an address of the web."""

    url: str = Field(description="Its address: https:// or http://.")
    user: str = Field("", description="The user's name, where the site asks for one.")
    password: SecretStr = Field(SecretStr(""), description="The password for it.")

    @field_validator("url")
    @classmethod
    def _check_address(cls, value: str) -> str:
        try:
            url = httpx2.URL(value)
        except httpx2.InvalidURL as error:
            raise ValueError("this is no address") from error
        if url.scheme not in ("http", "https") or not url.host or len(value) > MAX_ADDRESS:
            raise ValueError("an address begins with https:// or http:// and names a host")
        return value


class Site:
    """Asks for addresses of the origin that the options name."""

    def __init__(self, options: SiteOptions) -> None:
        url = httpx2.URL(options.url)
        self.host = url.host
        self.robots = Protego.parse("")
        self._origin = (url.scheme, url.host, url.port)
        self._delay = 0.0
        self._places = asyncio.Semaphore(AT_ONCE)
        login = (options.user, options.password.get_secret_value())
        self._http = httpx2.AsyncClient(
            auth=login if any(login) else None,
            # What a page shows must not depend on which was asked for before it.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            headers={"User-Agent": f"{AGENT}/{__version__}", "Accept-Encoding": "gzip"},
            timeout=SILENT_SECONDS,
        )

    async def open(self) -> None:
        """Read robots.txt. Raises SourceUnavailable."""
        async with self.follow(self.locate("/robots.txt") or "") as response:
            if response.status_code == 200:
                text = await read_whole(response)
                self.robots = Protego.parse(text.decode("utf-8", "replace"))
        if (delay := self.robots.crawl_delay(AGENT)) and delay > 0:
            self._delay = min(delay, MAX_DELAY)
            self._places = asyncio.Semaphore(1)

    def allows(self, url: str) -> bool:
        """Tell whether robots.txt lets us ask for an address."""
        return self.robots.can_fetch(url, AGENT)

    def locate(self, address: str, base: str = "") -> str | None:
        """Return an address as all write it, None for one that is not of the site."""
        scheme, host, port = self._origin
        try:
            root = httpx2.URL(scheme=scheme, host=host, port=port, path="/")
            url = httpx2.URL(urljoin(base or str(root), address.strip())).copy_with(fragment=None)
        except (httpx2.InvalidURL, ValueError):
            return None
        if (url.scheme, url.host, url.port) != self._origin or url.userinfo:
            return None
        usual = str(url if url.raw_path != b"/" else url.copy_with(path="/"))
        return usual if len(usual) <= MAX_ADDRESS else None

    @asynccontextmanager
    async def ask(
        self, url: str, headers: Mapping[str, str] = {}
    ) -> AsyncIterator[httpx2.Response]:
        """Ask for an address of the site; the content is still to be read. Raises SourceUnavailable
        where it does not answer, with `retry_after` where it wants to be left alone, and where
        robots.txt does not let us."""
        if not self.allows(url):
            raise SourceUnavailable(f"robots.txt of {self.host} does not let {AGENT!r} read {url}.")
        try:
            async with self._places, asyncio.timeout(SECONDS):
                if self._delay:
                    await sleep(self._delay)
                async with self._http.stream("GET", url, headers=headers) as response:
                    _refuse_trouble(url, response)
                    yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, zlib.error) as error:
            reason = str(error).rstrip(".") or "it takes too long"
            raise SourceUnavailable(f"{url} does not answer: {reason[:300]}.") from error

    @asynccontextmanager
    async def follow(self, url: str) -> AsyncIterator[httpx2.Response]:
        """Ask for an address, or for where it leads to; see `ask`. Raises SourceUnavailable also
        where it leads to another site."""
        for _ in range(MAX_HOPS):
            async with self.ask(url) as response:
                if not response.has_redirect_location:
                    yield response
                    return
                address = response.headers["location"]
            target = self.locate(address, url)
            if target is None:
                raise SourceUnavailable(
                    f"{url} leads to another site: {address[:300]}. Give that "
                    "address if it is what you want."
                )
            url = target
        raise SourceUnavailable(f"{url} leads on and on.")

    @asynccontextmanager
    async def ask_for_item(self, url: str) -> AsyncIterator[httpx2.Response]:
        """`follow` for one of many addresses: that it does not answer is a DocumentError."""
        try:
            async with self.follow(url) as response:
                yield response
        except SourceUnavailable as error:
            if error.retry_after is not None:
                raise
            raise DocumentError(error.message) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


async def read_content(response: httpx2.Response, limit: float) -> AsyncIterator[bytes]:
    """The content of an answer in pieces. Raises TooLarge beyond a limit, and DocumentError."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        raise DocumentError(f"It is packed as {coding[:50]!r}, which nobody asked for.")
    # The client's own decoding makes gigabytes of one piece of a bomb.
    unpacker = None if coding == "identity" else zlib.decompressobj(31)
    packed = unpacked = 0
    async for raw in response.aiter_raw():
        packed += len(raw)
        while raw:
            piece = unpacker.decompress(raw, _PIECE) if unpacker else raw
            raw = unpacker.unconsumed_tail if unpacker else b""
            unpacked += len(piece)
            if unpacked > limit:
                raise TooLarge(f"It has more than {limit / 2**20:,.0f} MB.")
            yield piece
    if unpacker and packed and not unpacker.eof:
        raise httpx2.ReadError("it was cut off on the way")


async def read_whole(response: httpx2.Response, limit: int = MAX_BYTES) -> bytes:
    """Return the content of an answer. Raises what `read_content` raises."""
    return b"".join([piece async for piece in read_content(response, limit)])


def media_type(headers: httpx2.Headers) -> str:
    """Return what the content is said to be; a page where nothing is said."""
    return headers.get("content-type", PAGE_TYPES[0]).partition(";")[0].strip().lower()


async def read_page(response: httpx2.Response) -> bytes:
    """Return a page, in UTF-8 where the header names its encoding, which the page itself need not
    do. Raises what `read_content` raises."""
    page = await read_whole(response)
    charset = response.charset_encoding
    if charset and not is_utf8(page):
        return decode_as(page, charset).encode("utf-8", "replace")
    return page


def is_utf8(page: bytes) -> bool:
    """Tell whether it can be nothing else."""
    try:
        page.decode()
    except ValueError:
        return False
    return True


def _refuse_trouble(url: str, response: httpx2.Response) -> None:
    """Raise SourceUnavailable for what says nothing of an address, but of the server."""
    status = response.status_code
    if status < 500 and status not in (408, 425, 429):
        return
    raise SourceUnavailable(f"{url} answers {status}.", find_pause(status, response.headers))


def find_pause(status: int, headers: Mapping[str, str]) -> float | None:
    """Tell how many seconds a server wants to be left alone, None where it does not say that."""
    wanted = headers.get("retry-after", "")
    if status not in (429, 503) or not wanted:
        return BUSY_SECONDS if status == 429 else None
    if wanted.isdecimal():
        return min(float(wanted), MAX_PAUSE)
    until = parse_http_date(wanted)
    return BUSY_SECONDS if until is None else min(max(until - state_time(), 0.0), MAX_PAUSE)


def modified_at(response: httpx2.Response) -> float:
    """Return when the content was changed, in seconds since 1970; 0 if it is not said."""
    return max(parse_http_date(response.headers.get("last-modified", "")) or 0.0, 0.0)
