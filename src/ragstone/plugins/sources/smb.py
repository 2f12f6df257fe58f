"""A folder of an SMB share as a source, with the rights of its files."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import smbclient
from pydantic import Field, SecretStr
from smbclient._io import SMBFileTransaction, SMBRawIO
from smbprotocol.exceptions import (
    SMBAuthenticationError,
    SMBException,
    SMBOSError,
    SMBResponseException,
)
from smbprotocol.file_info import FileAttributes, InfoType
from smbprotocol.header import NtStatus
from smbprotocol.open import SMB2QueryInfoRequest, SMB2QueryInfoResponse

from ragstone.core.chunk import EVERYONE
from ragstone.ingest.places import is_hidden
from ragstone.plugins.sources import ntfs_rights
from ragstone.plugins.sources.remote_files import (
    CHUNK,
    SECONDS,
    ListedFile,
    RemoteFiles,
    ServerTrouble,
    explain_connection,
)
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

PAGE = 200
"""Files whose rights are read at a time."""

SIDS = 20
"""Accounts that are asked for at a time: an answer has 4,280 bytes."""

_READ_CONTROL = 0x20000
_DACL = 4
_MAX_ANSWER = 65_536
_LINKS = (0xA000000C, 0xA0000003)
"""Reparse tags of links and of mounted folders."""
_LEFT_OUT = FileAttributes.FILE_ATTRIBUTE_HIDDEN | FileAttributes.FILE_ATTRIBUTE_SYSTEM

_LOGIN = (0xC000006D, 0xC000006E, 0xC0000070, 0xC0000071, 0xC0000072, 0xC0000193, 0xC0000234)
"""Statuses of wrong passwords, and of accounts that are expired, locked or kept out."""
_GONE = (
    NtStatus.STATUS_OBJECT_NAME_NOT_FOUND,
    NtStatus.STATUS_OBJECT_PATH_NOT_FOUND,
    NtStatus.STATUS_NO_SUCH_FILE,
)
_NO_SHARE = 0xC00000CC


class SmbOptions(SourceOptions):
    """Options of a share."""

    host: str = Field(description="The machine's name.", pattern=r"^[\w.:-]+$")
    port: int = Field(445, ge=1, le=65_535, description="Its port.")
    share: str = Field(description="The share's name.", pattern=r"^[^\\/:*?\"<>|]+$")
    path: str = Field("", description="A folder in it.", pattern=r"^[^:*?\"<>|]*$")
    user: str = Field(min_length=1, description="The user's name: ada, or DOMAIN\\ada.")
    password: SecretStr = Field(SecretStr(""), description="The password.")
    rights: bool = Field(True, description="Whether a file is for those whom its ACL lets read.")


class SmbFolder(RemoteFiles):
    """The files of a folder. Links and mounted folders are passed over."""

    def __init__(self, parts: SourceParts[SmbOptions]) -> None:
        self._options = options = parts.options
        folder = options.path.replace("/", "\\").strip("\\")
        self._folder = "\\".join(filter(None, (f"\\\\{options.host}\\{options.share}", folder)))
        super().__init__(f"{self._folder}\\")
        self._connections: dict[str, Any] = {}
        self._login: dict[str, Any] = {
            "username": options.user,
            "password": options.password.get_secret_value(),
            "port": options.port,
            "connection_timeout": SECONDS,
            "connection_cache": self._connections,
        }
        self._names: dict[str, str] = {ntfs_rights.EVERYONE: EVERYONE}
        self._unnamed: set[str] = set()
        self._open.push_async_callback(asyncio.to_thread, self._disconnect)

    async def _list_folder(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        listed = await asyncio.to_thread(self._scan, folder)
        for start in range(0, len(listed), PAGE):
            page = listed[start : start + PAGE]
            if self._options.rights:
                page = await asyncio.to_thread(self._add_rights, page)
            for file in page:
                yield file

    async def _read_file(self, path: str) -> AsyncGenerator[bytes, None]:
        file = await asyncio.to_thread(
            smbclient.open_file,
            self._locate(path),
            "rb",
            buffering=0,
            share_access="rwd",
            **self._login,
        )
        try:
            while part := await asyncio.to_thread(file.read, CHUNK):
                yield part
        finally:
            await asyncio.to_thread(file.close)

    def _explain(self, error: Exception) -> ServerTrouble | None:
        status = getattr(error, "ntstatus", getattr(error, "status", None))
        match error:
            case SMBAuthenticationError():
                return ServerTrouble("it refuses the user or the password")
            case SMBOSError() | SMBResponseException() if status in _LOGIN:
                return ServerTrouble("it refuses the user or the password")
            case SMBOSError() | SMBResponseException() if status == _NO_SHARE:
                return ServerTrouble("there is no such share")
            case SMBOSError() | SMBResponseException() if status in _GONE:
                return ServerTrouble("it is not there", is_local=True)
            case SMBOSError() | SMBResponseException() if status == NtStatus.STATUS_ACCESS_DENIED:
                return ServerTrouble("it does not let this user read that", is_local=True)
            case SMBOSError() | SMBResponseException():
                return ServerTrouble(f"it answers 0x{status:08x}", is_local=True)
            case UnicodeError():
                return ServerTrouble("a name in it is no valid Unicode")
            case SMBException() | OSError() | ValueError():
                return explain_connection(error)
        return None

    def _locate(self, path: str) -> str:
        return "\\".join(filter(None, (self._folder, path.replace("/", "\\"))))

    def _scan(self, folder: str) -> Sequence[ListedFile]:
        listed = []
        with smbclient.scandir(self._locate(folder), **self._login) as entries:
            for entry in entries:
                told = entry.smb_info
                attributes = told.file_attributes
                is_link = attributes & FileAttributes.FILE_ATTRIBUTE_REPARSE_POINT
                # What a folder's listing has for extended attributes is the tag of what is a link.
                if attributes & _LEFT_OUT or (is_link and told.ea_size in _LINKS):
                    continue
                path = f"{folder}/{entry.name}" if folder else entry.name
                is_folder = bool(attributes & FileAttributes.FILE_ATTRIBUTE_DIRECTORY)
                modified = told.last_write_time.timestamp()
                version = f"{told.end_of_file} {modified}"
                listed.append(ListedFile(path, is_folder, version, max(modified, 0.0)))
        return listed

    def _add_rights(self, page: Sequence[ListedFile]) -> Sequence[ListedFile]:
        """Return the same, each file with its readers. Raises ServerTrouble."""
        sids = {
            file.path: self._read_rights(file.path)
            for file in page
            if not file.is_folder and not is_hidden(file.path)
        }
        known = self._names.keys() | self._unnamed
        unknown = sorted({sid for several in sids.values() for sid in several} - known)
        for start in range(0, len(unknown), SIDS):
            self._find_names(unknown[start : start + SIDS])
        return [
            self._with_readers(file, sids[file.path]) if file.path in sids else file
            for file in page
        ]

    def _with_readers(self, file: ListedFile, sids: Sequence[str]) -> ListedFile:
        readers = tuple(self._names[sid] for sid in sids if sid in self._names)
        if EVERYONE in readers:
            readers = (EVERYONE,)
        return ListedFile(
            file.path, False, file.version, file.modified, readers, closed=not readers
        )

    def _read_rights(self, path: str) -> Sequence[str]:
        """Return the accounts that may read a file; none where this user may not know."""
        raw = SMBRawIO(self._locate(path), "rb", "rwd", desired_access=_READ_CONTROL, **self._login)
        request = SMB2QueryInfoRequest()
        request["info_type"] = InfoType.SMB2_0_INFO_SECURITY
        request["output_buffer_length"] = _MAX_ANSWER
        request["additional_information"] = _DACL
        request["file_id"] = raw.fd.file_id

        def receive(sent: Any) -> bytes:
            response = SMB2QueryInfoResponse()
            response.unpack(raw.fd.connection.receive(sent)["data"].get_value())
            return bytes(response["buffer"].get_value())

        transaction = SMBFileTransaction(raw)
        transaction += (request, receive)
        try:
            transaction.commit()
            return ntfs_rights.list_reading_sids(transaction.results[0])
        except (SMBOSError, SMBResponseException) as error:
            trouble = self._explain(error)
            if trouble is None or not trouble.is_local:
                raise
            return ()
        except ValueError:
            return ()

    def _find_names(self, sids: Sequence[str]) -> None:
        """Remember who accounts are. Raises ServerTrouble."""
        place = f"\\\\{self._options.host}\\IPC$\\lsarpc"
        opening = {"buffering": 0, "file_type": "pipe", "share_access": "rwd", **self._login}
        with smbclient.open_file(place, "rb+", **opening) as pipe:

            def talk(request: bytes) -> bytes:
                pipe.write(request)
                return bytes(pipe.read(_MAX_ANSWER) or b"")

            try:
                self._names |= ntfs_rights.find_names(talk, sids)
            except ValueError as error:
                raise ServerTrouble(f"it does not say whose its files are: {error}") from error
        # An account that is gone, or that nobody can sign in as.
        self._unnamed |= set(sids) - self._names.keys()

    def _disconnect(self) -> None:
        smbclient.reset_connection_cache(fail_on_error=False, connection_cache=self._connections)


SMB = SourceKind("A folder of an SMB share.", SmbOptions, SmbFolder, of_server=True)
