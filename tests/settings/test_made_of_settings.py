"""Settings that no other test changes: what is made of them is another."""

import json
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.sdk.resources import SERVICE_NAME
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone import build
from ragstone.access.setup import make_gate, make_interceptor
from ragstone.core.caller import Caller
from ragstone.core.errors import (
    InputError,
    ToolsUnavailable,
    TooManyRequests,
    Unauthorized,
    UnknownCollection,
)
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.jobs.ending import KEEP_SECONDS, Ending
from ragstone.local import Ragstone
from ragstone.models.configured_chat import chat_model
from ragstone.plugins.agent.settings import McpSettings
from ragstone.plugins.agent.tools.configured import make_toolbox
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.site import PloneSite
from ragstone.service import IngestRequest
from ragstone.settings import (
    AuthSettings,
    DialectSettings,
    IngestSettings,
    LlmSettings,
    ServerSettings,
    Settings,
    StandbySettings,
    TelemetrySettings,
)
from ragstone.telemetry.spans import tracer
from tests.access.issuer import AUDIENCE, ISSUER, issuing, token
from tests.e2e.processes import environment
from tests.fake_service import FakeService
from tests.http_server import running
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


def client(settings: Settings) -> httpx2.AsyncClient:
    """A client, over HTTPS, of a server with these settings."""
    app = create_app(FakeService(), settings, "token", make_interceptor(settings))
    transport = httpx2.ASGITransport(app)
    return httpx2.AsyncClient(transport=transport, base_url="https://127.0.0.1")


async def test_over_https_browsers_are_told_to_stay_there() -> None:
    async with client(Settings()) as http:
        sent = (await http.get("/health")).headers["strict-transport-security"]
    assert sent == "max-age=31536000"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("openai", "/v1/models"),
        ("openai", "/v1/vector_stores"),
        ("responses", "/v1/vector_stores"),
        ("retrieval", "/api/v1/retrieval/health"),
    ],
)
async def test_a_dialect_that_is_off(name: str, path: str) -> None:
    settings = Settings()
    for item in (settings, Settings(dialects=DialectSettings(off=(name,)))):
        async with client(item) as http:
            found = (await http.get(path)).status_code
        assert (found == 404) == (item is not settings)


async def test_pages_of_another_origin() -> None:
    page = {"origin": "https://example.com", "access-control-request-method": "POST"}
    for origins in ((), ("https://example.com",)):
        async with client(Settings(server=ServerSettings(cors_origins=origins))) as http:
            said = (await http.options("/v1/chat/completions", headers=page)).headers
        allowed = said.get("access-control-allow-origin", "")
        assert (allowed == "https://example.com") == bool(origins)


async def test_a_limit_of_questions_for_each_credential() -> None:
    slots = make_interceptor(
        Settings(server=ServerSettings(max_concurrent_queries=1))
    )._limits.slots
    async with slots.place("key"):
        with pytest.raises(TooManyRequests, match="already has 1"):
            async with slots.place("key"):
                pass


def auth(**changes: Any) -> AuthSettings:
    given = {"jwks_url": "http://127.0.0.1:9/", "issuer": ISSUER, "audience": (AUDIENCE,)}
    return AuthSettings(**{**given, **changes})


async def test_leeway_and_claims_of_tokens() -> None:
    with issuing() as issuer:
        settings = auth(
            jwks_url=issuer.url, claims={"groups": "teams"}, roles={"*": "editor"}, tenant="acme"
        )
        found = make_gate(settings, FakeService().keys, "operator")
        assert found._tokens is not None
        now = int(time.time())
        caller = await found._tokens.caller(token("r", "RS256", exp=now - 15, teams=["a"]))
        assert caller.principal.groups == ("a",)
        assert (caller.role, caller.principal.tenant) == ("editor", "acme")
        with pytest.raises(Unauthorized, match="expired"):
            await found._tokens.caller(token("r", "RS256", exp=now - 45))
        await found.aclose()


async def test_the_key_of_a_gateway() -> None:
    asked: list[str] = []

    async def answered(request: Request) -> Response:
        asked.append(request.headers.get("authorization", ""))
        return Response(status_code=401)

    with running(Starlette(routes=[Route("/mcp", answered, methods=["POST", "GET"])])) as url:
        mcp = McpSettings(gateway=f"{url}/mcp", mcp_enabled=True, api_key=SecretStr("k3"))
        tools = make_toolbox(mcp)
        assert tools is not None
        with pytest.raises(ToolsUnavailable):
            async with tools.session(""):
                pass
    assert set(asked) == {"Bearer k3"}


async def test_what_a_plone_site_is_read_with(tmp_path: Path) -> None:
    plone = PloneSettings(
        url="http://127.0.0.1:9",
        collection="intranet",
    )
    site = PloneSite(FakeService(), Settings(ragstone_data=tmp_path, plone=plone))
    async with aclosing(site._client()) as client:
        sync = site._sync(client)
        assert sync._principal.tenant == "default"
    with pytest.raises(UnknownCollection):
        site.check_reach(Caller(Principal("default"), "editor", ("plone",)))
    site.check_reach(Caller(Principal("default"), "editor", ("intranet",)))


def test_the_spare_model_is_reached_by_its_own_settings_and_used_like_the_first() -> None:
    first = LlmSettings(
        model="first",
        base_url="http://127.0.0.1:9/v1",
        temperature=0.1,
        context_window=900,
        profiles='{"spare": {"vision": true}}',
        vision=False,
        retries=1,
    )
    spare = StandbySettings(model="spare", base_url="http://127.0.0.1:8/v1", api_key=SecretStr("k"))
    made: Any = chat_model(Settings(llm=first, llm_fallback=spare))
    second = made.second._settings
    assert made.first._settings == first
    assert (second.model, second.base_url, second.retries, second.temperature) == (
        "spare",
        "http://127.0.0.1:8/v1",
        1,
        0.1,
    )
    assert second.api_key.get_secret_value() == "k"
    assert made.second.profile.vision
    assert made.second.profile.context_window != 900


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "pieces"),
    [
        ({}, 1),
        ({"chunk_size": 200, "chunk_overlap": 0}, 5),
        ({"chunk_size": 200, "chunk_overlap": 100}, 9),
    ],
)
async def test_how_chunks_are_cut(tmp_path: Path, changes: dict[str, Any], pieces: int) -> None:
    text = " ".join(f"The lamp number {n} burns for {n} hours." for n in range(25))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    processes = ParseProcesses(IngestSettings(**changes))
    async with processes.open_reading(tmp_path / "a.txt", len(text)) as reading:
        found = [piece async for batch in reading.batches() for piece in batch]
    await processes.aclose()
    assert abs(len(found) - pieces) <= 1


async def opened(stack: AsyncExitStack, data: Path, **sections: Any) -> Ragstone:
    return await stack.enter_async_context(build.open(Settings(ragstone_data=data, **sections)))


@pytest.mark.slow
async def test_what_a_ragstone_is_opened_with(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        service = await opened(
            stack,
            tmp_path / "data",
            ingest=IngestSettings(token_vectors="none"),
        )
        kinds = {kind.kind: kind for kind in await service.jobs.kinds()}
        order = ("ask", "ingest", "rebuild", "delete")
        assert [kinds[item].concurrency for item in order] == [4, 2, 1, 2]
        assert [kinds[item].priority for item in order] == [0, 5, 5, 5]
        assert [service._runner._places[item] for item in order] == [4, 2, 1, 2]
        (tmp_path / "a.txt").write_text("The lamp burns for 31 hours.", encoding="utf-8")
        async for _ in service.ingest(IngestRequest((str(tmp_path / "a.txt"),))):
            pass
        [job] = await service.jobs.list("default")
        assert job.priority == 5
        [collection] = await service._adapters.catalog.collections()
        index = service._adapters.index
        ids = [item.chunk_id async for batch in index.scan(collection) for item in batch]
        assert await index.vectors(collection, ids)
        assert not await index.tokens(collection, ids)


def test_how_long_jobs_wait_and_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending(None)  # type: ignore[arg-type]
    monkeypatch.setattr("ragstone.jobs.ending.RETRY_SECONDS", 10)
    monkeypatch.setattr("ragstone.jobs.ending.LONGEST_PAUSE", 15)
    monkeypatch.setattr("ragstone.jobs.ending.state_time", lambda: 1000.0)
    monkeypatch.setattr("ragstone.jobs.ending.random.uniform", lambda low, high: 1.0)
    assert [ending._backoff(n, InputError("x")) for n in range(3)] == [10, 15, 15]
    assert ending.until("ingest", "done") == 1000.0 + KEEP_SECONDS


def test_where_spans_go_under_which_name() -> None:
    settings = TelemetrySettings(endpoint="http://127.0.0.1:9/")
    _, provider = tracer(settings, "library")
    assert provider is not None
    assert provider.resource.attributes[SERVICE_NAME] == "library"
    [exporter] = [
        processor.span_exporter for processor in provider._active_span_processor._span_processors
    ]
    assert exporter._endpoint == "http://127.0.0.1:9/v1/traces"
    provider.shutdown()
    assert tracer(TelemetrySettings(), "library") == (None, None)


def served(data: Path, **variables: str) -> tuple[dict[str, Any], list[str]]:
    """What /health says of a server that has these variables, and the lines of its log."""
    command = [sys.executable, "-m", "tests.fake_ragstone", "serve"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment(data, SERVER__PORT="0", **variables),
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Ragstone is ready")
        url = json.loads((data / "server.json").read_text())["url"]
        said = httpx2.get(url + "/health", timeout=PATIENCE).json()
        httpx2.get(url + "/v1/models", timeout=PATIENCE)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    return said, errors.splitlines()


@pytest.mark.slow
def test_the_log_of_a_server_and_its_name(tmp_path: Path) -> None:
    def requests(lines: list[str]) -> list[str]:
        return [line for line in lines if "/v1/models" in line]

    said, quiet = served(tmp_path / "a", SERVICE__NAME="library")
    assert said["service"] == "library"
    assert not requests(quiet)
    _, text = served(tmp_path / "b", LOG_LEVEL="INFO")
    assert requests(text)
    _, lines = served(tmp_path / "c", LOG_LEVEL="INFO", LOG__FORMAT="json")
    assert all(json.loads(line) for line in requests(lines))
    assert requests(lines)
