"""How the parts of a remote Ragstone send their requests."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

OK = (200,)


class Send(Protocol):
    """Sends one request and returns its JSON; raises what the server's service raised."""

    async def __call__(
        self, method: str, path: str, ok: tuple[int, ...], **content: Any
    ) -> Any: ...


def query(**given: str | int) -> dict[str, Any]:
    """The parameters of an address that are not empty."""
    return {"params": {name: value for name, value in given.items() if value != ""}}


def body(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON body in pure ASCII, as texts may hold half characters that UTF-8 cannot spell."""
    headers = {"content-type": "application/json"}
    return {"content": json.dumps(content).encode(), "headers": headers}
