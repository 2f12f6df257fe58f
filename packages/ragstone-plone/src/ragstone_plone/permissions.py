"""Who may view an object: for Ragstone as names, and for the visitor of a request as yes or no."""

from __future__ import annotations

from typing import Any

from AccessControl import getSecurityManager
from AccessControl.PermissionRole import rolesForPermissionOn
from AccessControl.Permissions import view as VIEW  # noqa: N812
from DateTime import DateTime
from Products.CMFCore.permissions import AccessInactivePortalContent
from Products.CMFCore.utils import getToolByName

ANONYMOUS, AUTHENTICATED = "Anonymous", "Authenticated"

READ_PERMISSIONS = "ragstone_plone: Read effective permissions"
INDEX = "ragstone_plone: Index"


def effective_permissions(obj: Any) -> list[str]:
    """Who may view an object now: roles, and `user:x` for a user or group x with a local role that
    may. Local roles of containers, and blocked ones, count as Plone counts them.

    An object before its publication or after its expiry is for those who may see inactive content.
    A user or group that is called as a role is left out: Ragstone could not tell it from the role.
    """
    allowed = _roles(obj)
    for everybody in (ANONYMOUS, AUTHENTICATED):
        if everybody in allowed:
            return [everybody]
    users = getToolByName(obj, "acl_users")
    taken = set(users.valid_roles())
    local = {
        f"user:{name}"
        for name, roles in users._getAllLocalRoles(obj).items()
        if allowed.intersection(roles) and name not in taken
    }
    return sorted((allowed - {"Owner", "Shared"}) | local)


def _roles(obj: Any) -> set[str]:
    """Roles, each of which suffices to view the object."""
    allowed = set(rolesForPermissionOn(VIEW, obj))
    if is_active(obj):
        return allowed
    inactive = set(rolesForPermissionOn(AccessInactivePortalContent, obj))
    if ANONYMOUS in allowed:
        return inactive
    if AUTHENTICATED in allowed:
        return inactive - {ANONYMOUS} | ({AUTHENTICATED} if ANONYMOUS in inactive else set())
    return allowed if ANONYMOUS in inactive else allowed & inactive


def is_active(obj: Any) -> bool:
    """Whether an object is published by its dates, if it has any."""
    now = DateTime()
    effective, expires = _date(obj, "effective"), _date(obj, "expires")
    return (effective is None or effective <= now) and (expires is None or expires > now)


def _date(obj: Any, name: str) -> DateTime | None:
    value = getattr(obj, name, None)
    value = value() if callable(value) else value
    return value if isinstance(value, DateTime) else None


def viewable(obj: Any) -> bool:
    """Whether the visitor of this request may view an object now."""
    manager = getSecurityManager()
    if not manager.checkPermission(VIEW, obj):
        return False
    return is_active(obj) or bool(manager.checkPermission(AccessInactivePortalContent, obj))


def object_at(site: Any, path: str) -> Any:
    """The object at a path below the site; None if there is none, or only by acquisition."""
    parts = [part for part in path.split("/") if part]
    found = site.unrestrictedTraverse("/".join(parts), None) if parts else site
    wanted = (*site.getPhysicalPath(), *parts)
    place = getattr(found, "getPhysicalPath", None)
    return found if place is not None and tuple(place()) == wanted else None
