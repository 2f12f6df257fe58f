"""The secrets of API keys: `ragstone_<id>_<random>`.

The id is public and finds the key; the random part has 256 bits, so a plain SHA-256 of it cannot
be searched through, and nothing slower is needed. A session of a widget's key is
`ragstone_w_<id>_<end>_<signature>`, signed with that digest, which no client knows. A session of
the local user looks the same: it has an id of its own, and the digest is that of the local token.

Passwords and second factors: what may be one, and whether what is given is right.

Hashes are argon2id with the parameters of the library. Each takes 64 MiB and a few hundredths of a
second, so they are made on threads, and few at a time.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import unicodedata

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from ragstone.core.errors import InputError

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


MIN_CHARACTERS, MAX_CHARACTERS = 12, 1_000

HASHES_AT_ONCE = 2

STEP_SECONDS = 30
"""How long a code of the second factor holds; one step earlier and later is taken too, as clocks
differ."""

RECOVERY_CODES = 10

_HASHER = PasswordHasher()


class Passwords:
    """Makes and compares hashes."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(HASHES_AT_ONCE)
        self._nobodys = ""

    async def hash(self, password: str) -> str:
        """Return the hash of a password, for storage."""
        async with self._places:
            return await asyncio.to_thread(_HASHER.hash, _encode(password))

    async def match(self, password: str, stored: str) -> bool:
        """Tell whether this is the password with the hash `stored`. Without a hash it is none,
        which takes as long to find out."""
        if not self._nobodys:
            self._nobodys = await self.hash(secrets.token_urlsafe())
        compared = stored or self._nobodys
        async with self._places:
            matches = await asyncio.to_thread(_matches, compared, _encode(password))
        return matches and bool(stored)


def check_password(password: str, *names: str) -> None:
    """Raise InputError unless this may be the password of somebody who is called so."""
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        raise InputError(
            f"Not a valid password: use {MIN_CHARACTERS} to {MAX_CHARACTERS:,} characters."
        )
    if _plain(password) in map(_plain, names):
        raise InputError("Not a valid password: it must not be the name. Choose another.")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def needs_rehash(stored: str) -> bool:
    """Tell whether a hash was made with other parameters than hashes are now."""
    return _HASHER.check_needs_rehash(stored)


def _matches(stored: str, password: bytes) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except VerificationError:
        return False


def _encode(password: str) -> bytes:
    # Keyboards write the same letter in one character or in two.
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


def new_factor_secret() -> str:
    """Return a secret of a second factor, with 160 random bits."""
    return pyotp.random_base32()


def factor_address(secret: str, name: str) -> str:
    """Return what an authenticator reads from a picture."""
    return str(pyotp.TOTP(secret, name=name, issuer="Ragstone").provisioning_uri())


def find_step(secret: str, code: str, now: float) -> int:
    """Return the time step of which this is the code, counted from 1970; 0 for none."""
    totp, current = pyotp.TOTP(secret), int(now // STEP_SECONDS)
    steps = (current - 1, current, current + 1)
    given = code.encode("utf-8", "surrogatepass")
    matches = [s for s in steps if hmac.compare_digest(totp.at(s * STEP_SECONDS).encode(), given)]
    return max(matches, default=0)


def new_recovery_codes() -> list[str]:
    """Make codes of 80 random bits, so that their digests cannot be searched through."""
    return ["-".join(secrets.token_hex(5) for _ in range(2)) for _ in range(RECOVERY_CODES)]


def recovery_digest(code: str) -> str:
    """Return the digest of a recovery code, however it is typed."""
    return digest("".join(char for char in code.lower() if char.isalnum()))
