"""`@rag-status`: how much of the site is indexed, as far as the visitor may view it."""

from __future__ import annotations

from typing import Any

from plone import api

from ragstone_plone.changes import site_outbox
from ragstone_plone.permissions import INDEX
from ragstone_plone.ragstone import RagstoneError, visitor_call
from ragstone_plone.services.base import RagService
from ragstone_plone.settings import read_settings
from ragstone_plone.visitor import visitor

OFF = {
    "index_name": "plone-rag-chunks",
    "exists": False,
    "chunk_count": 0,
    "parent_count": 0,
    "dimensions": 0,
}


DISPROVED = (0, 401, 403)
"""Statuses of calls that could not reach Ragstone, or were not believed to be the site's: one that
was answered just now shows that this is over."""


class Status(RagService):
    name = "@rag-status"

    def answer(self) -> dict[str, Any]:
        settings = read_settings()
        enabled = settings is not None and settings.enabled
        found: dict[str, Any] = {"enabled": enabled, **OFF}
        trouble = ""
        if settings is not None and enabled:
            try:
                who = visitor(self.site, self.request, settings.secret)
                found |= visitor_call(settings, who, "status")
            except RagstoneError as error:
                trouble = str(error)
        if not api.user.has_permission(INDEX, obj=self.site):
            return found
        return {**found, **self._for_those_who_index(trouble)}

    def _for_those_who_index(self, trouble: str) -> dict[str, Any]:
        noted = site_outbox()
        if noted is None:
            return {"trouble": trouble}
        _, outbox = noted
        report = outbox.report
        if report.trouble and not trouble:
            self.wake()
            trouble = "" if report.status in DISPROVED or not len(outbox) else report.trouble
        return {"waiting": len(outbox), "trouble": trouble}
