"""Readers of Plone content as Ragstone principals, and its path."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from ragstone.core.chunk import EVERYONE

ANONYMOUS, AUTHENTICATED = "Anonymous", "Authenticated"
CONNECTOR = "ragstone:plone"
"""The group that reads whatever the connector indexed, so that it can replace and delete it."""

ALWAYS = ("Manager", "Site Administrator")
_KEYS = ("allowedRolesAndUsers", "allowed_roles_and_users")


def names(tokens: Iterable[str]) -> tuple[str, ...]:
    """The values of `allowedRolesAndUsers` as the names that a principal has.

    Anonymous is everyone of the tenant; a role is the group of its name; `user:x` is both the user
    and the group x, as Plone spells groups like users.
    """
    found: list[str] = [f"group:{CONNECTOR}"]
    for token in tokens:
        kind, colon, name = token.partition(":")
        if token == ANONYMOUS:
            found.append(EVERYONE)
        elif kind in ("user", "group") and name:
            found += [f"user:{name}", f"group:{name}"] if kind == "user" else [f"group:{name}"]
        elif token and not colon:
            found.append(f"group:{token}")
    return tuple(dict.fromkeys(found))


def tokens(item: Mapping[str, Any], public_states: Sequence[str]) -> list[str]:
    """Who may read an object: as the site says, else everyone in a public state, else its owners
    and those who may read all."""
    for key in _KEYS:
        said = item.get(key)
        if isinstance(said, list):
            return [token for token in said if isinstance(token, str)]
    if item.get("review_state") in public_states:
        return [ANONYMOUS]
    creators = item.get("creators")
    owners = [one for one in creators if isinstance(one, str)] if isinstance(creators, list) else []
    return [*ALWAYS, *(f"user:{owner}" for owner in owners)]


def path_in(site: str, address: str) -> str | None:
    """The path of an object below the site, such as /news/today; None if it is elsewhere."""
    root, place = urlsplit(site.rstrip("/")), urlsplit(address)
    if (root.scheme, root.netloc) != (place.scheme, place.netloc):
        return None
    above, path = unquote(root.path), unquote(place.path).rstrip("/")
    if path != above and not path.startswith(above + "/"):
        return None
    return path[len(above) :] or "/"


def filtered_path(path: str, asked_at: str, site: str) -> str:
    """A path filter below the site: clients name the site first, in whatever case.

    `asked_at` is the path of the address that was asked, `site` the address of the site.
    """
    parts = [part for part in path.split("/") if part]
    roots = [[part for part in unquote(urlsplit(site).path).split("/") if part]]
    roots.append([part for part in asked_at.split("/") if part][:1])
    for root in roots:
        head = [part.casefold() for part in parts[: len(root)]]
        if root and head == [part.casefold() for part in root]:
            return "/" + "/".join(parts[len(root) :])
    return "/" + "/".join(parts)
