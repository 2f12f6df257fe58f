"""Reads a Plone site through its REST API (plone.restapi), within bounds."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2

from ragstone.core.errors import ConfigError, Conflict, RagstoneError, TooLarge, Unavailable
from ragstone.ingest.connectors.plone.names import path_in
from ragstone.settings import PloneSettings

Item = dict[str, Any]

FIRST_PAUSE = 0.5
_MEGABYTE = 1 << 20
MOST_PAGES = 100_000


class PloneUnavailable(Unavailable):
    code = "plone_unavailable"


class _Again(Exception):
    """A failure after which the same request may work."""


class PloneClient:
    """Asks one site; raises PloneUnavailable, and ConfigError where a setting is wrong."""

    def __init__(self, settings: PloneSettings) -> None:
        if not settings.url:
            raise Conflict("There is no Plone site: set PLONE__URL to its address.")
        self.site = settings.url.rstrip("/")
        self._settings = settings
        headers = {"accept": "application/json"}
        if token := settings.token.get_secret_value():
            headers["authorization"] = f"Bearer {token}"
        self._http = httpx2.AsyncClient(headers=headers, timeout=settings.timeout)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def count(self) -> int:
        """How many objects of the content types there are."""
        return _total(await self._search({"b_size": 1}))

    async def pages(
        self, since: float | None = None, start: int = 0
    ) -> AsyncGenerator[tuple[list[Item], int], None]:
        """Whole objects, the least recently changed first, page by page from `start`; with how many
        there are. `since` (seconds since 1970) leaves out what is older."""
        query: dict[str, Any] = {"fullobjects": 1, "sort_on": "modified", "sort_order": "ascending"}
        if since is not None:
            moment = datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds")
            query |= {"modified.query": moment, "modified.range": "min"}
        async for page in self._paged(query, start):
            yield page

    async def uids(self) -> set[str]:
        """The ids of all objects; raises PloneUnavailable if the site lists fewer than it counts,
        as whatever is missing would be taken for deleted."""
        found: set[str] = set()
        counted = 0
        query = {"metadata_fields": "UID", "sort_on": "path"}
        async for items, total in self._paged(query, 0):
            counted = total
            found |= {str(item["UID"]) for item in items if item.get("UID")}
        if len(found) < counted:
            raise PloneUnavailable(
                f"The site {self.site} lists {len(found):,} of {counted:,} objects, so it is "
                "unknown which were deleted. Try again when it is not being edited."
            )
        return found

    async def item(self, uid: str) -> Item | None:
        """One whole object; None if there is none, or none of the content types."""
        found = await self._search({"UID": uid, "fullobjects": 1, "b_size": 2})
        return next((one for one in _items(found) if one.get("UID") == uid), None)

    async def download(self, address: str) -> bytes:
        """A file of the site; raises TooLarge."""
        if path_in(self.site, address) is None:
            raise PloneUnavailable(f"The file {address[:200]} is not on the site {self.site}.")
        content, _ = await self._get(address, {})
        return content

    async def _paged(
        self, query: Mapping[str, Any], start: int
    ) -> AsyncGenerator[tuple[list[Item], int], None]:
        """Each page begins with the last object of the one before: where it does not, objects have
        moved up meanwhile, and what might have been passed over is read again."""
        size, last = max(2, self._settings.page_size), ""
        for _ in range(MOST_PAGES):
            first = start - 1 if last else start
            page = await self._search({**query, "b_start": first, "b_size": size})
            items, total = _items(page), _total(page)
            if last and (not items or items[0].get("UID") != last):
                start, last = max(0, min(start, total) - size), ""
                continue
            fresh = items[1:] if last else items
            yield fresh, total
            start += len(fresh)
            if not fresh or start >= total:
                return
            last = str(fresh[-1].get("UID") or "")

    async def _search(self, query: Mapping[str, Any]) -> Item:
        types: Sequence[str] = self._settings.content_types
        content, kind = await self._get(
            f"{self.site}/@search", {**query, "portal_type": list(types)}
        )
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            what = "an HTML page" if "html" in kind else "something else"
            raise PloneUnavailable(
                f"The site {self.site} answered with {what} instead of JSON. "
                "Check that PLONE__URL is the site's own address and that it has plone.restapi."
            ) from error
        if not isinstance(found, dict) or not isinstance(found.get("items"), list):
            raise PloneUnavailable(f"The site {self.site} answered a search without items.")
        return found

    async def _get(self, address: str, query: Mapping[str, Any]) -> tuple[bytes, str]:
        """Content and its kind, tried again where that may help."""
        for attempt in range(self._settings.retries + 1):
            if attempt:
                await asyncio.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                return await self._read_response(address, query)
            except _Again as error:
                reason = str(error)
        raise PloneUnavailable(f"The site {self.site} {reason}. Try again later.")

    async def _read_response(self, address: str, query: Mapping[str, Any]) -> tuple[bytes, str]:
        most = self._settings.max_file_mb * _MEGABYTE
        try:
            async with self._http.stream("GET", address, params=dict(query)) as response:
                if trouble := self._status_error(response.status_code):
                    raise trouble
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    size += len(part)
                    if size > most:
                        raise TooLarge(
                            f"{address[:200]} has more than {self._settings.max_file_mb} MB "
                            "(PLONE__MAX_FILE_MB)."
                        )
                    parts.append(part)
                return b"".join(parts), response.headers.get("content-type", "")
        except httpx2.TimeoutException as error:
            raise _Again(f"was silent for {self._settings.timeout:g} s") from error
        except httpx2.HTTPError as error:
            raise _Again(f"cannot be reached ({type(error).__name__})") from error

    def _status_error(self, status: int) -> RagstoneError | _Again | None:
        if status == 200:
            return None
        if status in (401, 403):
            return ConfigError(
                f"The site {self.site} refuses the token (status {status}). Check PLONE__TOKEN."
            )
        if status == 429 or status >= 500:
            return _Again(f"answered with status {status}")
        return PloneUnavailable(
            f"The site {self.site} answered with status {status}. "
            "Check that PLONE__URL is its own address and that it has plone.restapi."
        )


def _items(found: Item) -> list[Item]:
    return [item for item in found["items"] if isinstance(item, dict)]


def _total(found: Item) -> int:
    total = found.get("items_total")
    return total if isinstance(total, int) else len(found["items"])
