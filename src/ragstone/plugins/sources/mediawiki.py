"""The pages of a MediaWiki as a source.

All pages are listed with their newest revisions, 500 at a time. The list of recent changes would
save nothing, as what is gone is told by what is left; and it forgets, and knows no imports.
"""

import json
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, BinaryIO

import httpx2
from pydantic import Field, SecretStr, field_validator

from ragstone import __version__
from ragstone.core.errors import DocumentError, SourceUnavailable, TooLarge
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.cloud import check_link, dig, make_page, parse_time
from ragstone.plugins.sources.remote_files import (
    SECONDS,
    ServerTrouble,
    check_address,
    explain_connection,
    explain_status,
)
from ragstone.plugins.sources.site import AGENT, BUSY_SECONDS, read_whole
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

_OF_PAGE = ("nosuchpageid", "missingtitle", "permissiondenied", "missingcontent-pageid")
"""Codes of errors that concern one page."""

_BUSY = ("maxlag", "ratelimited", "readonly")

_REASONS = {
    "readapidenied": "it lets only its users read: give user and password",
    "assertuserfailed": "it has ended the session",
    "maxlag": "it takes no requests for now",
    "ratelimited": "it takes no more requests for now",
}


class MediaWikiOptions(SourceOptions):
    """Options of a MediaWiki."""

    url: str = Field(description="The address of its api.php, which Special:Version has.")
    namespaces: str = Field(
        "0", pattern=r"^\d+( *, *\d+)*$", description="Numbers of the namespaces, such as 0,4,12."
    )
    user: str = Field("", description="A user's name, best of Special:BotPasswords.")
    password: SecretStr = Field(SecretStr(""), description="The password.")

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if not httpx2.URL(check_address(value)).path.endswith("api.php"):
            raise ValueError("name api.php too, such as https://wiki.x.org/w/api.php")
        return value


class MediaWiki:
    """`ports.sources.ItemSource` of the pages of a wiki."""

    def __init__(self, parts: SourceParts[MediaWikiOptions]) -> None:
        self._options = parts.options
        self._usual: dict[str, str] = {"format": "json", "formatversion": "2", "maxlag": "5"}
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            headers={"User-Agent": f"{AGENT}/{__version__}", "Accept-Encoding": "gzip"},
            timeout=SECONDS,
        )

    async def check(self) -> None:
        if self._options.user:
            told = await self._ask_for_all(action="query", meta="tokens", type="login")
            answer = await self._ask_for_all(
                action="login",
                lgname=self._options.user,
                lgpassword=self._options.password.get_secret_value(),
                lgtoken=dig(told, "query", "tokens", "logintoken"),
            )
            if dig(answer, "login", "result") != "Success":
                raise self._unavailable(ServerTrouble("it refuses the user or the password"))
            # Where the session ends, it would go on as if there were only what everybody reads.
            self._usual["assert"] = "user"
        await self._ask_for_all(action="query", meta="siteinfo")

    async def list_items(self, checkpoint: str) -> AsyncGenerator[SourceItem, None]:
        for namespace in self._options.namespaces.split(","):
            further: dict[str, str] = {}
            while True:
                told = await self._ask_for_all(
                    action="query",
                    generator="allpages",
                    gapnamespace=namespace.strip(),
                    gapfilterredir="nonredirects",
                    gaplimit="max",
                    prop="info|revisions",
                    inprop="url",
                    rvprop="ids|timestamp",
                    **further,
                )
                for page in dig(told, "query", "pages", default=[]):
                    # What does not fit into an answer comes with the next one.
                    if page.get("revisions"):
                        yield _make_item(page)
                further = told.get("continue", {})
                if not further:
                    break

    async def list_keys(self) -> AsyncIterator[str]:
        async for item in self.list_items(""):
            yield item.key

    def get_checkpoint(self) -> str:
        return ""

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        try:
            told = await self._ask(
                action="parse",
                pageid=item.key,
                prop="text",
                disableeditsection="1",
                disablelimitreport="1",
                disabletoc="1",
            )
        except ServerTrouble as trouble:
            if trouble.is_local:
                raise DocumentError(f"It cannot be fetched: {trouble}.") from trouble
            raise self._unavailable(trouble) from trouble
        target.write(make_page(item.title, dig(told, "parse", "text")))

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _ask_for_all(self, **parameters: str) -> dict[str, Any]:
        """Return what is asked of the wiki, not of a page. Raises SourceUnavailable."""
        try:
            return await self._ask(**parameters)
        except ServerTrouble as trouble:
            raise self._unavailable(trouble) from trouble

    async def _ask(self, **parameters: str) -> dict[str, Any]:
        """Return the answer of the API. Raises ServerTrouble, and TooLarge for a page."""
        form = {**self._usual, **parameters}
        try:
            async with self._http.stream("POST", self._options.url, data=form) as response:
                if response.status_code != 200:
                    raise explain_status(response.status_code, response.headers)
                told = json.loads(await read_whole(response))
        except (httpx2.HTTPError, zlib.error) as error:
            raise explain_connection(error) from error
        except TooLarge:
            raise
        except (DocumentError, ValueError, RecursionError) as error:
            raise ServerTrouble("it answers what is none of a MediaWiki") from error
        if not isinstance(told, dict):
            raise ServerTrouble("it answers what is none of a MediaWiki")
        if isinstance(fault := told.get("error"), dict):
            raise _explain(fault, response.headers.get("retry-after", ""))
        return told

    def _unavailable(self, trouble: ServerTrouble) -> SourceUnavailable:
        reason = f"{self._options.url} cannot be read: {trouble}."
        return SourceUnavailable(reason, trouble.retry_after)


def _explain(fault: dict[str, Any], wait: str) -> ServerTrouble:
    """Return what an error means that the API tells."""
    code = str(fault.get("code", ""))
    reason = _REASONS.get(code) or f"it answers {str(fault.get('info') or code)[:300]!r}"
    pause = (float(wait) if wait.isdecimal() else BUSY_SECONDS) if code in _BUSY else None
    return ServerTrouble(reason, is_local=code in _OF_PAGE, retry_after=pause)


def _make_item(page: dict[str, Any]) -> SourceItem:
    title, revision = str(page.get("title", "")), page["revisions"][0]
    link = str(page.get("canonicalurl") or page.get("fullurl") or "")
    return SourceItem(
        str(page.get("pageid", "")),
        str(revision.get("revid")),
        f"{title}.html" if title else "",
        title=title,
        url=check_link(link),
        modified=parse_time(str(revision.get("timestamp"))),
    )


MEDIAWIKI = SourceKind("The pages of a MediaWiki.", MediaWikiOptions, MediaWiki, of_server=True)
