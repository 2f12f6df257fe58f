"""The sample documents behind the real application, without a network."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI

from ragstone import build
from ragstone.http.app import create_app
from ragstone.service import Service
from ragstone.settings import Settings
from tests.documents import copied


@dataclass(frozen=True)
class OpenDocuments:
    """A client of the server, and the service behind it."""

    http: httpx2.AsyncClient
    service: Service
    openai: AsyncOpenAI
    data: Path

    async def post(self, path: str, **body: Any) -> httpx2.Response:
        return await self.http.post(path, json=body)

    async def questions(self) -> int:
        """How many questions the statistics have counted."""
        return sum(
            item.questions for item in await self.service.statistics.use("default", 2, "day")
        )


@asynccontextmanager
async def opened(documents: Path, folder: Path, **settings: Any) -> AsyncIterator[OpenDocuments]:
    """The documents with these settings; `llm` is a model server's address."""
    address = settings.pop("llm", None)
    llm = {"model": "some", "base_url": address, "retries": 0} if address else {}
    data = copied(documents, folder / "data")
    made = Settings.model_validate({"ragstone_data": data, "llm": llm, **settings})
    async with build.open(made) as service:
        transport = httpx2.ASGITransport(create_app(service, made, "token"))
        client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60)
        async with client as http:
            official = AsyncOpenAI(
                base_url="http://127.0.0.1/v1", api_key="x", max_retries=0, http_client=http
            )
            yield OpenDocuments(http, service, official, data)
