"""API keys through the server that holds the data directory."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from ragstone.core.errors import Unauthorized
from ragstone.core.records import ApiKey
from ragstone.service import wire
from ragstone.service.keys import GRACE_SECONDS, IssuedKey, KeyGrant

KEYS = "/api/v1/keys"

Send = Callable[..., Awaitable[Any]]
"""Sends a method to a path and returns the JSON that came back with one of the statuses named;
the rest is httpx2's. Raises the errors that the server answers with."""


class RemoteKeys:
    """`service.keys.Keys` over HTTP."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def create(self, grant: KeyGrant) -> IssuedKey:
        body = wire.dump(grant)
        body["expires_in"] = body.pop("seconds")
        return _issued(await self._post(KEYS, body))

    async def listed(self, tenant: str | None) -> list[ApiKey]:
        query = {} if tenant is None else {"tenant": tenant}
        found = await self._send("GET", KEYS, (200,), params=query)
        return [wire.load(ApiKey, key) for key in found["keys"]]

    async def rotate(self, tenant: str | None, id: str, grace: float = GRACE_SECONDS) -> IssuedKey:
        return _issued(await self._post(f"{KEYS}/{id}/rotate", {"grace_seconds": grace}))

    async def revoke(self, tenant: str | None, id: str) -> ApiKey:
        found = await self._send("DELETE", f"{KEYS}/{id}", (200,))
        return wire.load(ApiKey, found["key"])

    async def whose(self, secret: str) -> ApiKey:
        bearer = {"authorization": f"Bearer {secret}"}
        said = await self._send("GET", f"{KEYS}/self", (200,), headers=bearer)
        for key in await self.listed(None):
            if said["key"] == f"key:{key.id}":
                return key
        raise Unauthorized("This is no API key.")

    async def exist(self) -> bool:
        return bool(await self.listed(None))

    async def _post(self, path: str, body: Any) -> Any:
        content, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        return await self._send("POST", path, (200, 201), content=content, headers=headers)


def _issued(found: Any) -> IssuedKey:
    return IssuedKey(wire.load(ApiKey, found["key"]), str(found["secret"]))
