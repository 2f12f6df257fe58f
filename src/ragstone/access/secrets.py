"""The secrets of API keys: `ragstone_<id>_<random>`.

The id is public and finds the key; the random part has 256 bits, so a plain SHA-256 of it cannot
be searched through, and nothing slower is needed.
"""

import hashlib
import hmac
import re
import secrets

PREFIX = "ragstone_"
_FORM = re.compile(r"ragstone_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)


def new_id() -> str:
    """A public name for a key, of 64 random bits."""
    return secrets.token_hex(8)


def new_secret(id: str) -> str:
    """A secret of the key `id`, with 256 random bits."""
    return f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"


def id_of(secret: str) -> str:
    """The key that a secret says it is of, empty for what is no secret of ours."""
    form = _FORM.fullmatch(secret)
    return form[1] if form else ""


def digest(secret: str) -> str:
    """The digest of a secret, for storage."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
