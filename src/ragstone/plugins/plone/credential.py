"""How a site is shown who asks: a token, a name and a password for one, or both with each request.

A token of plone.restapi is a JWT that ends, after twelve hours if nobody has set otherwise; it is
renewed before that. The site answers a request with an expired one as it answers a visitor.
"""

import base64
import binascii
import json
import time

from ragstone.plugins.plone.settings import PloneSettings

RENEWED_BEFORE = 300.0
"""Seconds of its life that a token has left when it is renewed."""


def basic_header(settings: PloneSettings) -> str:
    """Name and password as the header of each request."""
    pair = f"{settings.login}:{settings.password}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def token_expiry(token: str) -> float | None:
    """Return when a token ends, in seconds since 1970; None where it does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        said = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        end = said.get("exp") if isinstance(said, dict) else None
        return float(end) if isinstance(end, int | float) else None
    except (ValueError, binascii.Error, RecursionError):
        return None


def ends_soon(token: str) -> bool:
    """Tell whether a token is to be renewed now."""
    end = token_expiry(token)
    return end is not None and end - time.time() < RENEWED_BEFORE
