"""What Confluence and Jira share: how a source signs in, and whom their rights name.

Rights are sets of accounts and groups by their ids. Where two rights must both hold, it is not by
names who has both: then groups are replaced by their members. What cannot be had counts for nobody.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import httpx2
from pydantic import Field, SecretStr, field_validator

from ragstone.core.chunk import EVERYONE
from ragstone.plugins.sources.cloud import Api, CloudOptions, Next, dig, make_readers
from ragstone.plugins.sources.remote_files import ServerTrouble, check_address

ORGANIZATION = "organization"
"""Among accounts and groups: whoever has signed in."""

NOBODY: frozenset[str] = frozenset()


class AtlassianOptions(CloudOptions):
    """Options of a site in Atlassian's cloud."""

    url: str = Field(description="The site's address.")
    user: str = Field(min_length=1, description="Mail address of the account.")
    token: SecretStr = Field(description="An API token of that account.")

    _check_url = field_validator("url")(check_address)

    def open_api(self) -> Api:
        """Return the API with the account's token."""
        return Api(self.url, httpx2.BasicAuth(self.user, self.token.get_secret_value()))


@dataclass(frozen=True, slots=True)
class AccountPaths:
    """Where a product tells of people. An id stands for {id}."""

    members: str
    rows: str
    user: str
    group: str


class SiteAccounts:
    """The accounts and groups of a site, each asked for once."""

    def __init__(self, api: Api, paths: AccountPaths, organization: tuple[str, ...]) -> None:
        self._api = api
        self._paths = paths
        self._organization = organization
        self._names: dict[str, str] = {}
        self._members: dict[str, frozenset[str]] = {}

    def find_user(self, told: dict[str, Any]) -> str:
        """Return the account that an answer tells of; empty if it is none."""
        if not (id := dig(told, "accountId")):
            return ""
        if mail := dig(told, "email") or dig(told, "emailAddress"):
            self._names[f"user:{id}"] = mail.lower()
        return f"user:{id}"

    def find_group(self, told: dict[str, Any]) -> str:
        """Return the group that an answer tells of; empty if it is none."""
        id, name = dig(told, "groupId") or dig(told, "id"), dig(told, "name")
        if id and name:
            self._names[f"group:{id}"] = name
        return f"group:{id}" if id else ""

    async def intersect(self, first: Set[str], second: Set[str]) -> frozenset[str]:
        """Return who is in both."""
        for all_of_them in (EVERYONE, ORGANIZATION):
            if all_of_them in first:
                return frozenset(second)
            if all_of_them in second:
                return frozenset(first)
        common = first & second
        users = await self._list_users(first - common) & await self._list_users(second - common)
        return frozenset(common | users)

    async def name_readers(self, principals: Iterable[str]) -> tuple[str, ...]:
        """Return their names here: accounts by their mail addresses, or by their ids where the
        addresses are hidden, and groups by their names."""
        readers: dict[str, None] = {}
        for principal in sorted(principals):
            if principal == EVERYONE:
                return (EVERYONE,)
            if principal == ORGANIZATION:
                readers |= dict.fromkeys(self._organization)
            else:
                kind: Literal["user", "group"] = "user" if principal[0] == "u" else "group"
                readers |= dict.fromkeys(make_readers(kind, await self._find_name(principal)))
        return tuple(readers)

    async def _find_name(self, principal: str) -> str:
        if principal not in self._names:
            kind, _, id = principal.partition(":")
            place = self._paths.user if kind == "user" else self._paths.group
            try:
                told = await self._api.ask(place.format(id=quote(id, safe="")))
            except ServerTrouble as trouble:
                if not trouble.is_refused:
                    raise
                told = {}
            found = [told, *dig(told, "values", default=[])]
            for row in found:
                if kind == "user":
                    self.find_user(row)
                else:
                    self.find_group(row)
            self._names.setdefault(principal, id if kind == "user" else "")
        return self._names[principal]

    async def _list_users(self, principals: Iterable[str]) -> frozenset[str]:
        users: set[str] = set()
        for principal in principals:
            if principal.startswith("user:"):
                users.add(principal)
            elif principal.startswith("group:"):
                users |= await self._list_members(principal)
        return frozenset(users)

    async def _list_members(self, group: str) -> frozenset[str]:
        if group not in self._members:
            place = self._paths.members.format(id=quote(group.removeprefix("group:"), safe=""))
            members: set[str] = set()
            try:
                async for page in self._api.ask_pages(place, self._paths.rows, find_next):
                    members |= {self.find_user(row) for row in page[self._paths.rows]}
            except ServerTrouble as trouble:
                if not trouble.is_refused:
                    raise
            self._members[group] = frozenset(members - {""})
        return self._members[group]


def find_next(page: dict[str, Any]) -> Next:
    """Return what leads to the page behind one of either product. Raises ServerTrouble where it
    says that there is more, but not where."""
    if link := dig(page, "_links", "next"):
        return str(link)
    if token := dig(page, "nextPageToken"):
        return {"nextPageToken": token}
    start, total = dig(page, "startAt", default=0), dig(page, "total", default=0)
    rows = dig(page, "values", default=[]) or dig(page, "comments", default=[])
    if start + len(rows) < total and "startAt" in page:
        return {"startAt": str(start + len(rows))}
    if page.get("isLast") is False:
        raise ServerTrouble("its listing is not whole")
    return ""
