"""Reads a Plone site through its REST API (plone.restapi), within bounds.

How a site is shown who asks: a token, a name and a password for one, or both with each request.

A token of plone.restapi is a JWT that ends, after twelve hours if nobody has set otherwise; it is
renewed before that. The site answers a request with an expired one as it answers a visitor.
"""

import asyncio
import base64
import binascii
import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from ragstone.core.errors import ConfigError, Conflict, RagstoneError, TooLarge, Unavailable
from ragstone.plugins.plone.names import site_path
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.summary import FIELDS, Summary, summary

RENEWED_BEFORE = 300.0
"""Seconds of its life that a token has left when it is renewed."""


def basic_header(settings: PloneSettings) -> str:
    """Name and password as the header of each request."""
    pair = f"{settings.login}:{settings.password}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def token_expiry(token: str) -> float | None:
    """Return when a token ends, in seconds since 1970; None where it does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        said = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        end = said.get("exp") if isinstance(said, dict) else None
        return float(end) if isinstance(end, int | float) else None
    except (ValueError, binascii.Error, RecursionError):
        return None


def ends_soon(token: str) -> bool:
    """Tell whether a token is to be renewed now."""
    end = token_expiry(token)
    return end is not None and end - time.time() < RENEWED_BEFORE


Item = dict[str, Any]
LocalRoles = tuple[str, tuple[str, ...]]
"""A user or group, and its roles."""

RETRIES = 3
"""Further tries after a failed request, with growing pauses from the first one on."""
FIRST_PAUSE = 0.5
SILENT_SECONDS = 30.0
"""How long the site may be silent before it is asked again."""

MAX_FILE_MB = 64
"""Largest file, or page of objects, that is fetched: it is read whole."""

_MEGABYTE = 1 << 20
LISTED_AT_ONCE = 500
"""Objects of one page of a listing, which has few fields of each."""
NAMED_AT_ONCE = 40
"""UIDs in one address, which proxies limit to some 4,000 characters."""
BEFORE_ALL = "!"
"""Sorts before every UID."""
REFUSED = (401, 403)
GONE = (404, 410)


class PloneUnavailable(Unavailable):
    code = "plone_unavailable"


class BrokenAnswer(PloneUnavailable):
    """The site failed at this request (5xx) however often it was tried; others may work."""


class _Again(Exception):
    """A failure after which the same request may work."""


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    content: bytes
    kind: str


class PloneClient:
    """Asks one site; raises PloneUnavailable, and ConfigError where a setting is wrong.

    `visitor` asks as the site's anonymous visitors do: without a credential, and without cookies.
    """

    def __init__(self, settings: PloneSettings) -> None:
        if not settings.url:
            raise Conflict("There is no Plone site: set PLONE__URL to its address.")
        self.site = settings.url.rstrip("/")
        self._settings = settings
        self._token = settings.bearer
        self._http = self._new_http()
        self._visitor = self._new_http()

    def _new_http(self) -> httpx2.AsyncClient:
        headers = {"accept": "application/json"}
        return httpx2.AsyncClient(headers=headers, timeout=SILENT_SECONDS)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._visitor.aclose()

    @property
    def is_visitor(self) -> bool:
        """Whether there is no credential."""
        return not (self._token or self._settings.login)

    async def check(self) -> bool:
        """Raise ConfigError unless the site knows the credential: it answers searches with a wrong
        or expired one, with what every visitor may view. False where it did not know the token,
        and has given another one for name and password."""
        if self.is_visitor:
            return True
        response = await self._get(f"{self.site}/@types", {})
        if response.status == 401 and self._settings.login and not self._settings.basic:
            self._token = ""
            if (await self._get(f"{self.site}/@types", {})).status == 200:
                return False
        if response.status == 200:
            self._json(response)
            return True
        if response.status not in REFUSED:
            raise self._status_error(response.status)
        if self._settings.login:
            raise ConfigError(
                f"The site {self.site} does not know the user {self._settings.login!r} by this "
                "password. Check PLONE__TOKEN."
            )
        raise ConfigError(
            f"The site {self.site} refuses the token: it is wrong or expired. Check PLONE__TOKEN, "
            "or set it to name:password."
        )

    async def count(self) -> int:
        """Tell how many objects of the content types there are."""
        await self.check()
        types = list(self._settings.content_types)
        found = await self._search(self.site, {"b_size": 1, "portal_type": types})
        return _total(found)

    async def list_objects(
        self, below: str = "", *, visitor: bool = False
    ) -> AsyncGenerator[Summary, None]:
        """Yield every object at and below an address, or of the whole site.

        Objects come by their UIDs, and each page begins at the last UID of the one before: however
        many are changed meanwhile, none is passed over, and the listing ends.
        """
        last = BEFORE_ALL
        while True:
            query = {
                "sort_on": "UID",
                "UID.query": last,
                "UID.range": "min",
                "b_size": LISTED_AT_ONCE,
                "metadata_fields": FIELDS,
            }
            found = await self._search(below or self.site, query, visitor)
            summaries = [item for item in map(summary, _items(found)) if item is not None]
            fresh = [item for item in summaries if item.uid > last]
            for item in fresh:
                yield item
            if _total(found) < LISTED_AT_ONCE:
                return
            if not fresh:
                raise PloneUnavailable(
                    f"The site {self.site} does not list its objects in order of their UIDs. "
                    "Check that it has the index UID in its catalog."
                )
            last = fresh[-1].uid

    async def visible(self, uids: Sequence[str]) -> set[str]:
        """Return those of these objects that the site's visitors find."""
        found: set[str] = set()
        for some in _several(uids, NAMED_AT_ONCE):
            query = {"UID": list(some), "b_size": len(some), "metadata_fields": ["UID"]}
            listed = _items(await self._search(self.site, query, visitor=True))
            found |= {str(item.get("UID")) for item in listed} & set(some)
        return found

    async def items(self, uids: Sequence[str]) -> list[Item]:
        """Return these objects whole, but for those that are gone or that the site fails at."""
        found: list[Item] = []
        for some in _several(uids, NAMED_AT_ONCE):
            try:
                found += await self._whole(some)
            except (BrokenAnswer, TooLarge):
                if len(some) == 1:
                    continue
                for uid in some:
                    found += await self.items([uid])
        return found

    async def _whole(self, uids: Sequence[str]) -> list[Item]:
        found = _items(await self._search(self.site, _uid_query(uids)))
        return [item for item in found if item.get("UID") in uids]

    async def item(self, uid: str) -> Item | None:
        """Return one whole object; None if there is none."""
        found = await self._search(self.site, _uid_query([uid]))
        given = next((entry for entry in _items(found) if entry.get("UID") == uid), None)
        if given is None and _total(found):
            raise PloneUnavailable(
                f"The site {self.site} has the object {uid} and does not give it. Try again later."
            )
        return given

    async def place(self, address: str) -> Summary | None:
        """Return the object at an address; None if there is none that the credential may view."""
        query = {"path.depth": 0, "metadata_fields": FIELDS}
        response = await self._get(f"{address}/@search", query)
        if response.status in (*GONE, *REFUSED):
            return None
        items = _items(self._check_listing(self._read_found(response), query))
        return summary(items[0]) if items else None

    async def get(self, address: str, *, visitor: bool = False) -> Item | None:
        """What is at an address of the site; None for nothing, or nothing that may be viewed."""
        response = await self._get(address, {}, visitor)
        if response.status in (*GONE, *REFUSED) or 300 <= response.status < 400:
            return None
        if response.status != 200:
            raise self._status_error(response.status)
        found = self._json(response)
        return found if isinstance(found, dict) else None

    async def read_sharing(self, address: str) -> Item | None:
        """Who an object is shared with (`@sharing`); None where the site does not tell this."""
        response = await self._get(f"{address}/@sharing", {})
        if response.status in (*GONE, *REFUSED, 501):
            return None
        if response.status != 200:
            raise self._status_error(response.status)
        found = self._json(response)
        return found if isinstance(found, dict) and "entries" in found else None

    async def local_roles(self, uids: Sequence[str]) -> dict[str, list[LocalRoles]]:
        """Return the roles that users and groups have at these objects themselves, by UID. Sharing
        leaves out who owns them."""
        found: dict[str, list[LocalRoles]] = {}
        for some in _several(uids, NAMED_AT_ONCE):
            fields = ["UID", "get_local_roles"]
            query = {"UID": list(some), "b_size": len(some), "metadata_fields": fields}
            for item in _items(await self._search(self.site, query)):
                found[str(item.get("UID"))] = list(_roles(item.get("get_local_roles")))
        return found

    async def download(self, address: str, size: int | None = None) -> bytes:
        """Return a file of the site, of so many bytes if that is known; raises TooLarge."""
        if site_path(self.site, address) is None:
            raise PloneUnavailable(f"The file {address[:200]} is not on the site {self.site}.")
        response = await self._get(address, {})
        if response.status != 200:
            raise PloneUnavailable(
                f"The file {address[:200]} cannot be had (status {response.status})."
            )
        if size is not None and len(response.content) != size:
            raise PloneUnavailable(
                f"The file {address[:200]} came with {len(response.content):,} bytes instead of "
                f"{size:,} ({response.kind or 'no type'}). Try again later."
            )
        return response.content

    async def _search(self, place: str, query: Mapping[str, Any], visitor: bool = False) -> Item:
        response = await self._get(f"{place}/@search", query, visitor)
        if visitor and (response.status in REFUSED or 300 <= response.status < 400):
            return {"items": [], "items_total": 0}  # The whole site is behind its login.
        return self._check_listing(self._read_found(response), query)

    def _check_listing(self, found: Item, query: Mapping[str, Any]) -> Item:
        """A listing with all that it should have: what is missing would be taken for deleted, or
        for less shared than it is. Of whole objects those are missing that cannot be made."""
        wanted = min(int(query.get("b_size", 1)), _total(found))
        if not query.get("fullobjects") and len(_items(found)) < wanted:
            raise PloneUnavailable(
                f"The site {self.site} lists {len(_items(found)):,} of {wanted:,} objects, so it "
                "is unknown which there are. Try again later; nothing was deleted."
            )
        return found

    def _read_found(self, response: _Response) -> Item:
        if response.status in REFUSED:
            raise ConfigError(
                f"The site {self.site} refuses the credential (status {response.status}). Check "
                "PLONE__TOKEN."
            )
        if response.status != 200:
            raise self._status_error(response.status)
        found = self._json(response)
        if not isinstance(found, dict) or not isinstance(found.get("items"), list):
            raise PloneUnavailable(f"The site {self.site} answered a search without items.")
        return found

    def _json(self, response: _Response) -> Any:
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            what = "an HTML page" if "html" in response.kind else "something else"
            raise PloneUnavailable(
                f"The site {self.site} answered with {what} instead of JSON. "
                "Check that PLONE__URL is the site's own address and that it has plone.restapi."
            ) from error

    def _status_error(self, status: int) -> RagstoneError:
        return PloneUnavailable(
            f"The site {self.site} answered with status {status}. "
            "Check that PLONE__URL is its own address and that it has plone.restapi."
        )

    async def _get(
        self, address: str, query: Mapping[str, Any], visitor: bool = False
    ) -> _Response:
        """Return a response, tried again where that may help."""
        if visitor:
            return await self._try_request("GET", address, self._visitor, {}, query)
        return await self._try_request("GET", address, self._http, await self._credential(), query)

    async def _credential(self) -> dict[str, str]:
        """The header that shows who asks; logs in, and renews a token that is about to end."""
        if self._settings.login and self._settings.basic:
            return {"authorization": basic_header(self._settings)}
        if self._settings.login and (not self._token or ends_soon(self._token)):
            self._token = await self._log_in()
        elif self._token and ends_soon(self._token):
            self._token = await self._renew_token() or self._token
        return {"authorization": f"Bearer {self._token}"} if self._token else {}

    async def _log_in(self) -> str:
        body = {"login": self._settings.login, "password": self._settings.password}
        response = await self._try_request(
            "POST", f"{self.site}/@login", self._visitor, {}, {}, body
        )
        self._visitor.cookies.clear()
        if response.status in (400, *REFUSED):
            raise ConfigError(
                f"The site {self.site} does not let the user {self._settings.login!r} in. Check "
                "PLONE__TOKEN."
            )
        if response.status != 200:
            raise self._status_error(response.status)
        return self._read_token(response)

    async def _renew_token(self) -> str:
        """Return a new token for one that is about to end; empty where the site gives none."""
        headers = {"authorization": f"Bearer {self._token}"}
        address = f"{self.site}/@login-renew"
        response = await self._try_request("POST", address, self._http, headers, {}, {})
        return self._read_token(response) if response.status == 200 else ""

    def _read_token(self, response: _Response) -> str:
        found = self._json(response)
        token = found.get("token") if isinstance(found, dict) else None
        if not isinstance(token, str) or not token.isascii():
            raise PloneUnavailable(f"The site {self.site} answered a login without a token.")
        return token

    async def _try_request(
        self,
        method: str,
        address: str,
        http: httpx2.AsyncClient,
        headers: Mapping[str, str],
        query: Mapping[str, Any],
        body: Mapping[str, str] | None = None,
    ) -> _Response:
        broken = False
        for attempt in range(RETRIES + 1):
            if attempt:
                await asyncio.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                response = await self._read_response(method, address, http, headers, query, body)
            except _Again as error:
                reason, broken = str(error), False
                continue
            if (response.status != 429 and response.status < 500) or response.status == 501:
                return response
            reason, broken = f"answered with status {response.status}", response.status == 500
        kind = BrokenAnswer if broken else PloneUnavailable
        raise kind(f"The site {self.site} {reason}. Try again later.")

    async def _read_response(
        self,
        method: str,
        address: str,
        http: httpx2.AsyncClient,
        headers: Mapping[str, str],
        query: Mapping[str, Any],
        body: Mapping[str, str] | None,
    ) -> _Response:
        most = MAX_FILE_MB * _MEGABYTE
        try:
            async with http.stream(
                method, address, params=dict(query), headers=dict(headers), json=body
            ) as response:
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    size += len(part)
                    if size > most:
                        raise TooLarge(f"{address[:200]} has more than {MAX_FILE_MB} MB.")
                    parts.append(part)
                kind = response.headers.get("content-type", "")
                return _Response(response.status_code, b"".join(parts), kind)
        except httpx2.TimeoutException as error:
            raise _Again(f"was silent for {SILENT_SECONDS:g} s") from error
        except httpx2.HTTPError as error:
            raise _Again(f"cannot be reached ({type(error).__name__})") from error


def _items(found: Item) -> list[Item]:
    return [item for item in found["items"] if isinstance(item, dict)]


def _uid_query(uids: Sequence[str]) -> dict[str, Any]:
    return {"UID": list(uids), "fullobjects": 1, "b_size": len(uids) + 1}


def _total(found: Item) -> int:
    total = found.get("items_total")
    return total if isinstance(total, int) else len(found["items"])


def _roles(said: Any) -> Iterator[LocalRoles]:
    """Yield pairs of a name and its roles, as Zope lists them."""
    for pair in said if isinstance(said, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list):
            yield str(pair[0]), tuple(str(role) for role in pair[1])


def _several(uids: Sequence[str], size: int) -> list[Sequence[str]]:
    return [uids[start : start + size] for start in range(0, len(uids), size)]
