"""Passwords and second factors: what may be one, and whether what is given is right.

Hashes are argon2id with the parameters of the library. Each takes 64 MiB and a few hundredths of a
second, so they are made on threads, and few at a time.
"""

import asyncio
import hmac
import secrets
import unicodedata

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from ragstone.access.secrets import digest
from ragstone.core.errors import InputError

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
