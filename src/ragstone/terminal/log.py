"""The log of a command, on standard error."""

import logging


class _OneLine(logging.Formatter):
    """Log lines without tracebacks; those are for LOG_LEVEL=DEBUG."""

    def formatException(self, ei: object) -> str:  # noqa: N802
        return ""

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return ""


def start(level: str, tracebacks: bool) -> None:
    """Write what is logged from `level` on."""
    handler = logging.StreamHandler()
    if not tracebacks and level != "DEBUG":
        handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
