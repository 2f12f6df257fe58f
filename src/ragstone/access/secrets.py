"""The secrets of API keys: `ragstone_<id>_<random>`.

The id is public and finds the key; the random part has 256 bits, so a plain SHA-256 of it cannot
be searched through, and nothing slower is needed. A session of a widget's key is
`ragstone_w_<id>_<end>_<signature>`, signed with that digest, which no client knows. A session of
the local user looks the same: it has an id of its own, and the digest is that of the local token.
"""

import hashlib
import hmac
import re
import secrets

PREFIX = "ragstone_"
_SECRET = re.compile(r"ragstone_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)


_SESSION = re.compile(r"ragstone_w_([0-9a-f]{16})_([0-9]{1,12})_([0-9a-f]{64})", re.ASCII)


def new_id() -> str:
    """Return a public name for a key, of 64 random bits."""
    return secrets.token_hex(8)


def new_secret(id: str) -> str:
    """Return a secret of the key `id`, with 256 random bits."""
    return f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"


def key_id(secret: str) -> str:
    """Return the key that a secret says it is of, empty for what is not a secret of ours."""
    form = _SECRET.fullmatch(secret)
    return form[1] if form else ""


def sign_session(id: str, digest: str, until: int) -> str:
    """Return what holds for the key `id` until a time, in seconds since 1970."""
    return f"{PREFIX}w_{id}_{until}_{_signature(id, digest, until)}"


def parse_session(given: str) -> tuple[str, int] | None:
    """The key that a session says it is of, and until when; None for what is not a session."""
    form = _SESSION.fullmatch(given)
    return (form[1], int(form[2])) if form else None


def is_session(given: str, digest: str) -> bool:
    """Tell whether a session was signed with this digest."""
    form = _SESSION.fullmatch(given)
    return form is not None and is_same_digest(form[3], _signature(form[1], digest, int(form[2])))


def _signature(id: str, digest: str, until: int) -> str:
    said = f"ragstone widget {id} {until}"
    return hmac.new(digest.encode(), said.encode(), hashlib.sha256).hexdigest()


def digest(secret: str) -> str:
    """Return the digest of a secret, for storage."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_same_digest(one: str, other: str) -> bool:
    """Tell whether two digests are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
