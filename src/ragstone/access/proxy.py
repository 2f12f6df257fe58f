"""Callers identified by a reverse proxy, in request headers."""

import hmac
import ipaddress
from typing import Protocol

from ragstone.access.claims import role, text, texts, user
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized
from ragstone.core.turn import Principal
from ragstone.settings import AuthSettings

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
        principal = Principal(text(tenant, "tenant"), user(who), groups)
        name = f"proxy:{tenant}:{who}"
        return Caller(principal, role(roles, settings), reach if limited else None, name)

    def sends(self, headers: _Headers, address: str) -> bool:
        """Whether a request with these headers, from this address, comes from the proxy."""
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
        return texts([part.strip() for part in value.split(",") if part.strip()], what)
