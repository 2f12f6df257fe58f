"""Which directory this is: a copy of a data directory is another one, with tokens of its own."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

IDENTITY_FILE = "identity"
OF_THE_ORIGINAL = ("server.json", "token", "open.html")
"""What leads to the server of a directory, and to nothing of its copy's."""

log = logging.getLogger(__name__)


def is_copy(data: Path) -> bool:
    """Whether the directory was copied, and not claimed since.

    A file in it holds the numbers that the file system gave to the directory and to the file. Both
    stay when it is moved, linked or mounted elsewhere; a copy has others. Devices are left out:
    some have another number after each start of the machine.
    """
    file = data / IDENTITY_FILE
    try:
        return bool(file.read_text() != _identity(data, file.stat().st_ino))
    except UnicodeDecodeError:
        return True
    except OSError:
        return False


def claim(data: Path) -> None:
    """Make the directory one of its own, if it is new or a copy. Raises OSError."""
    copied = is_copy(data)
    if not copied and (data / IDENTITY_FILE).exists():
        return
    if copied:
        for name in OF_THE_ORIGINAL:
            (data / name).unlink(missing_ok=True)
        log.warning(
            "The data directory %s is a copy: it has tokens of its own from now on, and "
            "'ragstone token' prints its own.",
            data,
        )
    write_private(data / IDENTITY_FILE, lambda number: _identity(data, number))


def write_private(file: Path, content: Callable[[int], str]) -> None:
    """Write a file in one step, readable by its owner alone; `content` is told the number that the
    file system gave it. Raises OSError, and nothing has changed."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as opened:
            opened.write(content(os.fstat(handle).st_ino))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _identity(data: Path, file: int) -> str:
    return json.dumps({"directory": data.stat().st_ino, "file": file})
