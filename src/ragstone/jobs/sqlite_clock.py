"""The clock that DBOS asks SQLite for, where SQLite is too old to have it.

From Python 3.12 on DBOS takes the time from `unixepoch('subsec')`, which SQLite knows since 3.42.
Debian 12, among others, has an older one.
"""

import sqlite3
import time
from typing import Any

SINCE = (3, 42)


class TimedConnection(sqlite3.Connection):
    """A connection in which `unixepoch('subsec')` is the time in seconds, with its fraction."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.create_function("unixepoch", 1, _unixepoch)


def arguments() -> dict[str, Any]:
    """What connections of DBOS to a SQLite file need on this machine."""
    return {"factory": TimedConnection} if sqlite3.sqlite_version_info < SINCE else {}


def _unixepoch(of: object) -> float | None:
    return time.time() if of == "subsec" else None
