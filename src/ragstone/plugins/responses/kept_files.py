"""Files that clients of OpenAI's API keep, whether they are in a vector store or not.

Each has a folder in one of its owner's below the data directory: what is known of it, and its
content. Both are there at once or not at all.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from ragstone.core.errors import StorageFull
from ragstone.core.turn import Principal
from ragstone.ingest.uploads import KEPT, Spool, kept_folder, plain_name, private_file

PREFIX = "file-"
_ID = re.compile(rf"{PREFIX}[0-9a-f]{{32}}")
_ABOUT, _CONTENT = "about.json", "content"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of `tenant` and `user`. Times are in seconds since 1970, `size` is in bytes."""

    id: str
    tenant: str
    user: str
    name: str
    purpose: str
    size: int
    created_at: float
    expires_at: float | None
    reach: tuple[str, ...] | None
    """The collections of the credential that sent it, None for all: one of fewer has no use of
    it."""
    folder: Path

    @property
    def content(self) -> Path:
        """Where its content is."""
        return self.folder / _CONTENT

    def admits(self, principal: Principal) -> bool:
        """Tell whether it has not expired, and this credential of its owner's may use it."""
        if self.expires_at is not None and self.expires_at <= time.time():
            return False
        mine = principal.collections
        return mine is None or (self.reach is not None and set(self.reach) <= set(mine))


class Files:
    """The files below a data directory. Blocking: use it in a thread."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._spool = Spool(data)

    def add(
        self, owner: Principal, content: BinaryIO, name: str, purpose: str, seconds: int | None
    ) -> KeptFile:
        """Keep a file, for `seconds` or until it is deleted; raises StorageFull."""
        now = time.time()
        # In the spool first: what a crash leaves there is swept.
        file = Path(self._spool.add(content, name))
        about = {
            "tenant": owner.tenant,
            "user": owner.user,
            "reach": owner.collections,
            "name": plain_name(name),
            "purpose": purpose,
            "size": file.stat().st_size,
            "created_at": now,
            "expires_at": now + seconds if seconds else None,
        }
        folder = self._owner_folder(owner) / create_timed_id(PREFIX)
        try:
            file = file.rename(file.with_name(_CONTENT))
            with private_file(file.with_name(_ABOUT)) as described:
                described.write(json.dumps(about).encode())
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.parent.rename(folder)
        except OSError as error:
            self._spool.drop(str(file))
            raise StorageFull(
                f"The file could not be kept ({error.strerror}). Make room and send it again."
            ) from error
        return _build_kept_file(folder, about)

    def find(self, owner: Principal, id: str) -> KeptFile | None:
        """The owner's file of this id, unless it has expired or the credential is for less."""
        found = _read(self._owner_folder(owner) / id) if _ID.fullmatch(id) else None
        return found if found and found.admits(owner) else None

    def list_all(self, owner: Principal) -> list[KeptFile]:
        """Return all files that `find` finds, in any order."""
        return [file for file in _read_all(self._owner_folder(owner)) if file.admits(owner)]

    def list_expired(self) -> Iterator[KeptFile]:
        """Return every owner's files that have expired."""
        folder = self._data.expanduser().absolute() / KEPT
        owners = sorted(folder.iterdir()) if folder.is_dir() else ()
        now = time.time()
        found = (file for owner in owners for file in _read_all(owner))
        return (file for file in found if file.expires_at is not None and file.expires_at <= now)

    def lend(self, file: KeptFile) -> str:
        """Return another name for the content, which an ingest may delete; raises StorageFull."""
        return self._spool.link(file.content, file.name)

    def delete(self, file: KeptFile) -> None:
        """Delete a file for good."""
        shutil.rmtree(file.folder, ignore_errors=True)

    def _owner_folder(self, owner: Principal) -> Path:
        return kept_folder(self._data, owner)


def create_timed_id(prefix: str) -> str:
    """An id that nobody can guess. Those of one prefix sort by the time that they were made at."""
    return f"{prefix}{int(time.time() * 1000):012x}{uuid4().hex[12:]}"


def _read_all(owner: Path) -> list[KeptFile]:
    try:
        names = [name for name in os.listdir(owner) if _ID.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [file for name in names if (file := _read(owner / name))]


def _read(folder: Path) -> KeptFile | None:
    try:
        return _build_kept_file(folder, json.loads((folder / _ABOUT).read_bytes()))
    except (OSError, ValueError, KeyError):
        return None


def _build_kept_file(folder: Path, about: Mapping[str, Any]) -> KeptFile:
    names = ("tenant", "user", "name", "purpose", "size", "created_at", "expires_at")
    reach = None if about["reach"] is None else tuple(about["reach"])
    said = {name: about[name] for name in names}
    return KeptFile(folder.name, folder=folder, reach=reach, **said)
