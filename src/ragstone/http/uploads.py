"""Uploaded files that wait for ingestion by their sender."""

import asyncio
from pathlib import Path

from fastapi import UploadFile

from ragstone.core.caller import Caller
from ragstone.core.errors import InputError, WrongType
from ragstone.ingest.formats.types import explain_unsupported, list_endings
from ragstone.ingest.uploads import Spool, owner_digits, plain_name


class Uploads:
    """The spool below `data`, by handles that nobody can guess and only their owner can use."""

    def __init__(self, data: Path) -> None:
        self._spool = Spool(data)

    async def add(self, caller: Caller, file: UploadFile) -> str:
        """Keep a file; its handle. Raises WrongType, StorageFull."""
        name = check_name(file)
        kept = await asyncio.to_thread(
            self._spool.add, file.file, name, _owner(caller), caller.principal
        )
        return Path(kept).parent.name.partition("-")[0]

    def find_path(self, caller: Caller, handle: str) -> str | None:
        """Return where the caller's file is, None if there is none of this handle."""
        return self._spool.find_file(handle, _owner(caller))

    def drop(self, caller: Caller, handle: str) -> None:
        """Delete a file of the caller's that still waits. Blocking: use it in a thread."""
        if (found := self.find_path(caller, handle)) is not None:
            self._spool.drop(found)

    def file(self, caller: Caller, handle: str) -> str:
        """Return where the caller's file is; raises InputError."""
        found = self.find_path(caller, handle)
        if found is None:
            raise InputError(
                f"There is no upload {handle[:100]!r} of yours, or no longer. "
                "Send the file to /local/upload first."
            )
        return found


def check_name(file: UploadFile) -> str:
    """Return the name of an upload without folders; raises WrongType unless it can be read."""
    name = plain_name(file.filename or "")
    if not name.lower().endswith(list_endings()):
        raise WrongType(explain_unsupported(name or "A file without a name"))
    return name


def _owner(caller: Caller) -> str:
    """Return the folder name for the uploads of a credential."""
    return owner_digits(caller.key, caller.principal.tenant, caller.principal.user)
