"""`@rag-index` and `@rag-index-all`: have content indexed anew."""

from __future__ import annotations

import re
from typing import Any

from plone import api
from plone.protect.interfaces import IDisableCSRFProtection
from zExceptions import BadRequest
from zope.interface import alsoProvides

from ragstone_plone.changes import queue_types, send_after_commit, site_outbox
from ragstone_plone.outbox import SETTINGS, Outbox
from ragstone_plone.services.base import NotAnswered, RagService, flag, text

_UID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class _Indexing(RagService):
    def outbox(self) -> Outbox:
        """The site's outbox, into which this request may write."""
        found = site_outbox()
        if found is None:
            raise NotAnswered(503, "ServiceUnavailable", "The add-on is not installed here.")
        alsoProvides(self.request, IDisableCSRFProtection)
        return found[1]


class Index(_Indexing):
    """One object: queued, or with `async: false` indexed before the answer."""

    name = "@rag-index"

    def answer(self) -> dict[str, Any]:
        settings, body = self.settings(), self.body()
        uid = text(body, "uid", 200)
        if not _UID.fullmatch(uid):
            raise BadRequest("uid: it must be the UID of an object.")
        queue = flag(body, "async", True)
        brains = api.portal.get_tool("portal_catalog").unrestrictedSearchResults(UID=uid)
        if not brains:
            raise NotAnswered(404, "NotFound", "uid: the site has no object of this UID.")
        portal_type = brains[0].portal_type
        if portal_type not in settings.content_types:
            raise BadRequest(f"uid: objects of type {portal_type!r} are not indexed here.")
        if not queue:
            found = self.call(settings, "index", uid=uid, portal_type=portal_type, sync=True)
            return {**found, "uid": uid}
        self.outbox().put(send_after_commit(self.site), uid)
        return {"status": "queued", "uid": uid}


class IndexAll(_Indexing):
    """Every object of the content types; Ragstone is told the settings anew, too."""

    name = "@rag-index-all"

    def answer(self) -> dict[str, Any]:
        settings, outbox = self.settings(), self.outbox()
        outbox.put(send_after_commit(self.site), SETTINGS)
        count = queue_types(self.site, outbox, settings.content_types)
        types = list(settings.content_types)
        return {"status": "queued", "queued_count": count, "content_types": types}
