"""A folder over SFTP as a source."""

import os
import re
import stat
import sys
from collections.abc import AsyncGenerator
from typing import Any, cast

import asyncssh
from pydantic import Field, SecretStr, field_validator

from ragstone.plugins.sources.remote_files import (
    CHUNK,
    SECONDS,
    ListedFile,
    RemoteFiles,
    ServerTrouble,
    explain_connection,
)
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts


class SftpOptions(SourceOptions):
    """Options of an SFTP server."""

    host: str = Field(description="The machine's name.", pattern=r"^[\w.:-]+$")
    port: int = Field(22, ge=1, le=65_535, description="Its port.")
    path: str = Field("", description="The folder; that of the user if empty.")
    user: str = Field(min_length=1, description="The user's name.")
    password: SecretStr = Field(SecretStr(""), description="The password.")
    key_file: str = Field("", description="A private key on the server's machine, from / on.")
    host_key: str = Field("", description="The only key that the machine may have.")

    @field_validator("key_file")
    @classmethod
    def _check_absolute(cls, value: str) -> str:
        if value and not os.path.isabs(value):
            raise ValueError("the path must be absolute, such as /etc/ragstone/id_ed25519")
        return value

    @field_validator("host_key")
    @classmethod
    def _check_key(cls, value: str) -> str:
        if value:
            _read_key(value)
        return value


class SftpFolder(RemoteFiles):
    """The files of a folder. Links are passed over: they may lead anywhere, and back."""

    def __init__(self, parts: SourceParts[SftpOptions]) -> None:
        options = parts.options
        self._folder = f"{options.path.rstrip('/')}/" if options.path else ""
        super().__init__(f"sftp://{options.host}:{options.port}/{self._folder.lstrip('/')}")
        password = options.password.get_secret_value() or None
        key_files = [options.key_file] if options.key_file else None
        self._login: dict[str, Any] = {
            "host": options.host,
            "port": options.port,
            "username": options.user,
            "password": password,
            # Empty: as git has it, the keys of the server's user, and the machines that it knows.
            "client_keys": key_files or (None if password else ()),
            "known_hosts": ([_read_key(options.host_key)], [], []) if options.host_key else (),
            "config": None,
            "connect_timeout": SECONDS,
            "login_timeout": SECONDS,
            "keepalive_interval": SECONDS / 3,
        }
        self._client: asyncssh.SFTPClient | None = None

    async def _list_folder(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        client = await self._connect()
        async for entry in client.scandir(self._folder + folder or "."):
            name, told = str(entry.filename), entry.attrs
            if told.permissions is None:
                raise ServerTrouble("its listing does not say what is a folder")
            is_folder = stat.S_ISDIR(told.permissions)
            if name not in (".", "..") and (is_folder or stat.S_ISREG(told.permissions)):
                path = f"{folder}/{name}" if folder else name
                yield ListedFile(path, is_folder, f"{told.size} {told.mtime}", told.mtime or 0.0)

    async def _read_file(self, path: str) -> AsyncGenerator[bytes, None]:
        client = await self._connect()
        async with client.open(self._folder + path, "rb") as file:
            # A read that goes beyond the end is many requests for nothing.
            size = (await file.stat()).size
            left = sys.maxsize if size is None else size
            while part := cast(bytes, await file.read(min(CHUNK, left))):
                left -= len(part)
                yield part

    def _explain(self, error: Exception) -> ServerTrouble | None:
        match error:
            case asyncssh.SFTPNoSuchFile() | asyncssh.SFTPNoSuchPath():
                return ServerTrouble("it is not there", is_local=True)
            case asyncssh.SFTPPermissionDenied():
                return ServerTrouble("it does not let this user read that", is_local=True)
            case asyncssh.SFTPConnectionLost() | asyncssh.SFTPNoConnection():
                return ServerTrouble("the connection broke")
            case asyncssh.SFTPError():
                return ServerTrouble(f"it answers {error.reason[:300]!r}", is_local=True)
            case asyncssh.HostKeyNotVerifiable():
                return ServerTrouble("its host key is not the known one: see host_key")
            case asyncssh.PermissionDenied():
                return ServerTrouble("it refuses the user, the password or the key")
            case asyncssh.KeyImportError() | FileNotFoundError() | PermissionError():
                return ServerTrouble("key_file names no private key without a passphrase")
            case asyncssh.Error() | OSError() | UnicodeError():
                return explain_connection(error)
        return None

    async def _connect(self) -> asyncssh.SFTPClient:
        if self._client is None:
            connection = await self._open.enter_async_context(asyncssh.connect(**self._login))
            # Names in other encodings come as lone surrogates, and go as the bytes they were.
            started = connection.start_sftp_client(path_errors="surrogateescape")
            self._client = await self._open.enter_async_context(started)
        return self._client


def _read_key(value: str) -> asyncssh.SSHKey:
    """Return the key of a machine. Raises ValueError."""
    # The program ssh-keyscan puts the machine's name before it, and a file has a comment after it.
    key = re.search(r"\S+ AAAA\S+", value)
    if key is None:
        raise ValueError("this is no key such as ssh-ed25519 AAAAC3N...")
    return asyncssh.import_public_key(key[0])


SFTP = SourceKind("A folder over SFTP.", SftpOptions, SftpFolder, of_server=True)
