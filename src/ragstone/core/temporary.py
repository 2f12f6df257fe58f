"""Temporary folders that go with the process that made them, however it ends."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
