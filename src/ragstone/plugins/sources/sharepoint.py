"""A document library of SharePoint, or a OneDrive, as a source with the rights of its files.

Microsoft Graph says what has changed since a time, also whose rights, but not of the files below a
folder whose rights have changed: after any change of a folder the rights of all are asked for. An
app that may not see all changes of rights is not told that it misses some, so it always asks.
"""

import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from ragstone.core.sync import SourceItem
from ragstone.ingest.places import is_hidden
from ragstone.plugins.sources.cloud import (
    Api,
    CloudOptions,
    CloudSource,
    TokenAuth,
    check_link,
    dig,
    make_digest,
    make_readers,
    parse_time,
    wait_or_raise,
)
from ragstone.plugins.sources.remote_files import ServerTrouble, check_address, explain_status
from ragstone.plugins.sources.site import find_pause
from ragstone.ports.sources import SourceKind, SourceParts

BATCH = 20
"""Requests that Graph takes at a time."""

_PREFER = "deltashowremovedasdeleted, deltatraversepermissiongaps, deltashowsharingchanges"

_SEES_ALL_RIGHTS = "Sites.FullControl.All"
"""The permission of an app that is told of every change of rights."""

_FIELDS = "id,name,cTag,webUrl,lastModifiedDateTime,file,folder,remoteItem"

_READING = {"read", "write", "owner"}

_MEMBER = "i:0#.f|membership|"
_GROUPS = ("c:0t.c|tenant|", "c:0o.c|federateddirectoryclaimprovider|")
_ALL_GUESTS_TOO = "c:0(.s|true"
_ALL_STAFF = "c:0-.f|rolemanager|spo-grid-all-users/"


class SharePointOptions(CloudOptions):
    """Options of a library or OneDrive."""

    tenant: str = Field(pattern=r"^[\w.-]+$", description="The tenant: its id or domain.")
    client: str = Field(min_length=1, description="The id of the app.")
    secret: SecretStr = Field(description="The app's client secret.")
    site: str = Field("", description="The address of a site of SharePoint.")
    library: str = Field("", description="A library of it, if not the usual one.")
    user: str = Field("", description="Whose OneDrive it is, such as ada@x.org.")
    login: str = Field(
        "https://login.microsoftonline.com", description="Where apps sign in, in other clouds."
    )
    graph: str = Field(
        "https://graph.microsoft.com/v1.0", description="The address of Graph, in other clouds."
    )

    _check_addresses = field_validator("login", "graph")(check_address)

    @model_validator(mode="after")
    def _check_place(self) -> "SharePointOptions":
        if bool(self.site) == bool(self.user):
            raise ValueError("give a site or a user")
        if self.site:
            check_address(self.site)
        return self


class DocumentLibrary(CloudSource):
    """`ports.sources.ItemSource` of the files of a library. Shortcuts to other places, and
    notebooks, are passed over."""

    def __init__(self, parts: SourceParts[SharePointOptions]) -> None:
        self._options = options = parts.options
        self._name = parts.name
        form = {
            "grant_type": "client_credentials",
            "client_id": options.client,
            "client_secret": options.secret.get_secret_value(),
            "scope": f"https://{urlsplit(options.graph).netloc}/.default",
        }
        address = f"{options.login.rstrip('/')}/{options.tenant}/oauth2/v2.0/token"
        self._auth = TokenAuth(address, lambda: form)
        headers = {"Prefer": _PREFER, "deltaExcludeParent": "true"}
        super().__init__(options.site or options.user, Api(options.graph, self._auth, headers))
        self._drive = ""

    async def _open(self) -> None:
        options = self._options
        if options.user:
            owner = f"/users/{quote(options.user, safe='')}"
        else:
            site = urlsplit(options.site)
            path = f":{site.path.rstrip('/')}" if site.path.strip("/") else ""
            owner = f"/sites/{dig(await self._api.ask(f'/sites/{site.hostname}{path}'), 'id')}"
        drive = await self._api.ask(f"{owner}/drive")
        if options.library:
            async for page in self._api.ask_pages(f"{owner}/drives", "value", _find_next):
                named = [row for row in page["value"] if dig(row, "name") == options.library]
                if named:
                    drive = named[0]
                    break
            else:
                raise ServerTrouble(f"it has no library {options.library!r}")
        self._drive = f"/drives/{quote(dig(drive, 'id'), safe='!')}"

    async def _list(self, since: Mapping[str, Any]) -> AsyncGenerator[SourceItem, None]:
        changed = await self._find_changes(since) if self._options.rights else None
        batch: list[SourceItem] = []
        async for item in self._walk():
            self._keys.append(item.key)
            if not self._options.rights:
                yield item
            elif changed is None or item.key in changed:
                batch.append(item)
            if len(batch) == BATCH:
                for ready in await self._add_readers(batch):
                    yield ready
                batch = []
        for ready in await self._add_readers(batch):
            yield ready

    async def _find_changes(self, since: Mapping[str, Any]) -> set[str] | None:
        """Return the files that have changed, None if the rights of any may have; and keep from
        where on the next run is to ask."""
        pages = self._api.ask_pages(f"{self._drive}/root/permissions", "value", _find_next)
        rights = make_digest([page["value"] async for page in pages])
        if not self._sees_all_rights():
            return None
        place = {"place": f"{self._options.graph}{self._drive}", "rights": rights}
        changed: set[str] | None = None
        if place.items() <= since.items():
            try:
                changed = await self._follow(dig(since, "delta"))
            except ServerTrouble as trouble:
                # It forgets what it said a long time ago.
                if not trouble.is_local:
                    raise
        if not self._checkpoint:
            await self._follow(f"{self._drive}/root/delta?token=latest")
        self._checkpoint = {**place, **self._checkpoint}
        return changed

    async def _follow(self, link: str) -> set[str] | None:
        """Return the files that a list of changes names, None if a folder is among them; and keep
        where the next list begins."""
        changed: set[str] = set()
        has_folder = False
        async for page in self._api.ask_pages(link, "value", _find_next):
            for row in page["value"]:
                changed.add(dig(row, "id"))
                # The root is always there.
                has_folder |= "folder" in row and "root" not in row
            if not _find_next(page):
                if not (delta := dig(page, "@odata.deltaLink")):
                    raise ServerTrouble("its listing is not whole")
                self._checkpoint = {"delta": delta}
        return None if has_folder else changed

    def _sees_all_rights(self) -> bool:
        """Tell whether the token says so; a token that cannot be read does not."""
        try:
            part = self._auth.token.split(".")[1]
            told = json.loads(base64.urlsafe_b64decode(f"{part}==="))
        except (IndexError, ValueError):
            return False
        return _SEES_ALL_RIGHTS in dig(told, "roles", default=[])

    async def _walk(self) -> AsyncGenerator[SourceItem, None]:
        """Yield all files, still without readers."""
        folders, seen = [("root", "")], {"root"}
        while folders:
            id, folder = folders.pop()
            fields = {"$top": "200", "$select": _FIELDS}
            place = f"{self._locate(id)}/children"
            listing = self._api.ask_pages(place, "value", _find_next, **fields)
            async for page in listing:
                for row in page["value"]:
                    id, path = dig(row, "id"), f"{folder}{dig(row, 'name')}"
                    if is_hidden(path) or "remoteItem" in row:
                        continue
                    if "file" in row:
                        yield _make_item(row, id, path)
                    elif "folder" in row:
                        if id in seen:
                            raise ServerTrouble("its folders lead back to where they were")
                        seen.add(id)
                        folders.append((id, f"{path}/"))

    async def _add_readers(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """The same with the readers of each; one whose rights cannot be had is for nobody."""
        waiting = {str(number): item for number, item in enumerate(items)}
        ready: list[SourceItem] = []
        attempt = 0
        while waiting:
            attempt += 1
            requests = [
                {"id": number, "method": "GET", "url": f"{self._locate(item.key)}/permissions"}
                for number, item in waiting.items()
            ]
            told = await self._api.ask("/$batch", {"requests": requests})
            trouble = ServerTrouble("its listing is not whole")
            for response in dig(told, "responses", default=[]):
                status = dig(response, "status", default=0)
                headers = {
                    name.lower(): str(value)
                    for name, value in dig(response, "headers", default={}).items()
                }
                failure = explain_status(status, headers)
                if status != 200 and not failure.is_refused:
                    pause = find_pause(status, headers)
                    trouble = ServerTrouble(str(failure), retry_after=pause)
                elif item := waiting.pop(dig(response, "id"), None):
                    body = dig(response, "body", default={}) if status == 200 else {}
                    readers = await self._list_readers(body)
                    ready.append(replace(item, readers=readers, closed=not readers))
            if waiting:
                await wait_or_raise(trouble, attempt)
        return ready

    async def _list_readers(self, page: dict[str, Any]) -> tuple[str, ...]:
        """Return who may read, by the permissions of a file, also those of further pages."""
        permissions = dig(page, "value", default=[])
        if further := _find_next(page):
            async for page in self._api.ask_pages(further, "value", _find_next):
                permissions = [*permissions, *page["value"]]
        readers: dict[str, None] = {}
        for permission in permissions:
            until = dig(permission, "expirationDateTime")
            # What ends at some time could go on here. Whom a link is for besides those whom it
            # names is not known.
            if not _READING.isdisjoint(dig(permission, "roles", default=[])) and (
                not until or until.startswith("0001-")
            ):
                people = dig(permission, "grantedToIdentitiesV2", default=[])
                for identity in (dig(permission, "grantedToV2", default={}), *people):
                    readers |= dict.fromkeys(self._name_readers(identity))
        return tuple(readers)

    def _name_readers(self, identity: dict[str, Any]) -> Sequence[str]:
        """Return the names of an account or group, none for one that is not known here."""
        login = dig(identity, "siteUser", "loginName").lower()
        if login == _ALL_GUESTS_TOO or login.startswith(_ALL_STAFF):
            return self._options.organization_readers
        for start in _GROUPS:
            if login.startswith(start):
                # Behind the id of a group, _o stands for its owners alone.
                id = login.removeprefix(start)
                return () if "_" in id else make_readers("group", id)
        if group := dig(identity, "group", "id"):
            return make_readers("group", group.lower())
        if group := dig(identity, "siteGroup", "displayName").strip():
            # Another site has a group of this name, too.
            return make_readers("group", f"{self._name}/{group}")
        account = login.removeprefix(_MEMBER) if login.startswith(_MEMBER) else ""
        if "@" not in account or "#" in account:
            mail = dig(identity, "siteUser", "email") or dig(identity, "user", "email")
            account = mail.lower()
        return make_readers("user", account)

    async def _write(self, item: SourceItem, target: BinaryIO) -> None:
        await self._api.download(f"{self._locate(item.key)}/content", target)

    def _locate(self, id: str) -> str:
        place = "root" if id == "root" else f"items/{quote(id, safe='!')}"
        return f"{self._drive}/{place}"


def _find_next(page: dict[str, Any]) -> str:
    return str(dig(page, "@odata.nextLink"))


def _make_item(row: dict[str, Any], id: str, path: str) -> SourceItem:
    return SourceItem(
        id,
        dig(row, "cTag") or dig(row, "lastModifiedDateTime"),
        path,
        url=check_link(dig(row, "webUrl")),
        modified=parse_time(dig(row, "lastModifiedDateTime")),
    )


SHAREPOINT = SourceKind(
    "A library of SharePoint, or a OneDrive.", SharePointOptions, DocumentLibrary, of_server=True
)
