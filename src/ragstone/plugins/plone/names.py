"""Readers of Plone content as Ragstone principals, and its path."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from ragstone.core.chunk import EVERYONE

SITE_ID = "Plone"
"""What a new site is called inside Zope. Paths may begin with it where the address hides it; below
another name they are given without it."""

ANONYMOUS, AUTHENTICATED = "Anonymous", "Authenticated"
LOGGED_IN = "AuthenticatedUsers"
"""The group of Plone that everyone is in who is logged in."""
CONNECTOR = "ragstone:plone"
"""The group that reads whatever the connector indexed, so that it can replace and delete it."""

ALWAYS = ("Manager", "Site Administrator")
OWNER = "Owner"
"""A role that only counts where somebody has it: a group of its name would read what others own."""
ROLES = frozenset(
    {
        *ALWAYS,
        ANONYMOUS,
        AUTHENTICATED,
        OWNER,
        "Contributor",
        "Editor",
        "Member",
        "Reader",
        "Reviewer",
    }
)
_KEYS = ("allowedRolesAndUsers", "allowed_roles_and_users")


def stated_readers(item: Mapping[str, Any]) -> list[str] | None:
    """Return who may read an object, where the site itself says so; None where it does not."""
    for place in (add_on_fields(item), item):
        for key in _KEYS:
            value = place.get(key)
            if isinstance(value, list):
                return [token for token in value if isinstance(token, str)]
    return None


def add_on_fields(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the add-on `ragstone-plone` says of an object; empty where a site does not have it."""
    components = item.get("@components")
    found = components.get("rag-permissions") if isinstance(components, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def names(tokens: Iterable[str]) -> tuple[str, ...]:
    """Return the values of `allowedRolesAndUsers` as the names that a principal has.

    Anonymous is everyone of the tenant; a role is the group of its name; `user:x` is both the user
    and the group x, as Plone spells groups like users. A user called like a role is the user alone.
    """
    found: list[str] = [f"group:{CONNECTOR}"]
    for token in tokens:
        kind, colon, name = token.partition(":")
        if token == ANONYMOUS:
            found.append(EVERYONE)
        elif kind in ("user", "group") and name == LOGGED_IN:
            found.append(f"group:{AUTHENTICATED}")
        elif kind == "user" and name:
            found += [f"user:{name}"] if name in ROLES else [f"user:{name}", f"group:{name}"]
        elif kind == "group" and name and name not in ROLES:
            found.append(f"group:{name}")
        elif token and not colon and token != OWNER:
            found.append(f"group:{token}")
    return tuple(dict.fromkeys(found))


def reader_names(
    roles: Iterable[str], entries: Iterable[Mapping[str, Any]], owners: Iterable[str]
) -> tuple[str, ...]:
    """Return the same for an object that everyone with one of these roles may view: who has it on
    the whole site, those of the sharing page's `entries` who have it there, and `owners`, users who
    may view it besides."""
    wanted = set(roles)
    found = [
        f"group:{CONNECTOR}",
        *(f"group:{role}" for role in (*ALWAYS, *sorted(wanted - {OWNER}))),
    ]
    for entry in entries:
        kind, name, has = entry.get("type"), entry.get("id"), entry.get("roles")
        if (
            kind not in ("user", "group")
            or not isinstance(name, str)
            or not isinstance(has, Mapping)
        ):
            continue
        # A role is true where it was given here, "acquired" from above, "global" on the site.
        if any(
            value is True or value == "acquired" for role, value in has.items() if role in wanted
        ):
            if name == LOGGED_IN:
                found.append(f"group:{AUTHENTICATED}")
            elif kind == "user" or name not in ROLES:
                found.append(f"{kind}:{name}")
    found += [f"user:{owner}" for owner in owners]
    return tuple(dict.fromkeys(found))


def site_path(site: str, address: str) -> str | None:
    """Return the path of an object below the site, such as /news/today; None if it is elsewhere."""
    root, place = urlsplit(site.rstrip("/")), urlsplit(address)
    if (root.scheme, root.netloc) != (place.scheme, place.netloc):
        return None
    above, path = unquote(root.path), unquote(place.path).rstrip("/")
    if path != above and not path.startswith(above + "/"):
        return None
    return path[len(above) :] or "/"


def filter_path(path: str, asked_at: str, site: str) -> str:
    """The part of the site that a question is limited to, as a path below the site; / for none.

    `path` is what the client names: a path that begins with the site's own in whatever case, or
    not, or an address; empty for the place where it asks, as Plone's own searches do. `asked_at` is
    the path of the address that was asked, `site` the address of the site.
    """
    where = urlsplit(path).path if "://" in path else path
    parts = _parts(unquote(where) if "://" in path else where) if path else _context(asked_at)
    for root in (_parts(unquote(urlsplit(site).path)), [SITE_ID]):
        head = [part.casefold() for part in parts[: len(root)]]
        if root and head == [part.casefold() for part in root]:
            parts = parts[len(root) :]
            break
    return "/" + "/".join(parts)


def _context(asked_at: str) -> list[str]:
    """Return the place in the site that a service was called at."""
    return _parts(unquote(asked_at).rpartition("/@")[0])


def _parts(path: str) -> list[str]:
    """Return the names in a path, without those that are none: what a virtual host is made of,
    namespaces such as ++api++, and views."""
    names = [part for part in path.split("/") if part and part != "."]
    if names[:1] == ["VirtualHostBase"] and "VirtualHostRoot" in names:
        root = names.index("VirtualHostRoot")
        # /VirtualHostBase/https/x.org:443/Plone/VirtualHostRoot/_vh_cms/section
        names = names[3:root] + [item for item in names[root + 1 :] if not item.startswith("_vh_")]
    found: list[str] = []
    for name in names:
        if name.startswith("@"):
            break
        if name == "..":
            found = found[:-1]
        elif not (name.startswith("++") and name.count("++") > 1):
            found.append(name)
    return found
