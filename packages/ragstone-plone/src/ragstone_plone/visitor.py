"""Who visits the site, as Ragstone is told."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from AccessControl import getSecurityManager
from Products.CMFCore.utils import getToolByName

from ragstone_plone.permissions import ANONYMOUS, INDEX


def visitor(site: Any, request: Any, secret: str) -> dict[str, Any]:
    """The names by which Plone's own catalog searches for this visitor: user, groups and roles of
    the whole site. An anonymous one has none, and is told from others by a keyed hash of its
    address. A group that is called as a role is left out, for Ragstone could not tell them apart.
    """
    manager = getSecurityManager()
    user = manager.getUser()
    roles = list(user.getRoles())
    id = user.getId()
    if id is None or ANONYMOUS in roles:
        address = request.getClientAddr() or ""
        place = hmac.new(secret.encode(), b"visitor " + address.encode(), hashlib.sha256)
        return {"user": "", "place": place.hexdigest()[:16]}
    taken = set(getToolByName(site, "acl_users").valid_roles())
    groups = [group for group in getattr(user, "getGroups", list)() if group not in taken]
    indexes = bool(manager.checkPermission(INDEX, site))
    return {"user": id, "roles": roles, "groups": groups, "indexes": indexes}
