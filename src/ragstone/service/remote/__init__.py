"""A Ragstone in another process: the same service through the server that holds the data."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import numpy as np

from ragstone.core.errors import DataDirectoryInUse, RagstoneError, Unavailable
from ragstone.core.events import Done, Event, Failed
from ragstone.core.records import BlockedQuestion, Document, GuardDecision, Report, Topic
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.ports import CacheFigures
from ragstone.service import (
    CollectionSummary,
    IngestRequest,
    Overview,
    Progress,
    SearchResult,
    Service,
    wire,
)
from ragstone.service.maintenance import MaintenanceService
from ragstone.service.remote.conversations import RemoteConversations
from ragstone.service.remote.jobs import RemoteJobs
from ragstone.service.remote.keys import RemoteKeys
from ragstone.service.remote.maintenance import RemoteMaintenance
from ragstone.service.remote.prompts import RemotePrompts
from ragstone.service.remote.reading import RemoteReading
from ragstone.service.remote.settings import RemoteSettings
from ragstone.service.remote.statistics import RemoteStatistics
from ragstone.service.server_file import find_server
from ragstone.service.statistics import StatisticsService
from ragstone.settings import Settings

TOPICS = "/api/v1/topics"
CONNECT_SECONDS = 10.0
START_SECONDS, START_CHECKS = 3.0, 15
"""How long a server may take to start, and how often it is looked for."""


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Service]:
    """The service on the data directory: through its server, or else in this process.

    Raises DataDirectoryInUse when another process has it that is no server, after giving it the
    time that a server takes to start.
    """
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        server = find_server(data)
        if server is None:
            from ragstone import build

            try:
                service: Service = await stack.enter_async_context(build.open(settings))
            except DataDirectoryInUse:
                server = await _starting(data)
                if server is None:
                    raise
        if server is not None:
            remote = RemoteRagstone(*server)
            stack.push_async_callback(remote.aclose)
            service = remote
        yield service


async def _starting(data: Path) -> tuple[str, str] | None:
    """The server that is just starting, if there is one."""
    for _ in range(START_CHECKS):
        await asyncio.sleep(START_SECONDS / START_CHECKS)
        server = find_server(data)
        if server:
            return server
    return None


class RemoteRagstone:
    """`service.Service` over HTTP; raises the errors that the server's service raised."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {token}"},
            # An answer or an ingest may be silent for long; only connecting may not.
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            # A proxy for the internet has no business on this machine.
            trust_env=False,
        )
        self.maintenance: MaintenanceService = RemoteMaintenance(self._events)
        self.statistics: StatisticsService = RemoteStatistics(self._get)
        self.conversations = RemoteConversations(self._answer)
        self.settings = RemoteSettings(self._send)
        self.prompts = RemotePrompts(self._send)
        self.jobs = RemoteJobs(self._post, self._events)
        self.keys = RemoteKeys(self._send)
        self.reading = RemoteReading(self._post)

    async def ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        async with aclosing(self._events("/local/ask", wire.dump(ask))) as items:
            async for item in items:
                event = wire.load_event(item)
                yield event
                if isinstance(event, Done | Failed):
                    return
        raise self._broken()

    async def search(self, ask: Ask) -> SearchResult:
        return wire.load(SearchResult, await self._post("/local/search", wire.dump(ask)))

    async def function_calling(self, ask: Ask) -> Turn:
        return wire.load(Turn, await self._post("/local/functions", wire.dump(ask)))

    async def ingest(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        async with aclosing(self._progress("/local/ingest", wire.dump(request))) as progress:
            async for step in progress:
                yield step

    async def rebuild(self, tenant: str, collection: str) -> AsyncGenerator[Progress, None]:
        body = {"tenant": tenant, "collection": collection}
        async with aclosing(self._progress("/local/rebuild", body)) as progress:
            async for step in progress:
                yield step

    async def collections(self, principal: Principal) -> list[CollectionSummary]:
        found = await self._get("/local/collections", _query(principal))
        return [wire.load(CollectionSummary, item) for item in found]

    async def documents(
        self, principal: Principal, collection: str, *, limit: int = 1000, offset: int = 0
    ) -> list[Document]:
        page = {"collection": collection, "limit": limit, "offset": offset}
        found = await self._get("/local/documents", {**_query(principal), **page})
        return [wire.load(Document, item) for item in found]

    async def delete(
        self, principal: Principal, collection: str, paths: Sequence[str] | None = None
    ) -> int:
        given = None if paths is None else list(paths)
        body = {"principal": wire.dump(principal), "collection": collection, "paths": given}
        return int((await self._post("/local/delete", body))["deleted"])

    async def report(self, principal: Principal, days: int) -> Report:
        found = await self._get("/local/report", {**_query(principal), "days": days})
        return wire.load(Report, found)

    async def embed(self, texts: Sequence[str], model: str = "") -> tuple[str, Any]:
        body = {"texts": list(texts), "model": model}
        answer = await self._post("/local/embed", body)
        flat = np.frombuffer(base64.b64decode(answer["vectors"]), dtype="<f4")
        return str(answer["model"]), flat.reshape(-1, int(answer["dimensions"]))

    async def topics(self, tenant: str) -> list[Topic]:
        found = await self._get(TOPICS, {"tenant": tenant})
        return [wire.load(Topic, item) for item in found["topics"]]

    async def put_topics(self, tenant: str, topics: Sequence[Topic]) -> int:
        body = {"tenant": tenant, "topics": [wire.dump(topic) for topic in topics]}
        return int((await self._post(TOPICS, body))["added"])

    async def remove_topics(self, tenant: str, terms: Sequence[str]) -> int:
        body = {"tenant": tenant, "terms": list(terms)}
        return int((await self._post(f"{TOPICS}/remove", body))["removed"])

    async def blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        found = await self._get(f"{TOPICS}/blocked", {"tenant": tenant, "limit": limit})
        return [wire.load(BlockedQuestion, item) for item in found["blocked"]]

    async def check_topics(self, tenant: str, question: str) -> GuardDecision:
        body = {"tenant": tenant, "question": question}
        return wire.load(GuardDecision, await self._post(f"{TOPICS}/check", body))

    async def cache_figures(self) -> CacheFigures:
        return wire.load(CacheFigures, await self._get("/local/cache", {}))

    async def clear_cache(self) -> int:
        return int((await self._post("/local/cache/clear", {}))["entries"])

    async def rebuild_cache(self) -> int:
        return int((await self._post("/local/cache/rebuild", {}))["entries"])

    async def overview(self) -> Overview:
        overview = wire.load(Overview, await self._get("/local/overview", {}))
        return replace(overview, server=self._url)

    async def ready(self) -> dict[str, str]:
        return cast(dict[str, str], (await self._get("/ready", {}, ok=(200, 503)))["checks"])

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _progress(self, path: str, body: Any) -> AsyncGenerator[Progress, None]:
        async with aclosing(self._events(path, body)) as items:
            async for item in items:
                progress = wire.load(Progress, item)
                yield progress
                if progress.finished:
                    return
        raise self._broken()

    async def _events(self, path: str, body: Any) -> AsyncGenerator[Any, None]:
        """The data of each event; raises what an event named error says."""
        try:
            async with self._http.sse(
                path, method="POST", **_json(body), max_event_size=None
            ) as stream:
                if stream.response.status_code != 200:
                    await stream.response.aread()
                    raise _error(stream.response)
                async for event in stream:
                    if event.event == "error":
                        raise wire.load_error(event.json())
                    yield event.json()
        except httpx2.TransportError as error:
            raise self._broken() from error

    async def _get(self, path: str, query: Mapping[str, Any], ok: tuple[int, ...] = (200,)) -> Any:
        return await self._send("GET", path, ok, params=query)

    async def _post(self, path: str, body: Any) -> Any:
        return await self._send("POST", path, (200,), **_json(body))

    async def _send(self, method: str, path: str, ok: tuple[int, ...], **content: Any) -> Any:
        return (await self._answer(method, path, ok, **content)).json()

    async def _answer(
        self, method: str, path: str, ok: tuple[int, ...] = (200,), **content: Any
    ) -> httpx2.Response:
        try:
            response = await self._http.request(method, path, **content)
        except httpx2.TransportError as error:
            raise self._broken() from error
        if response.status_code not in ok:
            raise _error(response)
        return response

    def _broken(self) -> Unavailable:
        return Unavailable(
            f"The server at {self._url} stopped answering. "
            "Try again, or look at the output of 'ragstone serve'."
        )


def _query(principal: Principal) -> dict[str, Any]:
    return {
        "tenant": principal.tenant,
        "user": principal.user,
        "group": list(principal.groups),
    }


def _json(body: Any) -> dict[str, Any]:
    """The body in pure ASCII: file names may hold half characters that UTF-8 cannot spell."""
    return {
        "content": json.dumps(body).encode(),
        "headers": {"content-type": "application/json"},
    }


def _error(response: httpx2.Response) -> RagstoneError:
    try:
        return wire.load_error(response.json().get("error"))
    except (ValueError, AttributeError):
        return RagstoneError(f"The server answered with status {response.status_code}.")
