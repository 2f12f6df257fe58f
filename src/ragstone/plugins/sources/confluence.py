"""The pages of a Confluence in Atlassian's cloud as a source, with their rights.

All pages are listed each time: their restrictions change without a new date, and what is gone is
told by what is left. A page is read as it is stored, not as it is shown: what is shown of other
pages in it would be for whoever may read this one.
"""

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from html import escape
from typing import Any, BinaryIO
from urllib.parse import quote

from pydantic import Field

from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.atlassian import (
    NOBODY,
    AccountPaths,
    AtlassianOptions,
    SiteAccounts,
    find_next,
)
from ragstone.plugins.sources.cloud import (
    CloudSource,
    check_link,
    dig,
    make_name,
    make_page,
    parse_time,
)
from ragstone.plugins.sources.remote_files import ServerTrouble
from ragstone.ports.sources import SourceKind, SourceParts

PAGE = "100"
"""Pages that are listed at a time."""

_RESTRICTIONS = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"

_PATHS = AccountPaths(
    "/rest/api/group/{id}/membersByGroupId?limit=200",
    "results",
    "/rest/api/user?accountId={id}",
    "/rest/api/group/by-id?id={id}",
)

_RESOURCE = re.compile(r"</?ri:[^<>]*>")
_SETTING = re.compile(
    r"<ac:(parameter|task-id|task-uuid|task-status)\b[^<>]*>[^<]*</ac:\1>", re.ASCII
)
_MACRO = re.compile(r"</?ac:[^<>]*>")

_Restriction = frozenset[str] | None
"""Who is let in; None where nobody is kept out."""


class ConfluenceOptions(AtlassianOptions):
    """Options of a Confluence."""

    url: str = Field(description="Its address, such as https://x.atlassian.net/wiki.")
    spaces: str = Field(
        "",
        pattern=r"^([\w~.-]+( *, *[\w~.-]+)*)?$",
        description="Keys of spaces, such as HR,IT; all but people's own if empty.",
    )


class Confluence(CloudSource):
    """`ports.sources.ItemSource` of pages, blog posts and what is attached to them."""

    def __init__(self, parts: SourceParts[ConfluenceOptions]) -> None:
        self._options = options = parts.options
        super().__init__(options.url, options.open_api())
        self._accounts = SiteAccounts(self._api, _PATHS, options.organization_readers)
        self._spaces: list[dict[str, Any]] = []
        # Of one space at a time.
        self._parents: dict[str, str] = {}
        self._restrictions: dict[str, _Restriction] = {}
        self._rights: dict[str, frozenset[str]] = {}

    async def _open(self) -> None:
        wanted = [key.strip() for key in self._options.spaces.split(",") if key.strip()]
        asked = {"keys": ",".join(wanted)} if wanted else {"type": "global"}
        listing = self._api.ask_pages(
            "/api/v2/spaces", "results", find_next, status="current", limit="250", **asked
        )
        async for page in listing:
            self._spaces += page["results"]
        if missing := set(wanted) - {dig(space, "key") for space in self._spaces}:
            raise ServerTrouble(f"it has no space {min(missing)!r} for this user")

    async def _list(self, since: Mapping[str, Any]) -> AsyncGenerator[SourceItem, None]:
        for space in self._spaces:
            key = dig(space, "key")
            if self._options.rights:
                await self._read_rights(space)
            async for row in self._search(key, "type in (page, blogpost)", "version"):
                yield await self._with_readers(_make_item(key, row), dig(row, "id"))
            async for row in self._search(key, "type = attachment", "version,container"):
                id = dig(row, "container", "id")
                yield await self._with_readers(_make_attachment(key, row), id)

    async def _write(self, item: SourceItem, target: BinaryIO) -> None:
        kind, *ids = (quote(part, safe="") for part in item.key.split("/"))
        if kind == "attachment":
            place = f"/rest/api/content/{ids[0]}/child/attachment/{ids[1]}/download"
            await self._api.download(place, target)
            return
        told = await self._api.ask(f"/api/v2/{kind}s/{ids[0]}", **{"body-format": "storage"})
        storage = dig(told, "body", "storage", default={})
        if "value" not in storage:
            raise ServerTrouble("it is sent without its text", is_local=True)
        target.write(make_page(item.title, read_storage(dig(storage, "value"))))

    async def _search(
        self, space: str, condition: str, expand: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        listing = self._api.ask_pages(
            "/rest/api/content/search",
            "results",
            find_next,
            cql=f'space = "{space}" and {condition} order by created',
            expand=expand,
            limit=PAGE,
        )
        async for page in listing:
            base = dig(page, "_links", "base")
            for row in page["results"]:
                row["link"] = f"{base}{dig(row, '_links', 'webui')}"
                yield row

    async def _read_rights(self, space: dict[str, Any]) -> None:
        """Find who may view the space, and which pages are below which and restricted to whom."""
        place = f"/api/v2/spaces/{quote(dig(space, 'id'), safe='')}/permissions?limit=250"
        viewers: set[str] = set()
        async for page in self._api.ask_pages(place, "results", find_next):
            for row in page["results"]:
                kind, id = dig(row, "principal", "type"), dig(row, "principal", "id")
                operation = dig(row, "operation", "key"), dig(row, "operation", "targetType")
                if operation == ("read", "space") and kind in ("user", "group") and id:
                    viewers.add(f"{kind}:{id}")
        self._parents, self._restrictions = {}, {}
        self._rights = {"": frozenset(viewers)}
        expand = f"ancestors,{_RESTRICTIONS}"
        async for row in self._search(dig(space, "key"), "type in (page, blogpost)", expand):
            above = ""
            for id in [dig(page, "id") for page in dig(row, "ancestors", default=[])]:
                self._parents.setdefault(id, above)
                above = id
            self._parents[dig(row, "id")] = above
            told = dig(row, "restrictions", "read", default={})
            self._restrictions[dig(row, "id")] = self._read_restriction(told)

    def _read_restriction(self, told: dict[str, Any]) -> _Restriction:
        """Return whom an answer lets in: nobody, if it does not say that."""
        users = dig(told, "restrictions", "user", default={})
        groups = dig(told, "restrictions", "group", default={})
        if not isinstance(users.get("results"), list) or not isinstance(
            groups.get("results"), list
        ):
            return NOBODY
        found = {self._accounts.find_user(row) for row in users["results"]}
        found |= {self._accounts.find_group(row) for row in groups["results"]}
        is_restricted = found or users.get("size") or groups.get("size")
        return frozenset(found - {""}) if is_restricted else None

    async def _with_readers(self, item: SourceItem, page: str) -> SourceItem:
        """Return the same with whoever may read a page."""
        if not self._options.rights:
            return item
        # What was listed only now gets its readers the next time.
        rights = await self._find_rights(page) if page in self._restrictions else NOBODY
        readers = await self._accounts.name_readers(rights)
        return replace(item, readers=readers, closed=not readers)

    async def _find_rights(self, page: str) -> frozenset[str]:
        """Who may read a page: who may view the space, and is let in by it and all above it."""
        chain: list[str] = []
        while page not in self._rights:
            if page in chain:
                return NOBODY
            chain.append(page)
            page = self._parents.get(page, "")
        rights = self._rights[page]
        for id in reversed(chain):
            if id not in self._restrictions:
                self._restrictions[id] = await self._ask_for_restriction(id)
            restriction = self._restrictions[id]
            if restriction is not None:
                rights = await self._accounts.intersect(rights, restriction)
            self._rights[id] = rights
        return rights

    async def _ask_for_restriction(self, id: str) -> _Restriction:
        """That of what is no page but has some below it, a folder for example."""
        place = f"/rest/api/content/{quote(id, safe='')}/restriction/byOperation/read"
        try:
            told = await self._api.ask(place, expand="restrictions.user,restrictions.group")
        except ServerTrouble as trouble:
            if not trouble.is_refused:
                raise
            told = {}
        return self._read_restriction(told)


def read_storage(text: str) -> str:
    """HTML of Confluence's storage format: what macros hold, without their settings."""
    parts = text.split("<![CDATA[")
    pieces = [parts[0]]
    for part in parts[1:]:
        inside, _, behind = part.partition("]]>")
        pieces += (escape(inside), behind)
    html = _RESOURCE.sub("", "".join(pieces))
    html = _SETTING.sub("", html)
    html = html.replace("<ac:plain-text-body>", "<pre>").replace("</ac:plain-text-body>", "</pre>")
    return _MACRO.sub("", html)


def _make_item(space: str, row: dict[str, Any]) -> SourceItem:
    id, title, kind = dig(row, "id"), dig(row, "title"), dig(row, "type")
    return SourceItem(
        f"{kind}/{id}",
        str(dig(row, "version", "number", default=0)),
        f"{space}/{make_name(title)} {id}.html",
        title=title,
        url=check_link(row["link"]),
        modified=parse_time(dig(row, "version", "when")),
        metadata={"space": space},
    )


def _make_attachment(space: str, row: dict[str, Any]) -> SourceItem:
    id, page = dig(row, "id"), dig(row, "container", "id")
    folder = f"{make_name(dig(row, 'container', 'title'))} {page}"
    return SourceItem(
        f"attachment/{page}/{id}",
        str(dig(row, "version", "number", default=0)),
        f"{space}/{folder}/{dig(row, 'title').replace('/', ' ')}",
        url=check_link(row["link"]),
        modified=parse_time(dig(row, "version", "when")),
        metadata={"space": space},
    )


CONFLUENCE = SourceKind(
    "Spaces of Confluence in Atlassian's cloud.", ConfluenceOptions, Confluence, of_server=True
)
