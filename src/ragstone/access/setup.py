"""The parts of this package, made as the settings say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ragstone.access.gate import Gate, KnownTokens
from ragstone.access.interceptor import Interceptor, Limits, Slots
from ragstone.access.proxy import TrustedProxy
from ragstone.access.rates import LocalRates
from ragstone.cache.shared import make_shared_server
from ragstone.core.errors import ConfigError
from ragstone.service.keys import KeyService
from ragstone.service.people import PeopleService
from ragstone.settings import AuthSettings, Settings
from ragstone.telemetry.spans import Telemetry, tracer

if TYPE_CHECKING:
    from ragstone.access.sign_in import SignIn

WAITING_QUESTIONS, WAIT_SECONDS = 200, 10.0
"""Questions that may wait for a place in this process, and the seconds after which one that still
waits is refused (429): nobody looks at an empty page for longer."""


def make_proxy(settings: AuthSettings) -> TrustedProxy | None:
    """Return the proxy that is believed; None where none is."""
    return TrustedProxy(settings) if settings.by_proxy else None


def make_gate(
    settings: AuthSettings,
    keys: KeyService,
    operator_token: str,
    local_token: str | None = None,
    people: PeopleService | None = None,
) -> Gate:
    """Return what tells callers apart; raises ConfigError for tokens without the library for them.

    Where no credentials are set, `local_token` opens what is the local user's; None lets everyone
    be that user.
    """
    known = KnownTokens(operator_token, local_token)
    if not settings.by_token:
        return Gate(settings, keys, known, None, make_proxy(settings), people)
    try:
        from ragstone.access.tokens import KeySet, Tokens
    except ImportError as error:
        raise ConfigError(
            "AUTH__JWKS_URL needs a library for tokens: pip install 'ragstone[oidc]'."
        ) from error
    tokens = Tokens(settings, KeySet(settings.jwks_url))
    return Gate(settings, keys, known, tokens, make_proxy(settings), people)


def make_sign_in_client(settings: AuthSettings, gate: Gate) -> "SignIn | None":
    """Make what signs people in at the issuer of their tokens; None where that is not set up.

    `gate` has been made of the same settings.
    """
    if not settings.client_id:
        return None
    from ragstone.access.sign_in import SignIn

    return SignIn(settings, gate.check_credential)


@asynccontextmanager
async def open_interceptor(settings: Settings) -> AsyncIterator[Interceptor]:
    """What stands round the questions of a server or a worker; spans that wait are sent at the
    end. Raises ConfigError for what is not installed."""
    spans, provider = await asyncio.to_thread(tracer, settings.telemetry, settings.service.name)
    made = make_interceptor(settings, Telemetry(spans))
    try:
        yield made
    finally:
        await made.aclose()
        if provider is not None:
            await asyncio.to_thread(provider.shutdown)


def make_interceptor(settings: Settings, telemetry: Telemetry | None = None) -> Interceptor:
    """Return the limits of the settings, and what measures."""
    server = settings.server
    slots = Slots(
        server.max_concurrent_queries,
        WAITING_QUESTIONS,
        WAIT_SECONDS,
        server.max_concurrent_queries,
    )
    limits = Limits(slots, settings.limits.tokens_per_minute, server.stream_seconds)
    # Several servers count together on the server of a shared cache.
    shared = bool(settings.cache.url)
    rates = make_shared_server(settings.cache).rates() if shared else LocalRates()
    return Interceptor(limits, rates, telemetry)
