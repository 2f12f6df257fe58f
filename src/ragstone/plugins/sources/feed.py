"""A feed as a source: the entries of RSS or Atom, each a document.

A feed shows its newest entries alone, so what has left it is not gone.
"""

import asyncio
from calendar import timegm
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from io import BytesIO
from typing import Any, BinaryIO

import feedparser  # type: ignore[import-untyped]
import httpx2
from lxml import html as lxml_html  # type: ignore[import-untyped]
from pydantic import Field

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.site import (
    PAGE_TYPES,
    Site,
    SiteOptions,
    media_type,
    read_page,
    read_whole,
)
from ragstone.ports.sources import SourceKind, SourceParts

MAX_TITLE = 80
"""Characters of a title in a path."""


class FeedOptions(SiteOptions):
    """Options of a feed."""

    pages: bool = Field(
        False, description="Whether to read the page that an entry leads to, if it is on the site."
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    item: SourceItem
    content: bytes
    """What the feed itself says, as a page."""


class Feed:
    """`ports.sources.PartialSource` of a feed."""

    def __init__(self, options: FeedOptions) -> None:
        self._options = options
        self._site = Site(options)
        self._entries: dict[str, _Entry] = {}

    async def check(self) -> None:
        async with self._site.follow(self._site.locate(self._options.url) or "") as response:
            if response.status_code != 200:
                raise SourceUnavailable(f"{response.url} answers {response.status_code}.")
            body = await read_whole(response)
            self._entries = await asyncio.to_thread(_parse_feed, body, response)
        if self._options.pages:
            await self._site.open()

    async def list_items(self, checkpoint: str) -> AsyncIterator[SourceItem]:
        for entry in self._entries.values():
            yield entry.item

    async def list_keys(self) -> AsyncIterator[str]:
        for key in self._entries:
            yield key

    def get_checkpoint(self) -> str:
        return ""

    def explain_gap(self) -> str:
        return "A feed names its newest entries alone."

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        entry = self._entries[item.key]
        address = self._site.locate(item.url) if self._options.pages and item.url else None
        if address is None or not self._site.allows(address):
            target.write(entry.content)
            return
        async with self._site.ask_for_item(address) as response:
            if response.status_code != 200 or media_type(response.headers) not in PAGE_TYPES:
                raise DocumentError(f"{address} is no page, or is gone.")
            target.write(await read_page(response))

    async def aclose(self) -> None:
        await self._site.aclose()


def _parse_feed(body: bytes, response: httpx2.Response) -> dict[str, _Entry]:
    """Return the entries by key. Raises SourceUnavailable for what is no feed."""
    headers = {
        "content-type": response.headers.get("content-type", "application/xml"),
        "content-location": str(response.url),
    }
    try:
        # Of a file: bytes that look like an address or a path would be opened.
        parsed = feedparser.parse(BytesIO(body), response_headers=headers)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        parsed = {}  # It trips over what is far from any feed.
    if not parsed.get("version"):
        raise SourceUnavailable(f"{response.url} is no feed of RSS or Atom.")
    entries = [_make_entry(dict(entry)) for entry in parsed["entries"]]
    return {entry.item.key: entry for entry in entries}


def _make_entry(entry: Mapping[str, Any]) -> _Entry:
    title = _single_line(entry.get("title") or "")
    if (entry.get("title_detail") or {}).get("type") == "text/html":
        title = lxml_html.fragment_fromstring(title, create_parent="p").text_content()
        title = _single_line(title)
    link = entry.get("link") or ""
    link = link if link.startswith(("https://", "http://")) else ""
    parts = entry.get("content") or [entry.get("summary_detail") or {}]
    body = "".join(_as_html(part) for part in parts)
    moment = entry.get("updated_parsed") or entry.get("published_parsed")
    modified = float(timegm(moment)) if moment and 1970 <= moment.tm_year <= 9999 else 0.0
    facts = {
        "author": entry.get("author") or "",
        "keywords": ", ".join(tag.get("term") or "" for tag in entry.get("tags", ())),
    }
    if published := entry.get("published_parsed"):
        date = "{}-{:02}-{:02}T{:02}:{:02}:{:02}+00:00".format(*published)
        facts["article:published_time"] = date
    metas = "".join(
        f'<meta name="{name}" content="{escape(value)}">' for name, value in facts.items() if value
    )
    page = (
        f"<!DOCTYPE html><html><head><title>{escape(title)}</title>{metas}</head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    ).encode("utf-8", "replace")
    key = entry.get("id") or link or _digest([title, body])
    name = title.replace("/", " ")[:MAX_TITLE].strip(". ")
    path = f"{name or 'Entry'} {_digest([key])[:8]}.html"
    version = _digest([link, page])
    return _Entry(SourceItem(key, version, path, (), title, link, modified), page)


def _single_line(text: str) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())


def _as_html(part: Any) -> str:
    value = str(part.get("value") or "")
    if part.get("type") != "text/plain":
        return value
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in value.split("\n\n"))


def _digest(parts: Sequence[str | bytes]) -> str:
    return blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def open_feed(parts: SourceParts[FeedOptions]) -> Feed:
    """Make the source."""
    return Feed(parts.options)


FEED = SourceKind("A feed of RSS or Atom.", FeedOptions, open_feed, of_server=True)
