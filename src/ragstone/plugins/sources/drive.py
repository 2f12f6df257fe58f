"""Files of Google Drive as a source, with their rights; Google's own documents are exported.

All files are listed each time, in My Drive with their rights. In a shared drive these have to be
asked for file by file: only where the list of changes, which also knows changes of rights, names
the file, or where a folder or the members of the drive have changed.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO
from urllib.parse import quote

import jwt
from pydantic import Field, SecretStr, field_validator

from ragstone.core.chunk import EVERYONE
from ragstone.core.clock import state_time
from ragstone.core.sync import SourceItem
from ragstone.ingest.pipeline import unwrap_error_group
from ragstone.plugins.sources.cloud import (
    Api,
    CloudOptions,
    CloudSource,
    Next,
    TokenAuth,
    check_link,
    dig,
    make_digest,
    make_readers,
    parse_time,
)
from ragstone.plugins.sources.remote_files import ServerTrouble, check_address
from ragstone.ports.sources import SourceKind, SourceParts

AT_ONCE = 8
"""Files whose rights are asked for at a time."""

_SCOPE = "https://www.googleapis.com/auth/drive.readonly"
_GOOGLE = "application/vnd.google-apps."
_OFFICE = "application/vnd.openxmlformats-officedocument."
_EXPORTS = {
    "document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    "spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    "presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
}

_ROLES = {"owner", "organizer", "fileOrganizer", "writer", "commenter", "reader"}
_RIGHTS = (
    "permissions(id,type,role,emailAddress,domain,allowFileDiscovery,expirationTime,deleted,view,"
    "inheritedPermissionsDisabled)"
)
_FIELDS = f"id,name,parents,mimeType,md5Checksum,modifiedTime,webViewLink,{_RIGHTS}"


class DriveOptions(CloudOptions):
    """Options of Google Drive."""

    key: SecretStr = Field(description="The JSON key of a service account.")
    user: str = Field("", description="Whose files, such as ada@x.org; or the account's own.")
    drive: str = Field("", pattern=r"^[\w-]*$", description="The id of a shared drive.")
    api: str = Field("https://www.googleapis.com/drive/v3", description="The address of the API.")

    _check_api = field_validator("api")(check_address)


class GoogleDrive(CloudSource):
    """`ports.sources.ItemSource` of files. Shortcuts, forms and maps are passed over."""

    def __init__(self, parts: SourceParts[DriveOptions]) -> None:
        self._options = options = parts.options
        try:
            key = json.loads(options.key.get_secret_value())
        except (ValueError, RecursionError):
            key = {}
        self._key: Mapping[str, Any] = key if isinstance(key, dict) else {}
        auth = TokenAuth(dig(self._key, "token_uri"), self._make_form)
        place = f"Google Drive {options.drive or options.user}".strip()
        super().__init__(place, Api(options.api, auth))
        self._all = {"supportsAllDrives": "true"}
        self._corpus = {"corpora": "user"}
        if options.drive:
            self._all |= {"includeItemsFromAllDrives": "true", "driveId": options.drive}
            self._corpus = {"corpora": "drive", **self._all}

    def _make_form(self) -> Mapping[str, str]:
        now = int(state_time())
        claims = {
            "iss": dig(self._key, "client_email"),
            "scope": _SCOPE,
            "aud": dig(self._key, "token_uri"),
            "iat": now,
            "exp": now + 3_600,
        }
        if self._options.user:
            claims["sub"] = self._options.user
        try:
            signed = jwt.encode(claims, dig(self._key, "private_key"), "RS256")
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise ServerTrouble("the key is none of a service account") from error
        return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": signed}

    async def _open(self) -> None:
        drive = self._options.drive
        await self._api.ask(f"/drives/{drive}" if drive else "/about", fields="kind")

    async def _list(self, since: Mapping[str, Any]) -> AsyncGenerator[SourceItem, None]:
        asks = bool(self._options.drive) and self._options.rights
        changed = await self._find_changes(since) if asks else None
        folders = {
            dig(row, "id"): (dig(row, "name"), dig(row, "parents", default=[]))
            async for row in self._find_files(f"mimeType = '{_GOOGLE}folder'", "id,name,parents")
        }
        paths: dict[str, str] = {}
        taken: set[str] = set()
        batch: list[SourceItem] = []
        async for row in self._find_files(f"mimeType != '{_GOOGLE}folder'", _FIELDS):
            folder = _find_path(dig(row, "parents", default=[]), folders, paths)
            if not (item := _make_item(row, folder, taken)):
                continue
            self._keys.append(item.key)
            if not self._options.rights:
                yield item
            elif not asks:
                yield self._with_readers(item, dig(row, "permissions", default=[]))
            elif changed is None or dig(row, "id") in changed:
                batch.append(item)
            if len(batch) == AT_ONCE:
                for ready in await self._ask_for_readers(batch):
                    yield ready
                batch = []
        for ready in await self._ask_for_readers(batch):
            yield ready

    async def _write(self, item: SourceItem, target: BinaryIO) -> None:
        kind, id = item.key.split("/")
        place = f"/files/{quote(id, safe='')}"
        if kind in _EXPORTS:
            await self._api.download(f"{place}/export", target, mimeType=_EXPORTS[kind][0])
        else:
            await self._api.download(place, target, alt="media", supportsAllDrives="true")

    async def _find_files(
        self, condition: str, fields: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        listing = self._api.ask_pages(
            "/files",
            "files",
            _find_next,
            q=f"{condition} and trashed = false",
            fields=f"nextPageToken,incompleteSearch,files({fields})",
            # The older of two of a name keeps it.
            orderBy="createdTime",
            pageSize="1000",
            **self._corpus,
        )
        async for page in listing:
            if page.get("incompleteSearch"):
                raise ServerTrouble("its listing is not whole")
            for row in page["files"]:
                yield row

    async def _find_changes(self, since: Mapping[str, Any]) -> set[str] | None:
        """Return the files of the shared drive that have changed, None if the rights of any may
        have; and keep from where on the next run is to ask."""
        members = await self._list_permissions(self._options.drive)
        place = {
            "place": f"{self._options.api} {self._options.drive}",
            "rights": make_digest(members),
        }
        start = await self._api.ask("/changes/startPageToken", **self._all)
        self._checkpoint = {**place, "token": dig(start, "startPageToken")}
        if not place.items() <= since.items():
            return None
        changed: set[str] = set()
        fields = "nextPageToken,newStartPageToken,changes(changeType,fileId,file(mimeType))"
        listing = self._api.ask_pages(
            "/changes",
            "changes",
            _find_next,
            pageToken=dig(since, "token"),
            fields=fields,
            pageSize="1000",
            **self._all,
        )
        try:
            async for page in listing:
                for row in page["changes"]:
                    is_folder = dig(row, "file", "mimeType") == f"{_GOOGLE}folder"
                    if is_folder or dig(row, "changeType") != "file":
                        return None
                    changed.add(dig(row, "fileId"))
        except ServerTrouble as trouble:
            if not trouble.is_local:
                raise
            # It has forgotten what it said then.
            return None
        return changed

    async def _ask_for_readers(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """The same with the readers of each; one whose rights cannot be had is for nobody."""

        async def ask(item: SourceItem) -> SourceItem:
            try:
                permissions = await self._list_permissions(item.key.partition("/")[2])
            except ServerTrouble as trouble:
                if not trouble.is_refused:
                    raise
                permissions = []
            return self._with_readers(item, permissions)

        async with unwrap_error_group(), asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(item)) for item in items]
        return [task.result() for task in asked]

    async def _list_permissions(self, id: str) -> list[Any]:
        """Return those of a file or a shared drive."""
        listing = self._api.ask_pages(
            f"/files/{quote(id, safe='')}/permissions",
            "permissions",
            _find_next,
            fields=f"nextPageToken,{_RIGHTS}",
            pageSize="100",
            supportsAllDrives="true",
        )
        return [row async for page in listing for row in page["permissions"]]

    def _with_readers(self, item: SourceItem, permissions: Sequence[Any]) -> SourceItem:
        readers: dict[str, None] = {}
        for permission in permissions:
            readers |= dict.fromkeys(self._name_readers(permission))
        names = (EVERYONE,) if EVERYONE in readers else tuple(readers)
        return replace(item, readers=names, closed=not names)

    def _name_readers(self, permission: Any) -> Sequence[str]:
        """Return whom a permission lets read; nobody where it ends at some time, holds for those
        who have a link alone, or is not for the whole file."""
        unlike = ("expirationTime", "deleted", "view", "inheritedPermissionsDisabled")
        if dig(permission, "role") not in _ROLES or any(map(permission.get, unlike)):
            return ()
        kind, mail = dig(permission, "type"), dig(permission, "emailAddress").lower()
        if kind in ("user", "group"):
            return make_readers(kind, mail)
        if permission.get("allowFileDiscovery") is not True:
            return ()
        if kind == "anyone":
            return (EVERYONE,)
        # Another domain is not the organization.
        own = self._options.user.rpartition("@")[2].lower()
        is_own = kind == "domain" and own and dig(permission, "domain").lower() == own
        return self._options.organization_readers if is_own else ()


def _find_next(page: dict[str, Any]) -> Next:
    token = dig(page, "nextPageToken")
    return {"pageToken": token} if token else ""


def _find_path(
    parents: Sequence[Any], folders: Mapping[str, tuple[str, list[Any]]], paths: dict[str, str]
) -> str:
    """Return where a file in a folder is, with a slash at the end; what is above all known folders
    is left out. Raises ServerTrouble."""
    chain: list[str] = []
    while parents and parents[0] in folders and parents[0] not in paths:
        if parents[0] in chain:
            raise ServerTrouble("its folders lead back to where they were")
        chain.append(parents[0])
        parents = folders[parents[0]][1]
    path = paths.get(parents[0], "") if parents else ""
    for id in reversed(chain):
        path = paths[id] = f"{path}{folders[id][0].replace('/', ' ')}/"
    return path


def _make_item(row: dict[str, Any], folder: str, taken: set[str]) -> SourceItem | None:
    """Return the item that a file is, if it is one. Of files of one name all but the first have
    their ids in it."""
    media = dig(row, "mimeType")
    kind = media.removeprefix(_GOOGLE) if media.startswith(_GOOGLE) else "file"
    if kind != "file" and kind not in _EXPORTS:
        return None
    id, title = dig(row, "id"), dig(row, "name")
    name = title.replace("/", " ") + (_EXPORTS[kind][1] if kind in _EXPORTS else "")
    if f"{folder}{name}" in taken:
        stem, ending = os.path.splitext(name)
        name = f"{stem} {id}{ending}"
    taken.add(f"{folder}{name}")
    return SourceItem(
        f"{kind}/{id}",
        dig(row, "md5Checksum") or dig(row, "modifiedTime"),
        f"{folder}{name}",
        title=title if kind in _EXPORTS else "",
        url=check_link(dig(row, "webViewLink")),
        modified=parse_time(dig(row, "modifiedTime")),
    )


DRIVE = SourceKind("Files of Google Drive.", DriveOptions, GoogleDrive, of_server=True)
