"""The file in which a server says how it is reached, and whether what it says is true."""

import http.client
import json
import os
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ragstone.service.directory import claim, is_copy, write_private
from ragstone.service.wire import INSTANCE_HEADER, instance

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
