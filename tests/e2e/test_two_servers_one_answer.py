"""Two real servers on one PostgreSQL: who asked one of them goes on at the other one."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from ragstone.core.errors import UnknownAnswer, UnknownApproval
from ragstone.core.events import AgentStep, Done, Token
from ragstone.core.turn import Ask, Principal
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Service
from ragstone.service.server_file import find_server
from tests.agent.scenarios.tool_server import ToolServer
from tests.browser import chromium
from tests.conformance.postgres_server import postgres_server
from tests.documents import DOCUMENTS
from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.http.web.cutting import cutting
from tests.http_server import running
from tests.model_server import ModelServer, model_server
from tests.patience import until

BATTERY = "How long does a full battery charge last without sun?"
WORDS = tuple(f"word{number} " for number in range(60))
TICKET = 'call file_ticket {"text": "the lamp is dark"}'
PRINCIPAL = Principal()

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Pair:
    """The folders and addresses of two servers, the model and the tools of both."""

    folders: tuple[Path, Path]
    urls: tuple[str, str]
    model: ModelServer
    tools: ToolServer


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    root = tmp_path_factory.mktemp("pair")
    folders, tools = (root / "one", root / "two"), ToolServer()
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        model = stack.enter_context(model_server())
        gateway = stack.enter_context(running(tools.server().streamable_http_app()))
        there = {
            "STATE__URL": postgres.url,
            "INDEX__URL": postgres.url,
            "LLM__MODEL": "some",
            "LLM__BASE_URL": model.url,
            "MCP__GATEWAY": f"{gateway}/mcp",
            "MCP__MCP_ENABLED": "true",
        }
        urls = tuple(stack.enter_context(serving(folder, **there)) for folder in folders)
        pair = Pair(folders, (urls[0], urls[1]), model, tools)
        asyncio.run(_ingest(pair))
        yield pair


async def _ingest(pair: Pair) -> None:
    async with clients(pair) as (here, _):
        steps = [step async for step in here.ingest(IngestRequest((str(DOCUMENTS),)))]
        assert not steps[-1].error


@asynccontextmanager
async def clients(pair: Pair) -> AsyncIterator[tuple[Service, Service]]:
    async with AsyncExitStack() as stack:
        found = []
        for folder in pair.folders:
            server = await asyncio.to_thread(find_server, folder)
            assert server is not None
            client = connect_service(*server)
            stack.push_async_callback(client.aclose)
            found.append(client)
        yield found[0], found[1]


@pytest.fixture(autouse=True)
def slow(pair: Pair) -> None:
    pair.model.ways, pair.model.way = [], "good"
    pair.model.says, pair.model.pause = (*WORDS, "[1]."), 0.1


async def test_what_one_server_began_the_other_one_reads_on(pair: Pair) -> None:
    ask, texts, came = Ask(BATTERY, PRINCIPAL, cache=False), [], 0
    calls = pair.model.streamed
    async with clients(pair) as (here, there):
        async with aclosing(here.ask(ask, "k", 0)) as events:
            async for event in events:
                came += 1
                texts += [event.text] if isinstance(event, Token) else []
                if len(texts) == 12:
                    break
        async with aclosing(there.ask(ask, "k", came)) as events:
            async for event in events:
                texts += [event.text] if isinstance(event, Token) else []
        assert isinstance(event, Done)
        assert event.turn.answer
        assert "word59" in event.turn.answer.text
        assert re.findall(r"word\d+", "".join(texts)) == [word.strip() for word in WORDS]
        assert pair.model.streamed == calls + 1, "it was not asked anew"
        with pytest.raises(UnknownAnswer):
            await anext(there.ask(ask, "another", came))


async def test_what_one_server_began_the_other_one_stops(pair: Pair) -> None:
    ask, ended = Ask(BATTERY, PRINCIPAL, cache=False), pair.model.ended
    pair.model.pause = 1.0
    async with clients(pair) as (here, there):
        async with aclosing(here.ask(ask, "s", 0)) as events:
            async for event in events:
                if isinstance(event, Token):
                    break
        assert await there.stop(PRINCIPAL, "s")
        assert await until(lambda: pair.model.ended > ended)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_that_waits_at_one_server_is_decided_at_the_other_one(
    pair: Pair, approved: bool
) -> None:
    pair.model.ways, pair.model.pause = [TICKET], 0.0
    pair.tools.made.clear()
    ask = Ask(BATTERY, PRINCIPAL, search_type="pa", approves=True, cache=False)
    states = []
    async with clients(pair) as (here, there), aclosing(here.ask(ask)) as events:
        async for event in events:
            if isinstance(event, AgentStep):
                states.append(event.state)
                if event.state == "waiting":
                    await there.approve(PRINCIPAL, event.id, approved)
                    with pytest.raises(UnknownApproval):
                        await there.approve(PRINCIPAL, event.id, approved)
    assert states == ["calling", "waiting", "done" if approved else "declined"]
    assert pair.tools.made == (["file_ticket the lamp is dark"] if approved else [])


@pytest.mark.real
def test_a_page_goes_on_at_the_other_server(pair: Pair) -> None:
    ports = [int(url.rpartition(":")[2]) for url in pair.urls]
    calls = pair.model.streamed
    with chromium() as chrome, cutting(pair.urls[0]) as way:
        app = WebApp(chrome, way.url, pair.folders[0], pair.model)
        app.resize(1280, 900)
        chrome.get(f"{way.url}/")
        app.write("#question", BATTERY + Keys.ENTER)
        app.says("word12")
        way.away = True
        way.cut()
        app.says("The connection was lost. The answer goes on as soon as it is back.")
        way.lead_to(ports[1])
        time.sleep(1)
        way.away = False
        app.says("word59")
        app.find(".turn .actions")
        shown = re.findall(r"word\d+", app.find(".markdown").text)
        assert shown == [item.strip() for item in WORDS], "nothing is lost, nothing comes twice"
        assert pair.model.streamed == calls + 1, "it was not asked anew"
        assert not app.all(".turn .callout.bad")
