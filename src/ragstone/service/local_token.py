"""The token of the local user: a file in the data directory that only its owner can read.

It stays the same, so that clients can keep it, and counts as long as no credentials are set.
"""

import re
import secrets
from pathlib import Path

from ragstone.core.errors import ConfigError
from ragstone.service.directory import claim, is_copy, write_private

TOKEN_FILE = "token"  # noqa: S105
_FORM = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def local_token(data: Path) -> str:
    """The token of a data directory, made if there is none, or none that can be one.

    Raises ConfigError where it can be neither read nor written.
    """
    file = data / TOKEN_FILE
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        claim(data)
        if found := read_token(data):
            return found
        write_private(file, lambda _: secrets.token_urlsafe(32) + "\n")
        return read_token(data)
    except OSError as error:
        raise ConfigError(
            f"The token in {file} can be neither read nor written ({error.strerror}). "
            "Let the data directory belong to the user that runs Ragstone."
        ) from error


def login_address(url: str, token: str) -> str:
    """What a browser opens to have the token, at a server."""
    return f"{url}/login?token={token}"


def read_token(data: Path) -> str:
    """The token that is there, empty for none. Raises OSError where it may not be read."""
    if is_copy(data):
        return ""
    try:
        found = (data / TOKEN_FILE).read_text().strip()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return ""
    return found if _FORM.fullmatch(found) else ""
