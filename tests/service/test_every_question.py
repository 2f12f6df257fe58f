"""Every way to ask or to search has the same limits, figures and records, whoever built the way.

What the contract can answer with is read from it: an operation that takes an `Ask` is tested here
without anybody naming it.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import httpx2
import pytest

from ragstone import __version__, build
from ragstone.access.asking import ASKING
from ragstone.access.interceptor import Interceptor
from ragstone.access.setup import make_interceptor
from ragstone.core.caller import Caller
from ragstone.core.errors import TooManyRequests
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, Principal
from ragstone.http.app import create_app
from ragstone.jobs.questions import format_request
from ragstone.local import Ragstone
from ragstone.service import IngestRequest, Service, contract
from ragstone.service.jobs import JobView
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from ragstone.settings import LimitSettings, LlmSettings, Settings
from tests.credentials import a_key, bearer
from tests.model_server import model_server

pytestmark = pytest.mark.slow

TOKENS = 100_000
QUESTION = "When was the lighthouse of Ost built?"
ANSWERED = 110
"""Tokens that the model server says an answer takes."""


def operations(contract: type, before: str = "") -> Iterator[str]:
    """The operations of a contract, and of those that it leads to, that take a question."""
    for name, member in inspect.getmembers(contract):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield from operations(get_type_hints(member.fget)["return"], f"{before}{name}.")
        elif inspect.isfunction(member):
            hints = get_type_hints(member)
            if Ask in {hint for given, hint in hints.items() if given != "return"}:
                yield before + name


class World:
    """A service with one document and a chat model, and what stands round it."""

    def __init__(self, service: Ragstone, settings: Settings, around: Interceptor) -> None:
        self.service = service
        self.around = around
        self.app = create_app(service, settings, "token", around)

    async def used_up(self, key: str) -> None:
        """Let a credential have no tokens left."""
        await self.around.rates.add(f"tokens:{key}", 2 * TOKENS)

    async def spent(self, key: str) -> int:
        """The tokens that a credential has used."""
        return TOKENS - (await self.around.rates.take(f"tokens:{key}", TOKENS, 0)).remaining

    def measured(self) -> int:
        """How many questions and searches the figures count."""
        names = ("ragstone_questions_total{", "ragstone_searches_total{")
        lines = self.around.metrics.render().decode().splitlines()
        return int(sum(float(line.split()[-1]) for line in lines if line.startswith(names)))

    async def recorded(self) -> int:
        """How many traces the statistics hold."""
        return len(await self.service.statistics.traces("default", 1000))

    async def ended(self, result: Any) -> Any:
        """What comes of an operation: a stream is read, and a job waited for."""
        if inspect.isasyncgen(result):
            return [event async for event in result]
        found = await result
        if isinstance(found, JobView):
            async for view in self.service.jobs.watch(Principal(), found.id):
                assert view.code != "rate_limited"
                found = view
            assert found.state == "done", found.error
        return found


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[World]:
    (folder / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    with model_server() as model:
        settings = Settings(
            ragstone_data=folder / "data",
            llm=LlmSettings(model="some", base_url=model.url, retries=0),
            limits=LimitSettings(tokens_per_minute=TOKENS),
        )
        around = make_interceptor(settings)
        async with build.open(settings, interceptor=around) as service:
            for collection in ("default", "plone"):
                request = IngestRequest((str(folder / "ost.txt"),), collection)
                async for _ in service.ingest(request):
                    pass
            yield World(service, settings, around)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as made:
        yield made


async def until(condition: Callable[[], Any], seconds: float = 20) -> bool:
    for _ in range(int(seconds / 0.02)):
        if await condition():
            return True
        await asyncio.sleep(0.02)
    return False


def test_the_contract_is_read() -> None:
    found = set(operations(Service))
    assert {"ask", "search", "function_calling", "jobs.ask"} <= found


def a_question(name: str) -> Ask:
    return Ask(f"{QUESTION} ({name})", tools=(Tool("look", "Looks."),), cache=False)


@pytest.mark.parametrize("name", sorted(operations(Service)))
async def test_given_any_operation_that_answers_then_it_is_limited_measured_and_recorded(
    world: World, name: str
) -> None:
    def operation() -> Any:
        found: Any = world.service
        for part in name.split("."):
            found = getattr(found, part)
        return found(a_question(name))

    ASKING.set(Caller(key="key:eva", role="reader"))
    measured, recorded = world.measured(), await world.recorded()
    await world.ended(operation())
    assert world.measured() == measured + 1
    assert 'ragstone_stage_seconds_count{stage="retrieve"' in world.around.metrics.render().decode()

    async def kept() -> bool:
        return await world.recorded() == recorded + 1

    assert await until(kept)
    assert await world.spent("key:eva") == (0 if name == "search" else ANSWERED)

    ASKING.set(Caller(key="key:otto", role="reader"))
    await world.used_up("key:otto")
    with pytest.raises(TooManyRequests, match="tokens"):
        await world.ended(operation_of_another(world.service, name))


def operation_of_another(service: Any, name: str) -> Any:
    """The same operation with another question, which is not a job that is there already."""
    for part in name.split("."):
        service = getattr(service, part)
    return service(replace(a_question(name), question="And when was it closed?"))


async def test_given_a_question_submitted_as_any_job_then_it_counts_for_who_submits_it(
    world: World,
) -> None:
    ASKING.set(Caller(key="key:eva", role="reader"))
    jobs, request = world.service.jobs, format_request(a_question("submit"))
    await world.ended(jobs.submit("ask", request, principal=Principal()))
    assert await world.spent("key:eva") == ANSWERED
    await world.used_up("key:eva")
    with pytest.raises(TooManyRequests):
        await jobs.submit("ask", format_request(a_question("other")), principal=Principal())


MESSAGES = [{"role": "user", "content": QUESTION}]
FUNCTION = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "openai": ("/v1/chat/completions", {"model": "ragstone", "messages": MESSAGES}),
    "openai, streamed": (
        "/v1/chat/completions",
        {"model": "ragstone", "messages": MESSAGES, "stream": True},
    ),
    "chat_core": ("/v2/rag/query", {"query": QUESTION}),
    "chat_core, conversation": ("/v2/gpt/query", {"query": QUESTION}),
    "chat_core, tools": ("/v2/pa/query", {"query": QUESTION}),
    "pipeline": ("/api/v1/chat/completions", {"message": QUESTION}),
    "rag_v1": ("/api/v1/rag/generate", {"query": QUESTION}),
    "rag_v1, functions": ("/api/v1/rag/generate", {"query": QUESTION, "functions": [FUNCTION]}),
    "rag_v1, conversation": ("/api/v1/rag/query", {"query": QUESTION}),
    "chats": ("/chat/default/stream", {"message": QUESTION}),
    "plone": ("/Plone/@rag-ask", {"question": QUESTION, "sync": True}),
    "retrieval": ("/api/v1/retrieval/retrieve", {"query": QUESTION}),
    "retrieval, rerank": (
        "/api/v1/document/search_rerank",
        {"query": QUESTION, "collection_name": "default"},
    ),
}


@asynccontextmanager
async def client(world: World) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(world.app)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", timeout=60
    ) as http:
        yield http


async def test_given_every_dialect_then_its_questions_are_limited_measured_and_recorded(
    world: World,
) -> None:
    eva = bearer(await a_key(world.service, user="eva"))
    otto = bearer(await a_key(world.service, user="otto"))
    for key in await world.service.keys.list_all(None):
        if key.user == "otto":
            await world.used_up(f"key:{key.id}")
    async with client(world) as http:
        for name, (path, body) in ROUTES.items():
            measured, recorded = world.measured(), await world.recorded()
            answered = await http.post(path, json=body, headers=eva)
            assert answered.status_code == 200, (name, answered.text)

            async def kept(recorded: int = recorded) -> bool:
                return await world.recorded() == recorded + 1

            assert world.measured() == measured + 1, name
            assert await until(kept), name
            refused = await http.post(path, json=body, headers=otto)
            assert (refused.status_code, "tokens" in refused.text) == (429, True), name
            assert int(refused.headers["retry-after"]) > 0
        given = {"queries": [QUESTION, "And when?"]}
        batch = (await http.post("/api/v1/rag/batch", json=given, headers=otto)).json()
        assert [item["code"] for item in batch["results"]] == ["rate_limited"] * 2
        queued = {"question": QUESTION}
        for who, status in ((otto, 429), (eva, 200)):
            path = "/Plone/@rag-ask"
            assert (await http.post(path, json=queued, headers=who)).status_code == status


async def test_given_the_command_lines_routes_then_they_are_measured_and_have_no_limit(
    world: World,
) -> None:
    headers = bearer("token")
    await world.used_up("operator")
    async with client(world) as http:
        for name in ("ask", "search", "function_calling"):
            measured, operation = world.measured(), contract.operations()[name]
            body = {"ask": {"question": QUESTION, "tools": [{"name": "look"}]}}
            told = {VERSION_HEADER: __version__, OPERATION_HEADER: operation.fingerprint}
            path = f"/local/call/{name}"
            answered = await http.post(path, json=body, headers={**headers, **told})
            assert answered.status_code == 200, answered.text
            assert world.measured() == measured + 1, path


async def called(http: httpx2.AsyncClient, name: str, arguments: Any, headers: Any) -> Any:
    """What a tool of MCP returned."""
    call = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    told = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
        **headers,
    }
    return (await http.post("/mcp", json=message, headers=told)).json()["result"]


async def test_given_mcp_then_its_tools_are_limited_measured_and_recorded(world: World) -> None:
    headers = bearer(await a_key(world.service))
    [key] = await world.service.keys.list_all(None)
    calls = (("ask", {"question": QUESTION}), ("search", {"query": QUESTION}))
    async with client(world) as http, world.app.router.lifespan_context(world.app):
        for name, arguments in calls:
            measured, recorded = world.measured(), await world.recorded()
            found = await called(http, name, arguments, headers)
            assert not found["isError"], found
            assert world.measured() == measured + 1

            async def kept(recorded: int = recorded) -> bool:
                return await world.recorded() == recorded + 1

            assert await until(kept)
        assert await world.spent(f"key:{key.id}") == ANSWERED
        await world.used_up(f"key:{key.id}")
        for name, arguments in calls:
            found = await called(http, name, arguments, headers)
            assert found["isError"]
            assert "tokens of this minute" in str(found["content"])
