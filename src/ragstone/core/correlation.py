"""The names under which one request is found again in logs, traces and other services."""

import secrets
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Correlation:
    """`request` is the request's own id, `trace` and `parent` those of W3C Trace Context: 32 and
    16 hexadecimal digits, the latter empty where no caller gave one."""

    request: str = ""
    trace: str = ""
    parent: str = ""


NOWHERE = Correlation()

CURRENT: ContextVar[Correlation] = ContextVar("ragstone_correlation", default=NOWHERE)
"""That of the request that is being served; empty outside of one."""


def correlation(request_id: str, traceparent: str) -> Correlation:
    """From the headers of a request; whatever is not well formed there is replaced."""
    request = request_id if _is_id(request_id) else secrets.token_hex(16)
    parts = traceparent.strip().lower().split("-")
    if len(parts) >= 4 and _is_hex(parts[1], 32) and _is_hex(parts[2], 16) and parts[0] != "ff":
        return Correlation(request, parts[1], parts[2])
    return Correlation(request, secrets.token_hex(16))


def _is_id(text: str) -> bool:
    return 0 < len(text) <= 128 and text.isascii() and all(c.isalnum() or c in "-_.:" for c in text)


def _is_hex(text: str, digits: int) -> bool:
    return len(text) == digits and set(text) <= set("0123456789abcdef") and set(text) != {"0"}
