"""Signed tokens (JWT, as OIDC providers issue them): checked, and read by the settings."""

from collections.abc import Mapping
from typing import Any

import jwt

from ragstone.access.jwks import KeySet
from ragstone.access.proxy import find_claim, highest_role, read_name, read_names, read_user
from ragstone.access.secrets import digest
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized
from ragstone.core.turn import Principal
from ragstone.settings import AuthSettings

MAX_KEY_NAME = 255

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""How tokens may be signed: what providers of OpenID Connect use, and nothing whose verifying key
could sign."""

LEEWAY_SECONDS = 30.0
"""How far clocks may be apart when a token's times are read."""


class Tokens:
    """Checks tokens with the keys of `keys`. Key references in a token's head are never followed,
    and it chooses only among `ALGORITHMS`."""

    def __init__(self, settings: AuthSettings, keys: KeySet) -> None:
        self._settings = settings
        self._keys = keys

    async def caller(self, token: str) -> Caller:
        """Who a token is of; raises Unauthorized, and Unavailable if its key cannot be fetched."""
        name, algorithm = self._head(token)
        key = await self._keys.key(name, algorithm)
        return self._caller(self._claims(token, key, algorithm))

    def session(self, token: str) -> tuple[str, float]:
        """The name of the session that a token whose caller is known stands for, and its end."""
        claims = jwt.decode(token, options={"verify_signature": False})
        # Without the signature: another spelling of it may be right too.
        return digest(token.rpartition(".")[0]), claims["exp"] + LEEWAY_SECONDS

    async def aclose(self) -> None:
        await self._keys.aclose()

    def _head(self, token: str) -> tuple[str | None, str]:
        """Return the name of the key, if it says one, and the algorithm."""
        try:
            head = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise Unauthorized("This credential is neither an API key nor a token.") from error
        algorithm, name = head.get("alg"), head.get("kid")
        if algorithm not in ALGORITHMS:
            raise Unauthorized(f"The token must be signed with {' or '.join(ALGORITHMS)}.")
        if "crit" in head:
            raise Unauthorized(
                "The token asks for extensions that are not known here. "
                "Have its issuer leave crit out."
            )
        if name is not None and not (isinstance(name, str) and 0 < len(name) <= MAX_KEY_NAME):
            raise Unauthorized(
                "The token does not name its key as a short text. Have its issuer correct kid."
            )
        return name, algorithm

    def _claims(self, token: str, key: Any, algorithm: str) -> Mapping[str, Any]:
        settings = self._settings
        try:
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=list(settings.audience),
                issuer=settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unauthorized(_refusal(error)) from error
        return found

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        settings = self._settings
        names = settings.claims
        who = read_user(find_claim(claims, names["user"]))
        tenant = settings.tenant
        if "tenant" in names:
            tenant = read_name(find_claim(claims, names["tenant"]), "tenant")
        collections = None
        if "collections" in names:
            collections = read_names(find_claim(claims, names["collections"]), "collections")
        roles = read_names(find_claim(claims, names["role"]), "roles")
        groups = read_names(find_claim(claims, names["groups"]), "groups")
        principal = Principal(tenant, who, groups)
        return Caller(
            principal, highest_role(roles, settings), collections, f"token:{tenant}:{who}"
        )


def _refusal(error: Exception) -> str:
    """Return the reason for the refusal in one sentence, without any part of the token."""
    match error:
        case jwt.ExpiredSignatureError():
            return "The token has expired. Sign in again."
        case jwt.ImmatureSignatureError():
            return "The token is not valid yet. Check the clocks."
        case jwt.InvalidAudienceError():
            return "The token is meant for another service."
        case jwt.InvalidIssuerError():
            return "The token comes from another issuer."
        case jwt.MissingRequiredClaimError(claim=name):
            return f"The token lacks the claim {name}."
        case jwt.InvalidSignatureError():
            return "The token's signature does not fit."
    return "The token cannot be read."
