"""A web site as a source: what its sitemap names, else what links lead to from a start.

A page is known by its address. What is kept from run to run is what it said of itself, so that one
that has not changed is asked for, but not sent again.
"""

import asyncio
import json
import math
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from mimetypes import guess_type
from pathlib import Path
from time import time_ns
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

import aiosqlite
import httpx2
from pydantic import Field

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.ingest.formats.types import list_endings
from ragstone.ingest.pipeline import unwrap_error_group
from ragstone.plugins.sources.site import (
    AT_ONCE,
    PAGE_TYPES,
    Site,
    SiteOptions,
    media_type,
    modified_at,
    read_content,
    read_page,
    read_whole,
)
from ragstone.plugins.sources.web_pages import (
    MAX_SITEMAP_BYTES,
    choose_ending,
    is_download,
    name_path,
    parse_page,
    parse_sitemap,
    robots_rules,
)
from ragstone.ports.sources import SourceKind, SourceParts

MAX_FAILURES = 10
"""Pages in a row that do not answer: then the site does not."""

MAX_SITEMAPS = 1_000

MAX_HELD = 64 * 2**20
"""Bytes of pages that were read for their links, and wait to be fetched."""


class WebOptions(SiteOptions):
    """Options of a web site."""

    depth: int = Field(
        3, ge=0, le=100, description="How many links away from the address, without a sitemap."
    )
    max_pages: int = Field(
        1_000, ge=1, le=1_000_000, description="How many addresses are asked for."
    )
    include: str = Field(
        "",
        description="How paths of pages begin, separated by spaces; as the address's folder if "
        "empty.",
    )
    exclude: str = Field("", description="How paths of pages begin that are left out.")
    sitemap: bool = Field(True, description="Whether to go by the sitemap if there is one.")


@dataclass(frozen=True, slots=True)
class _Page:
    """What an address answered. One without an ending is no document."""

    ending: str = ""
    version: str = ""
    etag: str = ""
    last_modified: str = ""
    modified: float = 0.0
    canonical: str = ""
    """Where the page says that it is, empty where it was found."""
    target: str = ""
    """Where the address leads on to."""
    links: Sequence[str] = ()


class WebSite:
    """`ports.sources.PartialSource` of a web site."""

    def __init__(self, options: WebOptions, folder: Path) -> None:
        self._options = options
        self._site = Site(options)
        self._file = folder / "pages.sqlite"
        self._pages = aiosqlite.connect(self._file, isolation_level=None)
        self._run = time_ns()
        self._start = ""
        self._gap = ""
        self._failures = 0
        self._queue: deque[tuple[str, int, str]] = deque()
        """Addresses that are still to be asked for: how many links away they are, and what a
        sitemap says of their change."""
        self._seen: set[str] = set()
        self._pointing: set[str] = set()
        """Addresses of pages that say that they are at another."""
        self._listed: dict[str, SourceItem] = {}
        """What was listed, by its path."""
        self._bodies: dict[str, bytes] = {}
        self._held = 0

    async def check(self) -> None:
        await self._site.open()
        address = self._site.locate(self._options.url) or ""
        async with self._site.follow(address) as response:
            self._start = str(response.url)
            if response.status_code != 200:
                raise SourceUnavailable(f"{self._start} answers {response.status_code}.")
        # A server adds the slash that people leave out behind the name of a folder.
        top = self._start if self._start == f"{address}/" else address
        self._included = self._list_beginnings(self._options.include) or (urljoin(top, "."),)
        self._excluded = self._list_beginnings(self._options.exclude)

    async def list_items(self, checkpoint: str) -> AsyncIterator[SourceItem]:
        await self._open_pages()
        if self._options.sitemap:
            async for url, changed in self._read_sitemaps():
                self._add(url, self._options.depth, changed)
        if not self._queue:
            self._seen.add(self._start)
            self._queue.append((self._start, 0, ""))
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(AT_ONCE, len(self._queue)))]
            async with unwrap_error_group(), asyncio.TaskGroup() as group:
                visits = [group.create_task(self._visit(url, changed)) for url, _, changed in batch]
            for (url, depth, _), visit in zip(batch, visits, strict=True):
                if item := self._settle(url, depth, visit.result()):
                    yield item
        if not self._gap:
            await self._pages.execute("DELETE FROM pages WHERE run != ?", (self._run,))

    async def list_keys(self) -> AsyncIterator[str]:
        for item in self._listed.values():
            yield item.key

    def get_checkpoint(self) -> str:
        return ""

    def explain_gap(self) -> str:
        return self._gap

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        if (body := self._bodies.pop(item.key, None)) is not None:
            self._held -= len(body)
            target.write(body)
            return
        async with self._site.ask_for_item(item.key) as response:
            if response.status_code != 200:
                raise DocumentError(f"{item.key} answers {response.status_code}.")
            if media_type(response.headers) in PAGE_TYPES:
                target.write(await read_page(response))
                return
            async for piece in read_content(response, math.inf):
                target.write(piece)

    async def aclose(self) -> None:
        await self._site.aclose()
        await self._pages.close()

    def _list_beginnings(self, paths: str) -> tuple[str, ...]:
        return tuple(filter(None, (self._site.locate(path) for path in paths.split())))

    def _add(self, url: str, depth: int, changed: str = "") -> None:
        """Have an address asked for, unless it was already or is not to be."""
        if url in self._seen or not self._is_wanted(url):
            return
        if len(self._seen) < self._options.max_pages:
            self._seen.add(url)
            self._queue.append((url, depth, changed))
        else:
            self._gap = (
                f"{self._site.host} has more than {self._options.max_pages:,} addresses "
                "(max_pages): the rest was not looked at."
            )

    def _is_wanted(self, url: str) -> bool:
        if not url.startswith(self._included) or url.startswith(self._excluded):
            return False
        path = urlsplit(url).path
        kind = (guess_type(path)[0] or "").partition("/")[0]
        is_media = kind in ("image", "audio", "video", "font")
        readable = not is_media or path.lower().endswith(list_endings())
        return readable and self._site.allows(url)

    def _settle(self, url: str, depth: int, page: _Page) -> SourceItem | None:
        """Have asked for what a page leads to; the item that it is, if it is one."""
        if page.target:
            self._add(page.target, depth)
        for link in page.links:
            # What a page offers for download belongs to it.
            if depth < self._options.depth or is_download(link):
                self._add(link, depth + 1)
        own = page.canonical
        # Two pages that point at each other are both there.
        if own and own not in self._pointing and self._is_wanted(own):
            self._pointing.add(url)
            self._add(own, depth)
            return None
        path = name_path(url, page.ending)
        known = self._listed.get(path)
        # A folder and its index are one page, under two addresses.
        if not page.ending or (known and known.version == page.version):
            return None
        item = SourceItem(url, page.version, path, url=url, modified=page.modified)
        self._listed[path] = item
        return item

    async def _read_sitemaps(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the addresses that sitemaps name, each with what is said of its change. Raises
        SourceUnavailable."""
        usual = [self._site.locate("/sitemap.xml"), urljoin(self._start, "sitemap.xml")]
        waiting = deque(map(self._site.locate, self._site.robots.sitemaps)) or deque(usual)
        asked: set[str] = set()
        while waiting:
            url = waiting.popleft()
            if url is None or url in asked or not self._site.allows(url):
                continue
            if len(asked) >= MAX_SITEMAPS:
                self._gap = f"{self._site.host} has more than {MAX_SITEMAPS:,} sitemaps."
                return
            asked.add(url)
            named: list[tuple[str, str, str]] = []
            whole = False
            try:
                async with self._site.follow(url) as response:
                    if response.status_code == 200:
                        body = await read_whole(response, MAX_SITEMAP_BYTES)
                        named, whole = await asyncio.to_thread(parse_sitemap, body)
            except DocumentError:
                whole = False
            # That a usual name leads to nothing only says that there is no sitemap.
            if not whole and (named or url not in usual):
                self._gap = f"The sitemap {url} cannot be read to its end."
            for name, address, changed in named:
                located = self._site.locate(address, url)
                if name == "sitemap":
                    waiting.append(located)
                elif located:
                    yield located, changed

    async def _visit(self, url: str, changed: str) -> _Page:
        """Ask what is at an address. Raises SourceUnavailable where the site asks for a pause or
        does not answer any more."""
        known = await self._recall(url)
        asked = {}
        if known and known.etag:
            # Apache knows what it has packed by another tag than it gives.
            asked["If-None-Match"] = ", ".join({known.etag, known.etag.replace("-gzip", "")})
        if known and known.last_modified:
            asked["If-Modified-Since"] = known.last_modified
        try:
            async with self._site.ask(url, asked) as response:
                if known and response.status_code == 304:
                    page = known
                else:
                    page = await self._read(url, response, changed, known)
        except SourceUnavailable as error:
            self._failures += 1
            if error.retry_after is not None or self._failures >= MAX_FAILURES:
                raise
            if known is None:
                self._gap = f"{url} does not answer, and what it leads to is not known."
                # Fetching it says why it fails.
                return _Page(choose_ending(url, PAGE_TYPES[0], ""))
            page = known
        except DocumentError:
            page = known or _Page(choose_ending(url, PAGE_TYPES[0], ""))
        else:
            self._failures = 0
        await self._keep(url, page)
        return page

    async def _read(
        self, url: str, response: httpx2.Response, changed: str, known: _Page | None
    ) -> _Page:
        """Return what an answer says of its address. Raises what reading it raises."""
        headers = response.headers
        if response.has_redirect_location:
            return _Page(target=self._site.locate(headers["location"], url) or "")
        if response.status_code != 200:
            return _Page()
        media = media_type(headers)
        # Others cannot be sent back.
        etag, last_modified = (
            value if (value := headers.get(name, "")).isascii() else ""
            for name in ("etag", "last-modified")
        )
        said = etag or last_modified or changed
        ending = choose_ending(url, media, headers.get("content-disposition", ""))
        facts = _Page(ending, _digest(said), etag, last_modified, modified_at(response))
        rules = robots_rules(headers.get_list("x-robots-tag"))
        if media not in PAGE_TYPES:
            if not ending or "noindex" in rules:
                return _Page()
            if said:
                return facts
            content = blake2b(digest_size=16)
            async for piece in read_content(response, math.inf):
                content.update(piece)
            return _Page(ending, content.hexdigest())
        body = await read_page(response)
        links, canonical, own = await asyncio.to_thread(parse_page, body, url, self._site)
        rules |= own
        page = _Page(
            "" if "noindex" in rules else ending,
            facts.version if said else _digest(body),
            etag,
            last_modified,
            facts.modified,
            canonical if canonical != url else "",
            links=() if "nofollow" in rules else links,
        )
        is_new = known is None or known.version != page.version
        if page.ending and is_new and self._held + len(body) <= MAX_HELD:
            self._bodies[url] = body
            self._held += len(body)
        return page

    async def _open_pages(self) -> None:
        """Open what pages said of themselves the last time."""
        await asyncio.to_thread(self._file.parent.mkdir, 0o700, parents=True, exist_ok=True)
        await self._pages
        await self._pages.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, run INTEGER, page TEXT)"
        )

    async def _recall(self, url: str) -> _Page | None:
        found = await self._pages.execute("SELECT page FROM pages WHERE url = ?", (url,))
        row = await found.fetchone()
        return _Page(**json.loads(row[0])) if row else None

    async def _keep(self, url: str, page: _Page) -> None:
        row = (url, self._run, json.dumps(asdict(page)))
        await self._pages.execute("REPLACE INTO pages VALUES (?, ?, ?)", row)


def _digest(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return blake2b(data, digest_size=16).hexdigest()


def open_site(parts: SourceParts[WebOptions]) -> WebSite:
    """Make the source."""
    return WebSite(parts.options, parts.folder)


WEB = SourceKind("A web site.", WebOptions, open_site, of_server=True)
