"""The file in which a server says how it is reached, and whether what it says is true.

Which directory this is: a copy of a data directory is another one, with tokens of its own.

The token of the local user: a file in the data directory that only its owner can read.

It stays the same, so that clients can keep it, and counts as long as no credentials are set.
"""

import http.client
import json
import logging
import os
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ragstone.core.errors import ConfigError
from ragstone.service.wire import INSTANCE_HEADER, instance

IDENTITY_FILE = "identity"
OF_THE_ORIGINAL = ("server.json", "token", "open.html")
"""What leads to the server of a directory, and to nothing of its copy's."""

log = logging.getLogger(__name__)


def is_copy(data: Path) -> bool:
    """Whether the directory was copied, and not claimed since.

    A file in it holds the numbers that the file system gave to the directory and to the file. Both
    stay when it is moved, linked or mounted elsewhere; a copy has others. Devices are left out:
    some have another number after each start of the machine.
    """
    file = data / IDENTITY_FILE
    try:
        return bool(file.read_text() != _identity(data, file.stat().st_ino))
    except UnicodeDecodeError:
        return True
    except OSError:
        return False


def claim(data: Path) -> None:
    """Make the directory one of its own, if it is new or a copy. Raises OSError."""
    copied = is_copy(data)
    if not copied and (data / IDENTITY_FILE).exists():
        return
    if copied:
        for name in OF_THE_ORIGINAL:
            (data / name).unlink(missing_ok=True)
        log.warning(
            "The data directory %s is a copy: it has tokens of its own from now on, and "
            "'ragstone token' prints its own.",
            data,
        )
    write_private(data / IDENTITY_FILE, lambda number: _identity(data, number))


def write_private(file: Path, content: Callable[[int], str]) -> None:
    """Write a file in one step, readable by its owner alone; `content` is told the number that the
    file system gave it. Raises OSError, and nothing has changed."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as opened:
            opened.write(content(os.fstat(handle).st_ino))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _identity(data: Path, file: int) -> str:
    return json.dumps({"directory": data.stat().st_ino, "file": file})


SERVER_FILE = "server.json"
HEALTH_SECONDS = 5.0


def find_server(data: Path) -> tuple[str, str] | None:
    """Address and token of the server that holds this data directory, if one runs.

    The file that a killed server left behind is ignored, also when another program or another
    Ragstone has its port now: only the server that holds the token knows its instance name. One
    that came with a copy of the directory, or with a snapshot of its disk, is ignored too.
    """
    server = _find(data)
    return (server["url"], server["token"]) if server else None


def find_lasting_address(data: Path) -> str:
    """The address of the server that `find_server` finds; empty where there is none, or only a
    command that answers the others until its own work is done."""
    server = _find(data)
    return server["url"] if server and server.get("lasting", True) else ""


def _find(data: Path) -> dict[str, Any] | None:
    if is_copy(data):
        return None
    try:
        server: dict[str, Any] = json.loads((data / SERVER_FILE).read_text())
        url, token = str(server["url"]), str(server["token"])
        if server["device"] != data.stat().st_dev:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    response = _get(f"{url}/health")
    if response is None or response.status != HTTPStatus.OK:
        return None
    return server if response.getheader(INSTANCE_HEADER) == instance(token) else None


def check_login(address: str) -> bool:
    """Whether a server signs in whoever opens this address; it costs the server nothing."""
    response = _get(address)
    return response is not None and response.status == HTTPStatus.SEE_OTHER


def _get(address: str) -> http.client.HTTPResponse | None:
    """Return the head of what is at an address, None where no server answers in time."""
    try:
        place = urlsplit(address)
        host, port = place.hostname or "", place.port
    except ValueError:
        return None
    connection = http.client.HTTPConnection(host, port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", place._replace(scheme="", netloc="").geturl())
        return connection.getresponse()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def publish(data: Path, url: str, token: str, *, lasting: bool = True) -> None:
    """Write the server file in one step, readable by its owner alone; `lasting` is a server, and
    not a command that answers others meanwhile."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    claim(data)
    device = data.stat().st_dev
    server = {"url": url, "pid": os.getpid(), "token": token, "device": device, "lasting": lasting}
    write_private(data / SERVER_FILE, lambda _: json.dumps(server))


def withdraw(data: Path, token: str) -> None:
    """Remove the server file, unless another server has written its own."""
    try:
        if json.loads((data / SERVER_FILE).read_text()).get("token") == token:
            (data / SERVER_FILE).unlink()
    except (OSError, ValueError):
        return


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
