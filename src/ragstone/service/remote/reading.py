"""Documents as text, from another process."""

from collections.abc import Awaitable, Callable
from typing import Any

from ragstone.core.turn import Principal
from ragstone.service import wire
from ragstone.service.reading import DocumentText


class RemoteReading:
    """`service.Reading` over HTTP."""

    def __init__(self, post: Callable[[str, Any], Awaitable[Any]]) -> None:
        self._post = post

    async def read(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> DocumentText:
        body = {
            "principal": wire.dump(principal),
            "collection": collection,
            "path": path,
            "offset": offset,
            "limit": limit,
        }
        return wire.load(DocumentText, await self._post("/local/read", body))
