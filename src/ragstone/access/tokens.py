"""Signed tokens (JWT, as OIDC providers issue them): checked, and read by the settings.

The public keys of a token issuer (JWKS, RFC 7517), fetched and kept for a while.

What is asked of an issuer over HTTP is bounded in time and size.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import jwt

from ragstone.access.proxy import find_claim, highest_role, read_name, read_names, read_user
from ragstone.access.secrets import digest
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized, Unavailable
from ragstone.core.turn import Principal
from ragstone.settings import AuthSettings

FETCH_SECONDS = 5.0
MAX_BYTES = 512_000


def issuer_client() -> httpx2.AsyncClient:
    """Make what asks issuers."""
    # A redirect is an answer like another: it could lead anywhere.
    return httpx2.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False)


async def fetch(
    http: httpx2.AsyncClient, method: str, url: str, **request: Any
) -> tuple[int, bytes]:
    """Return the status and content of the answer; raises ValueError where there is none, or one
    that takes too long or is too large."""
    content = b""
    try:
        async with asyncio.timeout(FETCH_SECONDS), http.stream(method, url, **request) as response:
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > MAX_BYTES:
                    raise ValueError(f"more than {MAX_BYTES:,} bytes")
            return response.status_code, content
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise ValueError(str(error) or "too slow") from error


log = logging.getLogger(__name__)

KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""The kind of key (kty) that verifies an algorithm, by its first letters."""

REFRESH_PAUSE = 10.0
"""Seconds between two fetches for keys that are not known, however many tokens name one."""

FRESH_SECONDS = 300.0
"""Seconds for which keys are used before they are fetched again."""

MAX_KEYS = 100


@dataclass(frozen=True, slots=True)
class _Key:
    name: str | None
    kind: str
    algorithm: str | None
    usable: Any

    def fits(self, name: str | None, algorithm: str) -> bool:
        named = name is None or self.name == name
        return (
            named and self.kind == KEY_TYPES[algorithm[:2]] and self.algorithm in (None, algorithm)
        )


class KeySet:
    """The keys at `url`, fetched again after `fresh` seconds, and for a key that is not known.

    When they cannot be fetched, those known go on; a token of another key is then refused as
    unavailable, since it may well be good.
    """

    def __init__(
        self,
        url: str,
        fresh: float = FRESH_SECONDS,
        pause: float = REFRESH_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._fresh = fresh
        self._pause = pause
        self._clock = clock
        self._http = issuer_client()
        self._keys: tuple[_Key, ...] = ()
        self._fetched: float | None = None
        self._tried: float | None = None
        self._failed = False
        self._lock = asyncio.Lock()

    async def key(self, name: str | None, algorithm: str) -> Any:
        """The key to verify a token with; a token that names none needs it to be the only one.

        Raises Unauthorized if there is none, Unavailable if that cannot be known now.
        """
        stale = self._fetched is None or self._clock() - self._fetched >= self._fresh
        if stale and not (self._keys and self._lock.locked()):
            await self._refresh()
        found = [key for key in self._keys if key.fits(name, algorithm)]
        if not found:
            # The issuer may have begun to sign with a new key since the last fetch.
            await self._refresh()
            found = [key for key in self._keys if key.fits(name, algorithm)]
        if len(found) == 1:
            return found[0].usable
        if found:
            raise Unauthorized(
                "The token does not say which key signed it. Have its issuer name the key (kid)."
            )
        if self._failed:
            raise Unavailable(
                "The keys of the token's issuer cannot be fetched. Try again soon.", self._pause
            )
        raise Unauthorized(
            "The token is signed with a key that is not its issuer's. Sign in again for a new one."
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _refresh(self) -> None:
        async with self._lock:
            if self._tried is not None and self._clock() - self._tried < self._pause:
                return
            self._tried = self._clock()
            try:
                self._keys = tuple(_read(await self._fetch()))
                self._fetched, self._failed = self._clock(), False
            except ValueError as error:
                self._failed = True
                log.warning("The keys at %s cannot be fetched: %s", self._url, error)

    async def _fetch(self) -> bytes:
        status, content = await fetch(self._http, "GET", self._url)
        if status != 200:
            raise ValueError(f"status {status}")
        return content


def _read(content: bytes) -> Iterator[_Key]:
    """Yield the public signing keys of a JWKS; all other entries are left out."""
    try:
        listed = json.loads(content)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is not a JWKS") from error
    if not isinstance(listed, list):
        raise ValueError("it is not a JWKS")
    for item in listed[:MAX_KEYS]:
        # A symmetric key (oct) would let everyone who reads the set sign tokens.
        if not isinstance(item, dict) or item.get("kty") not in KEY_TYPES.values():
            continue
        if item.get("use") not in (None, "sig"):
            continue
        try:
            usable = jwt.PyJWK(item, algorithm=item.get("alg") or _default_algorithm(item)).key
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        yield _Key(item.get("kid"), item["kty"], item.get("alg"), usable)


def _default_algorithm(key: dict[str, Any]) -> str:
    """An algorithm that a key of this kind can be read for; which one verifies is not decided."""
    curves = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
    return {"RSA": "RS256", "OKP": "EdDSA"}.get(key["kty"]) or curves.get(key.get("crv", ""), "")


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
