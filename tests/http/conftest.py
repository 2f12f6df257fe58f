"""The whole of Ragstone behind HTTP, with a real model server beside it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragstone import build
from ragstone.access.setup import make_interceptor
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.agent.settings import McpSettings
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings, StatisticsSettings
from tests.agent.scenarios.tool_server import ToolServer
from tests.documents import copied
from tests.http.effects import World
from tests.http_server import running
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
        self.service: Ragstone | None = None

    async def start(
        self, vision: bool = False, name: str = "some", **sections: Any
    ) -> httpx2.AsyncClient:
        """A client of a server that has the example documents; `name` is the chat model's."""
        llm = LlmSettings()
        if self.model:
            llm = LlmSettings(model=name, base_url=self.model.url, retries=0, vision=vision)
        settings = Settings(ragstone_data=self._data, llm=llm, **sections)
        return await self.start_with(settings)

    async def start_with(self, settings: Settings) -> httpx2.AsyncClient:
        """The same with these settings."""
        around = make_interceptor(settings)
        self.service = await self._stack.enter_async_context(
            build.open(settings, interceptor=around)
        )
        self.transport = httpx2.ASGITransport(create_app(self.service, settings, "token", around))
        client = httpx2.AsyncClient(
            transport=self.transport, base_url="http://127.0.0.1", timeout=PATIENCE
        )
        return await self._stack.enter_async_context(client)

    async def listen(self) -> int:
        """The port at which the server that was started listens until the test ends."""
        assert self.transport is not None
        config = uvicorn.Config(self.transport.app, port=0, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        held = socket.create_server(("127.0.0.1", 0))
        task = asyncio.create_task(server.serve(sockets=[held]))

        async def stop() -> None:
            server.should_exit = True
            await task

        self._stack.push_async_callback(stop)
        return int(held.getsockname()[1])

    async def settled(self) -> None:
        """Wait until what has been answered is kept."""
        assert self.service is not None
        await self.service._answers.aclose()


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


LAW = """# Night work

Who works at night gets a lamp.

Hotels in Oslo are paid up to 90 euros for night workers, and a full battery charge of their lamp
lasts 12 days.
"""


@pytest.fixture
async def world(with_model: Server, tmp_path: Path) -> AsyncIterator[World]:
    """A server with a chat model and tools; besides the example documents it has a law with
    metadata, which is also the only document of the collection `laws`."""
    with running(ToolServer("OTHER").server().streamable_http_app()) as tools:
        mcp = McpSettings(gateway=f"{tools}/mcp", mcp_enabled=True)
        kept = StatisticsSettings(questions=True)
        await with_model.start(mcp=mcp, statistics=kept, vision=True)
        assert with_model.service is not None
        (tmp_path / "acts").mkdir()
        (tmp_path / "acts" / "night.md").write_text(LAW, encoding="utf-8")
        for collection in ("default", "laws"):
            request = IngestRequest(
                (str(tmp_path / "acts"),), collection=collection, metadata={"class": "Law"}
            )
            async for _ in with_model.service.ingest(request):
                pass
        address = f"http://127.0.0.1:{await with_model.listen()}"
        headers = {"authorization": "Bearer token"}
        async with httpx2.AsyncClient(
            base_url=address, headers=headers, timeout=PATIENCE
        ) as client:
            yield World(with_model, client)


ROWS = [
    {
        "p_id": f"p{n}",
        "context": f"Passage {n}: hotels in Oslo cost {n}10 euros a night.",
        "score": score,
        "metadatas": {"file_name": f"{n}.pdf", "class": "Law", "paragraph_type": "toc"},
    }
    for n, score in ((1, 0.62), (2, 0.31))
]


class KnowledgeBase:
    """KDB's search over real HTTP; `found` is what it returns, a number an error's status."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.found: Any = ROWS

    async def search_rerank(self, request: Request) -> Response:
        self.asked.append(await request.json())
        if isinstance(self.found, int):
            return Response(status_code=self.found)
        return JSONResponse(self.found)


@pytest.fixture
def kdb() -> Iterator[KnowledgeBase]:
    kdb = KnowledgeBase()
    route = Route("/api/v1/document/search_rerank", kdb.search_rerank, methods=["POST"])
    with running(Starlette(routes=[route])) as url:
        kdb.url = url
        yield kdb
