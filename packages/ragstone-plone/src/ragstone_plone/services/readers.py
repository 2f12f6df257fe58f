"""Who may view an object, for Ragstone's connector: a component of every serialised object, and a
service. Only those see it who may read effective permissions."""

from __future__ import annotations

from typing import Any

from AccessControl import getSecurityManager
from plone import api
from plone.restapi.interfaces import IExpandableElement
from plone.restapi.services import Service
from Products.CMFCore.interfaces import IContentish
from zExceptions import BadRequest
from zope.component import adapter
from zope.interface import implementer

from ragstone_plone.interfaces import IRagstoneLayer
from ragstone_plone.permissions import READ_PERMISSIONS, effective_permissions

NAME = "rag-permissions"
MOST = 500


def readers(obj: Any) -> dict[str, Any]:
    return {
        "@id": f"{obj.absolute_url()}/@{NAME}",
        "allowedRolesAndUsers": effective_permissions(obj),
    }


@implementer(IExpandableElement)
@adapter(IContentish, IRagstoneLayer)
class Readers:
    """Always expanded: a connector that does not know the add-on need not ask for it."""

    def __init__(self, context: Any, request: Any) -> None:
        self.context = context
        self.request = request

    def __call__(self, expand: bool = False) -> dict[str, Any]:
        if not getSecurityManager().checkPermission(READ_PERMISSIONS, self.context):
            return {}
        return {NAME: readers(self.context)}


class GetReaders(Service):
    def reply(self) -> dict[str, Any]:
        return readers(self.context)


class ListReaders(Service):
    """The same for many objects, named by their UIDs."""

    def reply(self) -> dict[str, Any]:
        uids = self.request.form.get("UID", [])
        uids = [uids] if isinstance(uids, str) else uids
        if not isinstance(uids, list) or len(uids) > MOST:
            raise BadRequest(f"UID: name {MOST} objects or fewer.")
        catalog = api.portal.get_tool("portal_catalog")
        found = {}
        for brain in catalog.unrestrictedSearchResults(UID=[str(uid) for uid in uids]):
            found[brain.UID] = effective_permissions(brain._unrestrictedGetObject())
        return {"@id": f"{self.context.absolute_url()}/@{NAME}", "allowedRolesAndUsers": found}
