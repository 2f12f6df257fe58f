"""A Ragstone with the documents of two departments, and callers with and without credentials."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from ragstone import build
from ragstone.core.caller import Role
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.service.keys import KeyGrant
from ragstone.settings import LimitSettings, Settings
from tests.credentials import a_key, bearer
from tests.patience import PATIENCE

OPERATOR = "operators-token"
LOCAL = "a-token-of-the-data-directory-with-43-letters"
TEXTS = {
    "manuals": {"lamp.md": "# The lamp\n\nThe lamp has a battery of 40 hours. Charge it weekly.\n"},
    "hr": {
        "pay.md": "# The pay of Bob Zebra\n\nThe pay of Bob Zebra is 71234 euros a year.\n",
        "board.md": "# The board\n\nThe board meets in room Quagga on Monday.\n",
    },
}
"""Files by collection."""

SECRETS = ("71234", "Zebra", "zebra", "Quagga")
"""Words that only `hr` holds."""


@dataclass
class House:
    """The service, and its HTTP API for whoever sends the headers."""

    service: Ragstone
    http: httpx2.AsyncClient

    async def key(
        self,
        role: Role = "reader",
        user: str = "eva",
        collections: Sequence[str] | None = None,
        tenant: str = "default",
        groups: Sequence[str] = (),
    ) -> dict[str, str]:
        """The headers of a new key."""
        return bearer(await a_key(self.service, role, tenant, user, groups, collections))

    async def nameless(self, role: Role = "reader", **given: Any) -> dict[str, str]:
        """The headers of a new key that names no user."""
        issued = await self.service.keys.create(KeyGrant("a program", role=role, **given))
        return bearer(issued.secret)

    async def send(
        self, headers: dict[str, str], method: str, path: str, json: Any = None, **given: Any
    ) -> httpx2.Response:
        return await self.http.request(method, path, json=json, headers=headers, **given)

    async def ask(
        self, headers: dict[str, str], question: str, room: str, collection: str = "manuals"
    ) -> httpx2.Response:
        """A question in a room, by the API of chat-core."""
        body = {"query": question, "room_id": room, "collection_name": collection}
        return await self.send(headers, "POST", "/v2/rag/query", body)


@asynccontextmanager
async def a_house(
    folder: Path, documents: bool = True, token: str | None = None, **changed: Any
) -> AsyncIterator[House]:
    """`token` is the local user's, `changed` are settings."""
    given = {"limits": LimitSettings(requests_per_minute=0), **changed}
    settings = Settings(ragstone_data=folder / "data", **given)
    async with build.open(settings) as service:
        for collection, files in TEXTS.items() if documents else ():
            place = folder / collection
            place.mkdir()
            for name, text in files.items():
                (place / name).write_text(text)
            async for progress in service.ingest(IngestRequest((str(place),), collection)):
                assert not progress.failed
        app = create_app(service, settings, OPERATOR, local_token=token)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE
        ) as http:
            yield House(service, http)


def told(response: httpx2.Response) -> list[str]:
    """The secret words in a response."""
    return [word for word in SECRETS if word in response.text]
