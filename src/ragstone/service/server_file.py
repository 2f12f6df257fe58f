"""The file in which a server says how it is reached, and whether what it says is true."""

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

from ragstone.service.wire import INSTANCE_HEADER, instance

SERVER_FILE = "server.json"
HEALTH_SECONDS = 5.0


def find_server(data: Path) -> tuple[str, str] | None:
    """Address and token of the server that holds this data directory, if one runs.

    The file that a killed server left behind is ignored, also when another program or another
    Ragstone has its port now: only the server that holds the token knows its instance name.
    """
    try:
        server = json.loads((data / SERVER_FILE).read_text())
        url, token = str(server["url"]), str(server["token"])
        place = urlsplit(url)
        host, port = place.hostname or "", place.port
    except (OSError, ValueError, KeyError, TypeError):
        return None
    connection = http.client.HTTPConnection(host, port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", "/health")
        response = connection.getresponse()
        found = response.status == 200 and response.getheader(INSTANCE_HEADER) == instance(token)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return (url, token) if found else None
