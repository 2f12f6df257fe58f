"""Places of documents on the disk, also in archives, and the one way to open files there.

Between a look at a path and opening it by its name, somebody may put a link or a pipe in its place.
So every folder of a path is opened below the one before it, none of them and not the file may be a
link, and what is checked is the descriptor that is read from then on. Whoever allows links resolves
them first: what is opened is where they led at that moment.
"""

import errno
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj

from ragstone.ingest.file_threads import report_progress

ARCHIVE = ".zip"
"""The ending of files that are folders of their members."""


def is_archive(name: str) -> bool:
    """Tell whether a file of this name is a folder of its members."""
    return name.lower().endswith(ARCHIVE)


def find_archive(place: str | Path) -> str:
    """Return the archive on the disk that a place is in, empty for one that is not a member's."""
    path = os.fspath(place)
    if ARCHIVE not in path.lower():
        return ""
    # The innermost file counts: a folder may be called "a.zip" too.
    while (above := os.path.dirname(path)) != path:
        path = above
        if is_archive(path) and os.path.isfile(path):
            return path
    return ""


def find_file(place: str | Path) -> Path:
    """Return the file on the disk that holds what is at a place."""
    return Path(find_archive(place) or place)


def locate_member(place: Path) -> tuple[str, str]:
    """The archive on the disk that a member's place is in, and its path there, with slashes."""
    archive = find_archive(place)
    return archive, place.relative_to(archive).as_posix()


def is_hidden(name: str) -> bool:
    """Tell whether a member of an archive is hidden, or what macOS keeps beside the files."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


_DESCRIPTORS = "/proc/self/fd"
"""Where Linux opens what a descriptor stands for once more."""

_NO_FILE = "it is not a regular file"


def resolve_links(path: str | Path) -> str:
    """Return the place that a path leads to. Where a link on it is swapped for something else just
    then, the whole path as it is, which cannot be opened as long as a link is on it."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def read_regular(path: str | Path, most: int) -> bytes:
    """Read a regular file of at most so many bytes; raises OSError, of EFBIG for a larger one."""
    with open(path, "rb", opener=open_regular) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, "it is too large")
        return file.read(most)


@contextmanager
def pin_file(path: Path) -> Iterator[Path]:
    """Open a regular file once, and yield a path of the same name under which that is read, however
    often it is opened and whatever happens to the file's name. Raises OSError."""
    place = Path(os.path.abspath(path))
    with (
        open(place, "rb", opener=open_regular) as file,
        tempfile.TemporaryDirectory(prefix="ragstone-") as folder,
    ):
        pinned = Path(folder) / place.name
        if os.path.isdir(_DESCRIPTORS):
            pinned.symlink_to(f"{_DESCRIPTORS}/{file.fileno()}")
        else:
            with pinned.open("wb") as copy:
                copyfileobj(file, copy)
        yield pinned


if sys.platform == "win32":

    def open_regular(path: str | Path, flags: int = 0) -> int:
        """Open a regular file; an `opener` for `open`. Raises OSError."""
        report_progress(path)
        return _check_regular(os.open(path, flags | os.O_BINARY | os.O_NOINHERIT))

    @contextmanager
    def open_folder(path: str) -> Iterator[str]:
        """Yield what `os.scandir` lists a folder by."""
        report_progress(path)
        yield path

    @contextmanager
    def keep_folder() -> Iterator[None]:
        """Make opening many files of one folder faster; Windows needs no help."""
        yield

else:
    _ABOVE = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
    """How the folders above a file are opened: they need not be readable."""

    _IS_LINK = "it is a link, or is in a folder that became one"

    def open_regular(path: str | Path, flags: int = 0) -> int:
        """Open a regular file by a whole path without links; an `opener` for `open`.

        Raises OSError, with a reason that reads well behind "cannot be read:", or ValueError for a
        path that no file has.
        """
        path = os.fspath(path)
        report_progress(path)
        folder, name = os.path.split(path)
        with _folder_above(folder) as above:
            # Opening a device or a pipe may already do something, so it is not even tried.
            mode = os.stat(name, dir_fd=above, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise OSError(errno.ELOOP, _IS_LINK)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, _NO_FILE)
            # O_NONBLOCK, as a pipe that took the place of the file would wait for a writer.
            return _check_regular(_open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, above))

    @contextmanager
    def open_folder(path: str) -> Iterator[int]:
        """Yield what `os.scandir` lists a folder by: its descriptor. Raises OSError as
        `open_regular` does."""
        report_progress(path)
        folder, name = os.path.split(path)
        with _folder_above(folder) as above:
            handle = _open(name or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, above)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def keep_folder() -> Iterator[None]:
        """Keep the folder of the last file open until the end, in this thread: those of the next
        files of the same folder need not be looked for from the top."""
        _kept.folder = None
        try:
            yield
        finally:
            last, _kept.folder = _kept.folder, None
            if last:
                os.close(last[1])
            del _kept.folder

    _kept = threading.local()

    @contextmanager
    def _folder_above(path: str) -> Iterator[int]:
        """Yield the descriptor of a folder, for what is in it."""
        if not hasattr(_kept, "folder"):
            handle = _walk(path)
            try:
                yield handle
            finally:
                os.close(handle)
            return
        if _kept.folder is None or _kept.folder[0] != path:
            handle = _walk(path)
            if _kept.folder:
                os.close(_kept.folder[1])
            _kept.folder = path, handle
        yield _kept.folder[1]

    def _walk(path: str) -> int:
        """Open a folder from the top, each part below the one before it."""
        _, *names = path.rstrip("/").split("/")
        if not path.startswith("/") or not {"", ".", ".."}.isdisjoint(names):
            raise FileNotFoundError(errno.ENOENT, "it is not a whole path", path)
        handle = os.open("/", _ABOVE)
        for name in names:
            try:
                below = _open(name, _ABOVE, handle)
            finally:
                os.close(handle)
            handle = below
        return handle

    def _open(name: str, flags: int, folder: int) -> int:
        """Open what has this name in a folder, no link."""
        try:
            return os.open(name, flags | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            if _is_link(name, folder):
                raise OSError(errno.ELOOP, _IS_LINK) from error
            raise

    def _is_link(name: str, folder: int) -> bool:
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISLNK(about.st_mode)


def _check_regular(handle: int) -> int:
    """Return the descriptor, if it is of a regular file; else it is closed. Raises OSError."""
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    raise OSError(errno.EINVAL, _NO_FILE)
