"""Calls Ragstone."""

from __future__ import annotations

import json
import uuid
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ragstone_plone.settings import RagSettings
from ragstone_plone.signing import signed

MOST_BYTES = 20_000_000
"""Of an answer."""


class RagstoneError(Exception):
    """A call that was not done. `status` is Ragstone's, 0 where it could not be reached."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_about_this(self) -> bool:
        """Whether what was sent is refused, and not that Ragstone or the connection is in
        trouble."""
        return 400 <= self.status < 500 and self.status not in (401, 403, 408, 429)


class _NoRedirects(HTTPRedirectHandler):
    """What is signed for one address is sent to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(settings: RagSettings, path: str, content: dict[str, Any]) -> dict[str, Any]:
    """What Ragstone answers to a signed call; raises RagstoneError."""
    if settings.trouble:
        raise RagstoneError(settings.trouble)
    body = json.dumps(content).encode()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        **signed(settings.secret, body),
    }
    request = Request(settings.url + path, body, headers, method="POST")  # noqa: S310
    try:
        with build_opener(_NoRedirects).open(request, timeout=settings.timeout) as response:
            return _object(response.read(MOST_BYTES + 1), response.status)
    except HTTPError as error:
        with error:
            raise RagstoneError(_message(error), error.code) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise RagstoneError(f"Ragstone cannot be reached: {reason}") from error


def visitor_call(
    settings: RagSettings, visitor: dict[str, Any], call: str, **content: Any
) -> dict[str, Any]:
    """What a visitor gets from Ragstone; raises RagstoneError."""
    return post(
        settings,
        "/plone/visitor",
        {"nonce": uuid.uuid4().hex, "visitor": visitor, "call": call, **content},
    )


def _object(content: bytes, status: int) -> dict[str, Any]:
    if len(content) > MOST_BYTES:
        raise RagstoneError("Ragstone answered with too much.", status)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RagstoneError("What answers at the address is not Ragstone.", 502)
    return found


def _message(error: HTTPError) -> str:
    """The sentence of Ragstone's that says what is wrong."""
    try:
        found = json.loads(error.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError, HTTPException):
        found = None
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return found["message"]
    return f"Ragstone answered with status {error.code}."
