"""Signing in at the issuer of tokens (OIDC): Authorization Code with PKCE, for the web page.

The page may talk to this server alone, so the server exchanges the code. What is made for a single
sign-in (state, nonce, verifier) is the page's; nothing of it is kept here.
"""

import asyncio
import hmac
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt

from ragstone.access.tokens import fetch, issuer_client
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized, Unavailable
from ragstone.settings import AuthSettings

log = logging.getLogger(__name__)

DISCOVERY_PAUSE = 10.0
"""Seconds between two looks for a provider that does not answer, however many pages ask."""

DESCRIPTION = "/.well-known/openid-configuration"
_ERROR = re.compile(r"[a-z_]{1,40}", re.ASCII)
"""How an error of OAuth is called; anything else is not repeated, as it may hold what was sent."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """Where people sign in, where codes are exchanged, and whether the client's secret goes there
    as HTTP's basic credentials or in the form."""

    authorize: str
    token: str
    basic: bool


class SignIn:
    """Sign-in at the issuer of the settings. `accepts` says who a token is of, and raises
    Unauthorized for one that does not count here."""

    def __init__(
        self,
        settings: AuthSettings,
        accepts: Callable[[str], Awaitable[Caller]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.host = urlsplit(settings.issuer).netloc
        self._settings = settings
        self._accepts = accepts
        self._clock = clock
        self._http = issuer_client()
        self._provider: _Provider | None = None
        self._tried: float | None = None
        self._lock = asyncio.Lock()

    async def address(self) -> str:
        """Return where a browser goes to sign in, without what each sign-in has of its own; raises
        Unavailable."""
        provider = await self._find_provider()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._settings.client_id,
                "scope": self._settings.scopes,
                "code_challenge_method": "S256",
            }
        )
        return f"{provider.authorize}{'&' if '?' in provider.authorize else '?'}{query}"

    async def token(self, code: str, verifier: str, nonce: str, redirect: str) -> str:
        """Return the token for a code that came back to `redirect`: the access token if it counts
        here, else the id token. Raises Unauthorized if neither does, Unavailable."""
        answer = await self._exchange(code, verifier, redirect)
        access, identity = answer.get("access_token"), answer.get("id_token")
        if identity is not None and not self._belongs(identity, nonce):
            raise Unauthorized("The id token is not of this sign-in. Sign in again.")
        refused = ""
        for name, token in (("access token", access), ("id token", identity)):
            try:
                await self._accepts(str(token or ""))
            except Unauthorized as error:
                refused += f" The {name}: {error}"
            else:
                return str(token)
        log.warning("Tokens of %s do not count here.%s", self.host, refused)
        raise Unauthorized(f"{self.host} let you in, but its tokens do not count here.{refused}")

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _find_provider(self) -> _Provider:
        async with self._lock:
            if self._provider:
                return self._provider
            if self._tried is None or self._clock() - self._tried >= DISCOVERY_PAUSE:
                self._tried = self._clock()
                try:
                    self._provider = await self._discover()
                    return self._provider
                except ValueError as error:
                    log.warning("%s cannot be used to sign in: %s", self._settings.issuer, error)
        raise Unavailable(
            f"Signing in with {self.host} is not possible now. Try again soon.", DISCOVERY_PAUSE
        )

    async def _discover(self) -> _Provider:
        """Return what the issuer says of itself; raises ValueError."""
        issuer = self._settings.issuer
        status, content = await fetch(self._http, "GET", issuer.rstrip("/") + DESCRIPTION)
        if status != 200:
            raise ValueError(f"status {status}")
        said = _parse_object(content)
        if said.get("issuer") != issuer:
            raise ValueError("it says that it is another issuer than AUTH__ISSUER")
        ways = said.get("token_endpoint_auth_methods_supported")
        return _Provider(
            _endpoint(said, "authorization_endpoint", issuer),
            _endpoint(said, "token_endpoint", issuer),
            not isinstance(ways, list) or "client_secret_basic" in ways,
        )

    async def _exchange(self, code: str, verifier: str, redirect: str) -> dict[str, Any]:
        """Return what the provider gives for a code."""
        provider = await self._find_provider()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        name, secret = self._settings.client_id, self._settings.client_secret.get_secret_value()
        more: dict[str, Any] = {}
        if secret and provider.basic:
            # Each is encoded as in a form first (RFC 6749, 2.3.1).
            more = {"auth": (quote_plus(name), quote_plus(secret))}
        else:
            form |= {"client_id": name, **({"client_secret": secret} if secret else {})}
        try:
            status, content = await fetch(self._http, "POST", provider.token, data=form, **more)
            said = _parse_object(content)
        except ValueError as error:
            log.warning("%s gives no token: %s", self.host, error)
            raise Unavailable(
                f"{self.host} does not answer. Sign in again.", DISCOVERY_PAUSE
            ) from error
        if status == 200:
            return said
        reason = str(said.get("error"))
        reason = reason if _ERROR.fullmatch(reason) else f"status {status}"
        log.warning("%s gives no token: %s", self.host, reason)
        if status >= 500:
            raise Unavailable(f"{self.host} does not answer. Sign in again.", DISCOVERY_PAUSE)
        raise Unauthorized(f"{self.host} gives no token for this sign-in ({reason}). Try again.")

    def _belongs(self, token: object, nonce: str) -> bool:
        """Tell whether an id token was made for this client and sign-in."""
        try:
            # It came from the issuer itself, so its signature need not be checked for this (OpenID
            # Connect Core, 3.1.3.7).
            claims = jwt.decode(str(token), options={"verify_signature": False})
            same = hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode())
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False
        audience = claims.get("aud")
        meant = audience if isinstance(audience, list) else [audience]
        return same and self._settings.client_id in meant


def _parse_object(content: bytes) -> dict[str, Any]:
    """Return a JSON object; raises ValueError."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError("its answer is not JSON") from error
    if not isinstance(said, dict):
        raise ValueError("its answer is not a JSON object")
    return said


def _endpoint(said: dict[str, Any], name: str, issuer: str) -> str:
    """Return an address of the issuer's description: by HTTPS, unless the issuer itself is not."""
    address = said.get(name)
    parts = urlsplit(address) if isinstance(address, str) else None
    if not parts or not parts.hostname or parts.scheme not in ("https", urlsplit(issuer).scheme):
        raise ValueError(f"its {name} is not an address with https")
    return str(address)
