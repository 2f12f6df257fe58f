"""Finds the caller of a request by the credential in its headers.

A credential is an API key, a signed token, the operator's token, or what a trusted proxy says; it
comes as a bearer token or in the header `x-api-key` or `api-key`, never in an address, which logs
keep. Where nothing of this is set up, everyone on this machine is the local user; where none is
required, who has none is anonymous, and reads what is for everyone.
"""

import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ragstone.access.proxy import TrustedProxy
from ragstone.access.secrets import PREFIX
from ragstone.core.caller import ANONYMOUS, LOCAL, OPERATOR, Caller
from ragstone.core.errors import Unauthorized
from ragstone.core.records import ApiKey
from ragstone.core.turn import Principal
from ragstone.service.keys import KeyService
from ragstone.settings import AuthSettings

if TYPE_CHECKING:
    from ragstone.access.tokens import Tokens

KEY_HEADERS = ("x-api-key", "api-key")
MOST_CHARACTERS = 8192
"""Of a credential; a token with hundreds of groups has fewer."""


class HeaderValues(Protocol):
    """The headers of a request, by name in small letters; a name may come several times."""

    def getlist(self, key: str) -> list[str]: ...


class Gate:
    """Finds the caller of a request. `tokens` and `proxy` are None where not set up."""

    def __init__(
        self,
        settings: AuthSettings,
        keys: KeyService,
        operator_token: str,
        tokens: "Tokens | None",
        proxy: TrustedProxy | None,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._operator = operator_token
        self._tokens = tokens
        self._proxy = proxy

    async def aclose(self) -> None:
        """Close what fetches keys."""
        if self._tokens:
            await self._tokens.aclose()

    async def required(self) -> bool:
        """Whether a request without a credential is refused."""
        if self._settings.required is not None:
            return self._settings.required
        return await self.configured()

    async def open(self) -> bool:
        """Whether everyone is the local user: nothing is set up, and nothing said about it."""
        return self._settings.required is None and not await self.configured()

    async def configured(self) -> bool:
        """Whether there is any credential besides the operator's token."""
        return bool(self._tokens or self._proxy) or await self._keys.exist()

    async def caller(self, headers: HeaderValues, address: str) -> Caller:
        """The caller at `address`; raises Unauthorized, Unavailable."""
        given = presented(headers)
        if given and hmac.compare_digest(given.encode(), self._operator.encode()):
            return OPERATOR
        if await self.open():
            return LOCAL
        if given and (given.startswith(PREFIX) or self._tokens):
            return await self._check_credential(given)
        if self._proxy:
            named = self._proxy.caller(headers, address)
            if named:
                return named
        if given and await self.configured():
            raise Unauthorized("This credential is not known here. Check it, or ask for one.")
        if not await self.required():
            return self._anonymous(address)
        raise Unauthorized(
            "This needs a credential. Send an API key as 'Authorization: Bearer KEY'."
        )

    def _anonymous(self, address: str) -> Caller:
        """Whoever has no credential; its address tells it apart in limits."""
        principal = replace(ANONYMOUS.principal, tenant=self._settings.tenant)
        return replace(ANONYMOUS, principal=principal, key=f"{ANONYMOUS.key}:{address}")

    async def _check_credential(self, given: str) -> Caller:
        if len(given) > MOST_CHARACTERS:
            raise Unauthorized(f"The credential is longer than {MOST_CHARACTERS:,} characters.")
        if given.startswith(PREFIX) or self._tokens is None:
            return caller_of_key(await self._keys.whose(given))
        return await self._tokens.caller(given)


def presented(headers: HeaderValues) -> str:
    """The credential that a request carries, empty for none; raises Unauthorized for several."""
    for name in (*KEY_HEADERS, "authorization"):
        if len(headers.getlist(name)) > 1:
            raise Unauthorized(f"The header {name} came twice. Send it once.")
    found = {value.strip() for name in KEY_HEADERS for value in headers.getlist(name)}
    for value in headers.getlist("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        if scheme.lower() == "bearer":
            found.add(rest.strip())
    found.discard("")
    if len(found) > 1:
        raise Unauthorized("The request carries different credentials. Send one of them.")
    return found.pop() if found else ""


def caller_of_key(key: ApiKey) -> Caller:
    """The caller of an API key."""
    principal = Principal(key.tenant, key.user, key.groups)
    return Caller(principal, key.role, key.collections, f"key:{key.id}")
