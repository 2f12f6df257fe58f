"""Events as a client of somebody else's reads them."""

import json
from typing import Any

import httpx
from httpx_sse import connect_sse

from tests.patience import PATIENCE

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def heard(url: str, body: Any, most: int | None = None) -> list[dict[str, Any]]:
    """The data of every event of a POST, or of the first `most`, after which the client leaves."""
    found: list[dict[str, Any]] = []
    with (
        httpx.Client(timeout=PATIENCE) as client,
        connect_sse(client, "POST", url, json=body) as source,
    ):
        for event in source.iter_sse():
            assert event.event == "message"
            found.append(json.loads(event.data))
            if most is not None and len(found) >= most:
                break
    return found
