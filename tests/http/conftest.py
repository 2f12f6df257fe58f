"""The whole of Ragstone behind HTTP, with a real model server beside it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import build
from ragstone.access.setup import interceptor
from ragstone.http.app import create_app
from ragstone.settings import LlmSettings, Settings
from tests.documents import copied
from tests.model_server import ModelServer, model_server
from tests.patience import PATIENCE

QUESTION = "How long does a full battery charge last without sun?"


class Server:
    """Ragstone behind HTTP, and its model server if it has one."""

    def __init__(self, stack: AsyncExitStack, data: Path) -> None:
        self._stack = stack
        self._data = data
        self.model: ModelServer | None = None
        self.transport: httpx2.ASGITransport | None = None

    async def start(self, vision: bool = False, **sections: Any) -> httpx2.AsyncClient:
        """A client of a server that has the example documents."""
        llm = LlmSettings()
        if self.model:
            llm = LlmSettings(model="some", base_url=self.model.url, retries=0, vision=vision)
        settings = Settings(ragstone_data=self._data, llm=llm, **sections)
        around = interceptor(settings)
        service = await self._stack.enter_async_context(build.open(settings, {}, around))
        self.transport = httpx2.ASGITransport(create_app(service, settings, "token", around))
        client = httpx2.AsyncClient(
            transport=self.transport, base_url="http://127.0.0.1", timeout=PATIENCE
        )
        return await self._stack.enter_async_context(client)


@pytest.fixture
async def server(tmp_path: Path, indexed_documents: Path) -> AsyncIterator[Server]:
    copied(indexed_documents, tmp_path / "data")
    async with AsyncExitStack() as stack:
        yield Server(stack, tmp_path / "data")


@pytest.fixture
def with_model(server: Server) -> Iterator[Server]:
    with model_server(says=("It lasts 31 days ", "[1].")) as model:
        server.model = model
        yield server
