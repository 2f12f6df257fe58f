"""One process for each data directory."""

import logging
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from ragstone.core.disk import disk_errors
from ragstone.core.errors import ConfigError, DataDirectoryInUse
from ragstone.service.server_file import claim


@contextmanager
def lock_directory(data: Path) -> Iterator[None]:
    """Hold the data directory for this process and make it its owner's alone; the lock goes when
    the process does."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(
            f"The data directory {data} cannot be written ({error.strerror}). "
            "Choose another with --data or RAGSTONE_DATA."
        ) from error
    try:
        try:
            _hold(handle)
        except (BlockingIOError, PermissionError) as error:
            os.lseek(handle, 0, os.SEEK_SET)
            holder = os.read(handle, 20).decode()
            if holder == str(os.getpid()):
                raise DataDirectoryInUse(
                    f"The data directory {data} is open in this program already. "
                    "Use what has it open, or close that first."
                ) from error
            process = f"process {holder}" if holder else "another process"
            raise DataDirectoryInUse(
                f"The data directory {data} is in use by {process}. "
                "Wait for it, stop it, or choose another directory with --data."
            ) from error
        # On a full disk there is no room for a number, and reading goes on.
        with suppress(OSError):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, str(os.getpid()).encode())
        with disk_errors(data):
            claim(data)
        make_private(data)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """Windows lets nobody read what is locked: this is behind the holder's number."""

    def _hold(handle: int) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _hold(handle: int) -> None:
        """Take the lock. Raises BlockingIOError, or PermissionError on Windows, where another has
        it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


OURS = (
    "lock",
    "identity*",
    "server.json*",
    "token",
    "*state*.sqlite*",
    "cache.sqlite*",
    "index",
    "figures",
    "spool",
    "originals*",
    "reading",
    "damaged",
)
"""Names in a data directory. Other files may stand beside them, which are not ours to close."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO

log = logging.getLogger(__name__)


def make_private(data: Path) -> None:
    """Take groups and others the rights to what is ours in the data directory, and to itself
    unless it holds anything else. Where that is not allowed a warning says so."""
    try:
        entries = list(data.iterdir())
        ours = [entry for entry in entries if any(fnmatch(entry.name, name) for name in OURS)]
        if len(ours) == len(entries):
            _close(data)
        for entry in ours:
            # What stands below a closed folder is out of reach already.
            for path in (*_walk(entry), entry) if _is_open(entry) else ():
                _close(path)
    except PermissionError as error:
        log.warning(
            "Others may read the data directory %s, and its rights cannot be changed (%s). "
            "Let it belong to the user that runs Ragstone.",
            data,
            error.strerror,
        )


def _walk(path: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(path):
        yield from (Path(folder, name) for name in (*folders, *files))


def _is_open(path: Path) -> bool:
    mode = path.lstat().st_mode
    return bool(mode & OTHERS) and not stat.S_ISLNK(mode)


def _close(path: Path) -> None:
    try:
        if _is_open(path):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
    except FileNotFoundError:
        return  # Some, as the journals of SQLite, come and go.
