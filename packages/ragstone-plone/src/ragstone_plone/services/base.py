"""What the services share: bodies, errors, and the visitor's calls to Ragstone."""

from __future__ import annotations

import json
import logging
from typing import Any

from plone import api
from plone.restapi.services import Service
from zExceptions import BadRequest

from ragstone_plone.changes import site_outbox
from ragstone_plone.ragstone import RagstoneError, visitor_call
from ragstone_plone.sender import SENDER
from ragstone_plone.settings import RagSettings, read_settings
from ragstone_plone.visitor import visitor

log = logging.getLogger(__name__)

NAMES = {400: "BadRequest", 404: "NotFound", 429: "TooManyRequests"}
"""The types of errors of Ragstone's that are the visitor's; the others are the site's trouble."""


class NotAnswered(Exception):
    """A request that ends with a status and a sentence."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class RagService(Service):
    """A service whose errors have Plone's `type` and `message`."""

    name = ""

    def reply(self) -> dict[str, Any]:
        try:
            return {"@id": f"{self.context.absolute_url()}/{self.name}", **self.answer()}
        except NotAnswered as error:
            self.request.response.setStatus(error.status)
            return {"type": error.kind, "message": str(error)}

    def answer(self) -> dict[str, Any]:
        """The body of the answer, without its `@id`; raises NotAnswered, BadRequest."""
        raise NotImplementedError

    @property
    def site(self) -> Any:
        return api.portal.get()

    def settings(self) -> RagSettings:
        """The settings; raises NotAnswered where RAG is off."""
        settings = read_settings()
        if settings is None or not settings.enabled:
            raise NotAnswered(503, "ServiceUnavailable", "RAG is switched off in this site.")
        return settings

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent; raises BadRequest."""
        try:
            found = json.loads(self.request.get("BODY") or "{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise BadRequest("The body must be a JSON object.")
        return found

    def call(self, settings: RagSettings, name: str, **content: Any) -> dict[str, Any]:
        """What Ragstone says to this visitor; raises NotAnswered."""
        who = visitor(self.site, self.request, settings.secret)
        try:
            return visitor_call(settings, who, name, **content)
        except RagstoneError as error:
            if error.status in NAMES:
                raise NotAnswered(error.status, NAMES[error.status], str(error)) from error
            log.warning("Ragstone did not answer %s: %s", self.name, error)
            raise NotAnswered(503, "ServiceUnavailable", settings.error_message) from error

    def wake(self) -> None:
        """Tell Ragstone now what it has not been told."""
        if site_outbox() is not None:
            SENDER.wake(self.site._p_jar.db(), self.site.getPhysicalPath())


def text(found: dict[str, Any], name: str, most: int, default: str = "") -> str:
    """A text of a body; raises BadRequest for anything else."""
    value = found.get(name, default)
    if value is None:
        return default
    if not isinstance(value, str) or len(value) > most:
        raise BadRequest(f"{name}: it must be a text of {most:,} characters or fewer.")
    return value.encode("utf-8", "replace").decode()


def flag(found: dict[str, Any], name: str, default: bool) -> bool:
    """True or false of a body; raises BadRequest for anything else."""
    value = found.get(name, default)
    if not isinstance(value, bool):
        raise BadRequest(f"{name}: it must be true or false.")
    return value
