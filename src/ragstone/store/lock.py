"""One process for each data directory."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragstone.core.disk import disk_errors
from ragstone.core.errors import ConfigError, DataDirectoryInUse
from ragstone.service.directory import claim
from ragstone.store.private import make_private


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
        """Raises BlockingIOError, or PermissionError on Windows, where another has it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
