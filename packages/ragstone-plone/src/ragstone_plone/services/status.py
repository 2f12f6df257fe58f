"""`@rag-status`: how much of the site is indexed, as far as the visitor may view it."""

from __future__ import annotations

from typing import Any

from plone import api

from ragstone_plone.changes import site_outbox
from ragstone_plone.permissions import INDEX
from ragstone_plone.services.base import NotAnswered, RagService
from ragstone_plone.settings import read_settings

OFF = {
    "index_name": "plone-rag-chunks",
    "exists": False,
    "chunk_count": 0,
    "parent_count": 0,
    "dimensions": 0,
}


class Status(RagService):
    name = "@rag-status"

    def answer(self) -> dict[str, Any]:
        settings = read_settings()
        enabled = settings is not None and settings.enabled
        found: dict[str, Any] = {"enabled": enabled, **OFF}
        trouble = ""
        if settings is not None and enabled:
            try:
                found |= self.call(settings, "status")
            except NotAnswered as error:
                trouble = settings.trouble or str(error)
        if not api.user.has_permission(INDEX, obj=self.site):
            return found
        return {**found, **self._for_those_who_index(trouble)}

    def _for_those_who_index(self, trouble: str) -> dict[str, Any]:
        noted = site_outbox()
        if noted is None:
            return {"trouble": trouble}
        _, outbox = noted
        return {"waiting": len(outbox), "trouble": trouble or outbox.report.trouble}
