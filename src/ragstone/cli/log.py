"""The log of a command, on standard error: lines for people, or JSON for machines."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from ragstone.core.correlation import CURRENT

_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _OneLine(logging.Formatter):
    """Log lines without tracebacks; those are for LOG_LEVEL=DEBUG."""

    def formatException(self, ei: object) -> str:  # noqa: N802
        return ""

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return ""


class _Json(logging.Formatter):
    """A JSON object a line, with the names of the request that it was written for."""

    def format(self, record: logging.LogRecord) -> str:
        names = CURRENT.get()
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if names.request:
            said |= {"request_id": names.request, "trace_id": names.trace}
        said |= {name: value for name, value in vars(record).items() if name not in _KNOWN}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)


class _Named(logging.Formatter):
    """A line for people, which ends with the request's id."""

    def format(self, record: logging.LogRecord) -> str:
        request = CURRENT.get().request
        return super().format(record) + (f" [{request}]" if request else "")


def start(level: str, tracebacks: bool, style: str = "text") -> None:
    """Write what is logged from `level` on."""
    handler = logging.StreamHandler()
    if style == "json":
        handler.setFormatter(_Json())
    elif tracebacks or level == "DEBUG":
        handler.setFormatter(_Named("%(levelname)s:%(name)s:%(message)s"))
    else:
        handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
