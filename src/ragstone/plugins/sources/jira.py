"""The issues of a Jira in Atlassian's cloud as a source, with their rights.

All issues are listed each time: who may browse a project changes without a date of its issues, and
what is gone is told by what is left. Comments that only some may see are left out.
"""

import os
from collections.abc import AsyncGenerator, Mapping, Set
from dataclasses import replace
from html import escape
from typing import Any, BinaryIO
from urllib.parse import quote

from pydantic import Field

from ragstone.core.chunk import EVERYONE
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.atlassian import (
    NOBODY,
    ORGANIZATION,
    AccountPaths,
    AtlassianOptions,
    SiteAccounts,
    find_next,
)
from ragstone.plugins.sources.cloud import CloudSource, dig, make_page, parse_time
from ragstone.plugins.sources.remote_files import ServerTrouble
from ragstone.ports.sources import SourceKind, SourceParts

_FIELDS = "summary,updated,security,attachment,reporter,assignee"

_SHOWN = {
    "issuetype": "Type",
    "status": "Status",
    "resolution": "Resolution",
    "priority": "Priority",
    "assignee": "Assignee",
    "reporter": "Reporter",
    "labels": "Labels",
    "components": "Components",
    "fixVersions": "Fix versions",
    "created": "Created",
    "duedate": "Due",
}
"""Fields that stand above the description, and what they are called."""

_PATHS = AccountPaths(
    "/rest/api/3/group/member?groupId={id}&maxResults=50",
    "values",
    "/rest/api/3/user?accountId={id}",
    "/rest/api/3/group/bulk?groupId={id}",
)

_Holders = list[dict[str, Any]]
"""Whom a right is given to, as Jira says it."""


class JiraOptions(AtlassianOptions):
    """Options of a Jira."""

    url: str = Field(description="Its address, such as https://x.atlassian.net.")
    projects: str = Field(
        "", pattern=r"^(\w+( *, *\w+)*)?$", description="Keys of projects, such as HR,IT; or all."
    )


class Jira(CloudSource):
    """`ports.sources.ItemSource` of issues and what is attached to them."""

    def __init__(self, parts: SourceParts[JiraOptions]) -> None:
        self._options = options = parts.options
        super().__init__(options.url, options.open_api())
        self._accounts = SiteAccounts(self._api, _PATHS, options.organization_readers)
        self._projects: list[str] = []
        # Of one project at a time.
        self._place = ""
        self._roles: dict[str, frozenset[str]] = {}
        self._browsing: _Holders = []
        self._levels: dict[str, _Holders] | None = None

    async def _open(self) -> None:
        wanted = [key.strip() for key in self._options.projects.split(",") if key.strip()]
        for key in wanted:
            self._projects.append(dig(await self._api.ask(f"/rest/api/3/project/{key}"), "key"))
        if not wanted:
            listing = self._api.ask_pages("/rest/api/3/project/search", "values", find_next)
            async for page in listing:
                self._projects += [dig(row, "key") for row in page["values"]]

    async def _list(self, since: Mapping[str, Any]) -> AsyncGenerator[SourceItem, None]:
        for project in self._projects:
            if self._options.rights:
                await self._read_rights(project)
            listing = self._api.ask_pages(
                "/rest/api/3/search/jql",
                "issues",
                find_next,
                jql=f'project = "{project}" ORDER BY created',
                fields=_FIELDS,
                maxResults="100",
            )
            async for page in listing:
                for row in page["issues"]:
                    issue = self._make_item(project, row)
                    if self._options.rights:
                        readers = await self._find_readers(dig(row, "fields", default={}))
                        issue = replace(issue, readers=readers, closed=not readers)
                    yield issue
                    for attachment in dig(row, "fields", "attachment", default=[]):
                        yield _make_attachment(issue, attachment)

    async def _write(self, item: SourceItem, target: BinaryIO) -> None:
        kind, id = (quote(part, safe="") for part in item.key.split("/"))
        if kind == "attachment":
            await self._api.download(f"/rest/api/3/attachment/content/{id}", target)
            return
        issue = await self._api.ask(
            f"/rest/api/3/issue/{id}",
            fields=f"summary,description,{','.join(_SHOWN)}",
            expand="renderedFields",
        )
        fields = dig(issue, "fields", default={})
        if not fields:
            raise ServerTrouble("it is sent without its fields", is_local=True)
        shown = [(name, _read_field(fields.get(field))) for field, name in _SHOWN.items()]
        rows = "".join(f"<li>{name}: {escape(text)}</li>" for name, text in shown if text)
        body = f"<ul>{rows}</ul>{dig(issue, 'renderedFields', 'description')}"
        comments = self._api.ask_pages(
            f"/rest/api/3/issue/{id}/comment", "comments", find_next, expand="renderedBody"
        )
        async for page in comments:
            body += "".join(map(_show_comment, page["comments"]))
        target.write(make_page(item.title, body))

    def _make_item(self, project: str, row: dict[str, Any]) -> SourceItem:
        key, summary = dig(row, "key"), dig(row, "fields", "summary")
        return SourceItem(
            f"issue/{dig(row, 'id')}",
            dig(row, "fields", "updated"),
            f"{project}/{key}.html",
            title=f"{key}: {summary}",
            url=f"{self._options.url.rstrip('/')}/browse/{quote(key)}",
            modified=parse_time(dig(row, "fields", "updated")),
            metadata={"project": project},
        )

    async def _read_rights(self, project: str) -> None:
        """Find who may browse a project, and whom its security levels let in."""
        self._place = f"/rest/api/3/project/{quote(project)}"
        self._roles = {}
        scheme = await self._ask_if_there(f"{self._place}/permissionscheme?expand=all")
        self._browsing = [
            dig(row, "holder", default={})
            for row in dig(scheme, "permissions", default=[])
            if dig(row, "permission") == "BROWSE_PROJECTS"
        ]
        # Who may see the one may see the other, so that what is not there is not hidden either.
        levels = await self._ask_if_there(f"{self._place}/issuesecuritylevelscheme")
        self._levels = None
        if levels is not None:
            members: dict[str, _Holders] = {}
            place = f"/rest/api/3/issuesecurityschemes/{levels.get('id')}/members?expand=all"
            async for page in self._api.ask_pages(place, "values", find_next):
                for row in page["values"]:
                    level = members.setdefault(str(row.get("issueSecurityLevelId")), [])
                    level.append(dig(row, "holder", default={}))
            self._levels = members

    async def _ask_if_there(self, path: str) -> dict[str, Any] | None:
        try:
            return await self._api.ask(path)
        except ServerTrouble as trouble:
            if not trouble.is_refused:
                raise
            return None

    async def _find_readers(self, fields: dict[str, Any]) -> tuple[str, ...]:
        """Who may read an issue: who may browse the project, and is let in by the issue's level."""
        rights: Set[str] = await self._list_principals(self._browsing, fields)
        level = fields.get("security")
        if self._levels is not None and "security" not in fields:
            # It has a level that is not shown, or none.
            rights = NOBODY
        elif level is not None:
            holders = (self._levels or {}).get(str(dig(level, "id")), [])
            let_in = await self._list_principals(holders, fields)
            rights = await self._accounts.intersect(rights, let_in)
        return await self._accounts.name_readers(rights)

    async def _list_principals(self, holders: _Holders, fields: dict[str, Any]) -> set[str]:
        """Return who has a right; those whom a holder of another kind stands for are left out."""
        principals: set[str] = set()
        for holder in holders:
            kind, parameter = dig(holder, "type"), dig(holder, "parameter")
            if kind == "anyone":
                principals.add(EVERYONE)
            elif kind == "applicationRole" and not parameter:
                principals.add(ORGANIZATION)
            elif kind == "group":
                told = {"groupId": dig(holder, "value"), "name": parameter}
                principals.add(self._accounts.find_group(told))
            elif kind == "user":
                told = dig(holder, "user", default={}) or {"accountId": parameter}
                principals.add(self._accounts.find_user(told))
            elif kind in ("reporter", "assignee"):
                principals.add(self._accounts.find_user(dig(fields, kind, default={})))
            elif kind == "projectRole":
                principals |= await self._list_role(dig(holder, "value") or parameter)
        return principals - {""}

    async def _list_role(self, id: str) -> frozenset[str]:
        if id not in self._roles:
            told = await self._ask_if_there(f"{self._place}/role/{quote(id, safe='')}")
            actors = dig(told, "actors", default=[])
            found = {self._accounts.find_user(dig(row, "actorUser", default={})) for row in actors}
            found |= {
                self._accounts.find_group(dig(row, "actorGroup", default={})) for row in actors
            }
            self._roles[id] = frozenset(found - {""})
        return self._roles[id]


def _make_attachment(issue: SourceItem, told: dict[str, Any]) -> SourceItem:
    """Return what is attached to an issue; it never changes."""
    id = str(told.get("id", ""))
    name, ending = os.path.splitext(dig(told, "filename").replace("/", " "))
    return SourceItem(
        f"attachment/{id}",
        id,
        f"{issue.path.removesuffix('.html')}/{name} {id}{ending}",
        issue.readers,
        url=issue.url,
        modified=parse_time(dig(told, "created")),
        metadata=issue.metadata,
        closed=issue.closed,
    )


def _read_field(value: object) -> str:
    """Return the text of a field of any type; empty for what has none."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_read_field, value)))
    return str(dig(value, "displayName") or dig(value, "name") or dig({"": value}, ""))


def _show_comment(comment: dict[str, Any]) -> str:
    """Return a comment as HTML, empty for one that is not for all who may read the issue."""
    if comment.get("visibility") or comment.get("jsdPublic") is False:
        return ""
    author, created = dig(comment, "author", "displayName"), dig(comment, "created")[:10]
    return f"<h2>{escape(f'{author}, {created}')}</h2>{dig(comment, 'renderedBody')}"


JIRA = SourceKind("Issues of Jira in Atlassian's cloud.", JiraOptions, Jira, of_server=True)
