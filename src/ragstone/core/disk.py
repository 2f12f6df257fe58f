"""What a disk refuses, as errors: a full one, one that fails, one that may not be written.

None of it is damage: what is on the disk stays as it is, and nothing is to be moved or mended.

Temporary folders that go with the process that made them, however it ends.
"""

import errno
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ragstone.core.errors import ConfigError, RagstoneError, StateUnavailable, StorageFull

SHARE, MAX_FLOOR = 20, 64 * 2**20
"""The part of a disk that writers leave free, one byte in so many, and what is enough of any:
Edge writes through memory maps, and a full disk would kill the process with a bus error."""

FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
FAILED = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE)

_SQLITE = (
    # Of these two the first is a file that was cut off, which is damage.
    ("SQLITE_IOERR_SHORT_READ", 0),
    ("SQLITE_IOERR_SHM", errno.ENOSPC),
    ("SQLITE_FULL", errno.ENOSPC),
    ("SQLITE_READONLY", errno.EROFS),
    ("SQLITE_PERM", errno.EACCES),
    ("SQLITE_IOERR", errno.EIO),
)
"""Beginnings of SQLite's names of errors, and what the system said."""


def disk_bytes(path: Path) -> int:
    """Return what a directory takes on the disk, where files may be mostly holes."""
    found = [file.stat() for file in path.rglob("*") if file.is_file()]
    if sys.platform == "win32":
        return sum(item.st_size for item in found)
    # POSIX counts blocks of 512 bytes, whatever the file system has.
    return sum(item.st_blocks * 512 for item in found)


def free_floor(path: Path) -> int:
    """Return bytes that are to stay free on the disk of `path`: what is written next needs them."""
    return min(MAX_FLOOR, shutil.disk_usage(path).total // SHARE)


def has_space(path: Path) -> bool:
    """Tell whether `free_floor` is free on the disk of `path`."""
    return shutil.disk_usage(path).free >= free_floor(path)


def need_room(path: Path, size: int) -> None:
    """Raise StorageFull unless so many bytes are free on the disk of `path`."""
    free = shutil.disk_usage(path).free
    if free < size:
        raise StorageFull(
            f"This needs {size:,} free bytes on the disk of {path}, which has {free:,}. Free some "
            "space and try again; nothing has changed."
        )


def need_floor(path: Path) -> None:
    """Raise StorageFull unless `free_floor` is free on the disk of `path`."""
    if not has_space(path):
        raise StorageFull(
            f"The disk that holds {path.name} is full: less than {free_floor(path) // 2**20} MB "
            "are free. Free some space and try again; what is indexed is unharmed."
        )


def disk_error(error: BaseException | None, path: Path) -> RagstoneError | None:
    """What an error at `path` means if the disk refused; None for any other error, and for damage.

    Knows those of the system, of SQLite, and of libraries that tell the system's in words.
    """
    number = _number(error, path)
    if number in FULL:
        return StorageFull(
            f"The disk that holds {path.name} is full. Free some space and try again."
        )
    if number in REFUSED:
        return ConfigError(
            f"{path} may not be written or read by this user, or its disk is read-only. Change its "
            "rights or its mount, or choose another directory with --data."
        )
    if number in FAILED:
        return StateUnavailable(
            f"The disk that holds {path.name} fails: it answered with an input/output error. Check "
            "the disk and its cables before anything else."
        )
    return None


def _number(error: BaseException | None, path: Path) -> int:
    """Return the system's number of an error, 0 if there is none."""
    if isinstance(error, OSError):
        return error.errno or 0
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith("SQLITE_CANTOPEN"):
        return _number_of_opening(path)
    for beginning, number in _SQLITE:
        if name.startswith(beginning):
            return number
    told = re.search(r"\(os error (\d+)\)", str(error)) if error and not name else None
    if told is None and "No space left" in str(error):
        return errno.ENOSPC
    return int(told[1]) if told else 0


def _number_of_opening(path: Path) -> int:
    """Tell why a SQLite file cannot be opened: SQLite says only that."""
    try:
        path.open("r+b").close()
        probe = path.with_name(f"{path.name}-probe")
        probe.touch()
        probe.unlink()
    except OSError as error:
        return error.errno or 0
    return errno.ENOSPC if shutil.disk_usage(path.parent).free < 2**16 else 0


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise what the disk refuses at `path` as Ragstone's errors."""
    try:
        yield
    except RagstoneError:
        raise
    except (OSError, sqlite3.Error) as error:
        meant = disk_error(error, path)
        if meant is None:
            raise
        raise meant from error


UNSEEN_SECONDS, LOOK_SECONDS = 60.0, 0.1

_SEEING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_xmin IS NOT NULL AND xact_start < %s AND pid <> pg_backend_pid()"
)


def rewrite(connection: sqlite3.Connection) -> None:
    """Write the file of a connection anew, and empty its log: nothing of deleted rows is left.

    SQLite's own `secure_delete` is not enough: what was moved from one page to another stays in the
    first one. Needs free disk of twice the file's size. Raises sqlite3.Error, also where somebody
    reads for so long that the log cannot be emptied.
    """
    connection.execute("VACUUM")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("database is locked")


async def until_unseen(connection: Any) -> bool:
    """Wait until no transaction of a PostgreSQL database began before now, on a connection of
    psycopg that has none of its own; whether it came to that. What an older one may still look at
    is kept, also by VACUUM FULL."""
    import asyncio

    [now] = await (await connection.execute("SELECT clock_timestamp()")).fetchone()
    for _ in range(int(UNSEEN_SECONDS / LOOK_SECONDS)):
        [seeing] = await (await connection.execute(_SEEING, [now])).fetchone()
        if not seeing:
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False


PREFIX = "ragstone-temporary-"


class TemporaryFolder:
    """A new folder of this process alone. Blocking: use it in a thread.

    It is locked until `remove`, or until the process ends: `remove_leftovers` tells by that which
    folders nobody uses any more.
    """

    def __init__(self) -> None:
        self.path, self._lock = _lock_folder()

    def remove(self) -> None:
        """Delete the folder and what is in it; doing it again does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder, which is deleted at the end."""
    folder = TemporaryFolder()
    try:
        yield folder.path
    finally:
        folder.remove()


def _new_folder() -> Path:
    return Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))


if sys.platform == "win32":

    def _lock_folder() -> tuple[Path, int | None]:
        return _new_folder(), None

    def remove_leftovers() -> None:
        """Do nothing: Windows cannot lock a folder, so nobody knows which are left over."""

else:
    import fcntl

    def _lock_folder() -> tuple[Path, int | None]:
        # A process that starts in this moment may take a folder without a lock for a leftover.
        while (lock := _lock(path := _new_folder())) is None or not path.is_dir():
            if lock is not None:
                os.close(lock)
        return path, lock

    def remove_leftovers() -> None:
        """Delete the folders of processes of this user that ended without deleting them."""
        with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
            for entry in entries:
                if entry.name.startswith(PREFIX) and (lock := _lock(entry.path)) is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)

    def _lock(folder: str | Path) -> int | None:
        """The descriptor that locks a folder of this user; None while another process has it."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if os.fstat(handle).st_uid == os.getuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
        except OSError:
            pass
        os.close(handle)
        return None
