"""Makes what Ragstone keeps its owner's alone."""

import logging
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

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
            for path in (*_below(entry), entry) if _is_open(entry) else ():
                _close(path)
    except PermissionError as error:
        log.warning(
            "Others may read the data directory %s, and its rights cannot be changed (%s). "
            "Let it belong to the user that runs Ragstone.",
            data,
            error.strerror,
        )


def _below(path: Path) -> Iterator[Path]:
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
