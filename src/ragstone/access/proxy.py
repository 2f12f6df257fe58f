"""Callers identified by a reverse proxy, in request headers.

What these headers, or the claims of a token, mean is told by the settings.
"""

import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.caller import OF_A_KEY, ROLES, Caller, Role
from ragstone.core.errors import Unauthorized
from ragstone.core.turn import Principal
from ragstone.settings import AuthSettings

MAX_NAME_CHARACTERS, MAX_NAMES = 255, 1000


def find_claim(claims: Mapping[str, object], path: str) -> object:
    """Return a claim by its name, or by a path with dots if none has that name."""
    if path in claims:
        return claims[path]
    value: object = claims
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def read_name(value: object, what: str) -> str:
    """Return a name; raises Unauthorized for anything else."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME_CHARACTERS:
        raise Unauthorized(f"The credential does not say its {what} as a text.")
    return value


def read_user(value: object) -> str:
    """Return the name of a user; raises Unauthorized for one that only a key can have."""
    name = read_name(value, "user")
    if name.startswith(OF_A_KEY):
        raise Unauthorized(f"The name of a user must not begin with {OF_A_KEY!r}.")
    return name


def read_names(value: object, what: str) -> tuple[str, ...]:
    """Return a list of names, or one; raises Unauthorized for anything else."""
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or len(found) > MAX_NAMES:
        raise Unauthorized(f"The credential does not say its {what} as a list of texts.")
    return tuple(dict.fromkeys(read_name(item, what) for item in found))


def highest_role(names: Sequence[str], settings: AuthSettings) -> Role:
    """The highest role that these names mean, which others of a token's roles do not lower."""
    meant = [settings.roles[name] for name in names if name in settings.roles]
    meant += [item for item in ROLES if item in names and item not in settings.roles]
    return max(meant, key=ROLES.index, default=settings.roles.get("*", "reader"))


SECRET_HEADER = "x-proxy-secret"  # noqa: S105
USER_HEADER, TENANT_HEADER = "x-forwarded-user", "x-forwarded-tenant"
GROUPS_HEADER, ROLE_HEADER = "x-forwarded-groups", "x-forwarded-role"
COLLECTIONS_HEADER = "x-forwarded-collections"
"""What the proxy says, and in which headers; several groups, roles and collections with commas
between them."""


class _Headers(Protocol):
    def getlist(self, key: str) -> list[str]: ...


class TrustedProxy:
    """Believes headers of a request that the proxy sent.

    That is one from its addresses, one with its secret, or, where both are set, one with both.
    From anywhere else the headers mean nothing.
    """

    def __init__(self, settings: AuthSettings) -> None:
        self._settings = settings
        self._secret = settings.proxy_secret.get_secret_value()
        self._networks = [ipaddress.ip_network(n, strict=False) for n in settings.proxy_addresses]

    def caller(self, headers: _Headers, address: str) -> Caller | None:
        """Who the proxy says asks, None if it says nothing or is none; raises Unauthorized."""
        if not self.sends(headers, address):
            return None
        settings = self._settings
        who = self._single_value(headers, USER_HEADER)
        if not who:
            return None
        tenant = self._single_value(headers, TENANT_HEADER) or settings.tenant
        groups = self._list_value(headers, GROUPS_HEADER, "groups")
        roles = self._list_value(headers, ROLE_HEADER, "roles")
        reach = self._list_value(headers, COLLECTIONS_HEADER, "collections")
        limited = bool(headers.getlist(COLLECTIONS_HEADER))
        principal = Principal(read_name(tenant, "tenant"), read_user(who), groups)
        name = f"proxy:{tenant}:{who}"
        return Caller(principal, highest_role(roles, settings), reach if limited else None, name)

    def sends(self, headers: _Headers, address: str) -> bool:
        """Tell whether a request with these headers, from this address, comes from the proxy."""
        if self._networks and not self._is_proxy_address(address):
            return False
        if not self._secret:
            return True
        given = headers.getlist(SECRET_HEADER)
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self._secret.encode())

    def _is_proxy_address(self, address: str) -> bool:
        try:
            place = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A socket for both kinds of addresses shows the old ones inside the new.
        place = getattr(place, "ipv4_mapped", None) or place
        return any(place in network for network in self._networks)

    def _single_value(self, headers: _Headers, name: str) -> str:
        values = headers.getlist(name)
        if len(values) > 1:
            raise Unauthorized(f"The header {name} came twice; the proxy must remove the client's.")
        return values[0].strip() if values else ""

    def _list_value(self, headers: _Headers, name: str, what: str) -> tuple[str, ...]:
        value = self._single_value(headers, name)
        return read_names([part.strip() for part in value.split(",") if part.strip()], what)
