"""Plone's services: golden transcripts, permissions, indexing, and signed content events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.caller import ANONYMOUS, GUEST, LOCAL, Caller
from ragstone.core.errors import InputError, Unauthorized, UnknownCollection
from ragstone.core.filters import path_filter
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.plone.routes import AskRequest, Questions, as_plone
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.site import EVENTS, SIGNATURE, TIMESTAMP, SignedEvents, sign
from ragstone.settings import DialectSettings, Settings, load
from tests.credentials import a_key
from tests.fake_service import FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.in_turn import in_turn
from tests.model_server import model_server
from tests.patience import PATIENCE
from tests.plone_jobs import PloneJobs
from tests.plone_server import TOKEN, PloneServer, plone_server

HERE = "http://127.0.0.1"
SECRET = b"shared secret"


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 0)


@pytest.fixture(scope="module")
def service() -> FakeService:
    return FakeService(has_site=True, jobs=PloneJobs())


@pytest.fixture(scope="module")
def url(service: FakeService) -> Iterator[str]:
    with running(create_app(service, Settings(), "token")) as address:
        yield address


@pytest.mark.parametrize("file", transcripts("plone"), ids=lambda file: file.stem)
@pytest.mark.conforms("Plone", "REST API", "Requests and answers as printed")
def test_transcript(url: str, file: Path) -> None:
    """In their order: a question is pending before it is completed."""
    replayed(url, file)


@pytest.fixture
def site() -> Iterator[PloneServer]:
    with plone_server() as server:
        server.add("u1", "/contact", text={"data": "<p>We open at nine.</p>"})
        server.add("u2", "/news", **{"@type": "News", "title": "Ten whales came"})
        yield server


@pytest.fixture
def settings(site: PloneServer, tmp_path: Path) -> Settings:
    secret, token = SecretStr(SECRET.decode()), SecretStr(TOKEN)
    plone = PloneSettings(url=site.site, token=token, webhook_secret=secret)
    return Settings(ragstone_data=tmp_path / "data", plone=plone)


@pytest.fixture
async def ragstone(settings: Settings) -> AsyncIterator[Ragstone]:
    async with build.open(settings) as opened:
        yield opened


@pytest.fixture
async def http(ragstone: Ragstone, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(ragstone, settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=PATIENCE) as client:
        yield client


async def count(http: httpx.AsyncClient) -> int:
    return int((await http.get("/Plone/@rag-status")).json()["parent_count"])


async def until_count(http: httpx.AsyncClient, wanted: int) -> None:
    for _ in range(200):
        if await count(http) == wanted:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"there are {await count(http)}")


async def until_paths(ragstone: Ragstone, wanted: list[str]) -> None:
    """Wait until these are the documents."""
    found: list[str] = []
    for _ in range(200):
        with suppress(UnknownCollection):
            documents = await ragstone.documents(Principal(), "plone")
            found = [document.path for document in documents if document.version]
        if found == wanted:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"there are {found}")


@pytest.mark.conforms("Plone", "REST API", "@rag-index: one object")
async def test_given_one_object_then_it_is_indexed_and_answers(http: httpx.AsyncClient) -> None:
    empty = (await http.get("/Plone/@rag-status")).json()
    assert (empty["exists"], empty["chunk_count"], empty["dimensions"]) == (False, 0, 0)
    unknown = await http.post("/Plone/@rag-ask", json={"question": "When?", "sync": True})
    assert unknown.json()["sources"] == []
    response = await http.post("/Plone/@rag-index", json={"uid": "u1", "async": False})
    found = {"@id": f"{HERE}/Plone/@rag-index", "status": "indexed", "uid": "u1"}
    assert response.json() == found
    body = {"question": "When do you open?", "sync": True}
    answered = (await http.post("/Plone/@rag-ask", json=body)).json()
    assert answered["sources"][0]["portal_type"] == "ContentPage"
    assert answered["sources"][0]["path"] == "/contact"
    inside = {**body, "path": "/plone/contact"}
    assert (await http.post("/Plone/@rag-ask", json=inside)).json()["sources"]
    outside = {**body, "path": "/plone/elsewhere"}
    assert (await http.post("/Plone/@rag-ask", json=outside)).json()["sources"] == []
    assert (await http.get("/@rag-status")).json()["chunk_count"] > 0


@pytest.mark.conforms("Plone", "REST API", "@rag-index: async by default")
async def test_given_async_then_it_is_queued(http: httpx.AsyncClient) -> None:
    response = await http.post("/Plone/@rag-index", json={"uid": "u2"})
    assert response.json()["status"] == "queued"
    await until_count(http, 1)


@pytest.mark.conforms("Plone", "REST API", "@rag-index-all: queued, with count and types")
async def test_given_index_all_then_everything_in_the_background(http: httpx.AsyncClient) -> None:
    response = await http.post("/Plone/@rag-index-all")
    types = ["ContentPage", "News", "File", "Contact", "Book", "Chapter"]
    assert response.json() == {
        "@id": f"{HERE}/Plone/@rag-index-all",
        "status": "queued",
        "queued_count": 2,
        "content_types": types,
    }
    await until_count(http, 2)


@pytest.mark.conforms("Plone", "REST API", "@rag-index of an unknown uid is an error")
async def test_given_an_object_that_is_gone_then_it_is_removed_and_unknown_after_that(
    http: httpx.AsyncClient, site: PloneServer
) -> None:
    await http.post("/Plone/@rag-index", json={"uid": "u1", "async": False})
    del site.objects["u1"]

    removed = await http.post("/Plone/@rag-index", json={"uid": "u1"})
    unknown = [
        await http.post("/Plone/@rag-index", json={"uid": uid, "async": queued})
        for uid in ("u1", "nobody")
        for queued in (True, False)
    ]

    assert removed.json()["status"] == "removed"
    assert {(response.status_code, response.json()["type"]) for response in unknown} == {
        (404, "NotFound")
    }


async def test_given_a_site_in_trouble_then_503(http: httpx.AsyncClient, site: PloneServer) -> None:
    site.way = "html"
    for path, body in (("@rag-index", {"uid": "u1"}), ("@rag-index-all", None)):
        response = await http.post(f"/Plone/{path}", json=body)
        assert response.status_code == 503
        assert "HTML" in response.json()["message"]


def signed(event: Any, at: float | None = None, secret: bytes = SECRET) -> dict[str, Any]:
    body = json.dumps(event).encode()
    stamp = str(int(time.time() if at is None else at))
    return {"content": body, "headers": {TIMESTAMP: stamp, SIGNATURE: sign(secret, stamp, body)}}


@pytest.mark.conforms("Plone", "Indexing", "Content that is added, changed or removed follows")
async def test_given_signed_events_then_content_follows(
    http: httpx.AsyncClient, site: PloneServer
) -> None:
    event = signed({"event": "added", "uid": "u1"})
    assert (await http.post("/plone/webhook", **event)).json()["status"] == "queued"
    await until_count(http, 1)
    replay = await http.post("/plone/webhook", **event)
    assert (replay.status_code, replay.json()["type"]) == (401, "Unauthorized")
    del site.objects["u1"]
    removed = await http.post("/plone/webhook", **signed({"event": "removed", "uid": "u1"}))
    assert removed.json() == {"status": "removed", "uid": "u1", "deleted": 1}
    assert await count(http) == 0


@pytest.mark.parametrize("event", sorted(EVENTS))
async def test_given_an_event_that_comes_late_or_out_of_order_then_the_site_counts(
    http: httpx.AsyncClient, site: PloneServer, event: str
) -> None:
    """Whatever an event says: the object is there, or it is not."""
    there = await http.post("/plone/webhook", **signed({"event": event, "uid": "u1"}))
    assert there.json()["status"] == "queued"
    await until_count(http, 1)
    del site.objects["u1"]
    gone = await http.post("/plone/webhook", **signed({"event": event, "uid": "u1", "id": "2"}))
    assert gone.json()["status"] == "removed"
    await until_count(http, 0)


async def test_given_the_site_is_down_then_the_same_event_may_come_again(
    http: httpx.AsyncClient, site: PloneServer
) -> None:
    event = signed({"event": "added", "uid": "u1"})
    site.way = "500"
    failed = await http.post("/plone/webhook", **event)
    assert (failed.status_code, failed.json()["error"]["retry"]) == (503, True)
    site.way = "good"
    assert (await http.post("/plone/webhook", **event)).json()["status"] == "queued"
    await until_count(http, 1)


async def test_given_an_event_of_a_folder_then_what_it_holds_follows(
    http: httpx.AsyncClient, site: PloneServer, ragstone: Ragstone
) -> None:
    site.add("f", "/hall", **{"@type": "Folder", "is_folderish": True})
    site.add("c1", "/hall/one")
    site.add("c2", "/hall/two")
    await http.post("/plone/webhook", **signed({"event": "added", "uid": "f"}))
    await until_paths(ragstone, ["/hall/one", "/hall/two"])
    for uid in ("f", "c1", "c2"):
        del site.objects[uid]
    await http.post("/plone/webhook", **signed({"event": "removed", "uid": "f"}))
    # The folder is not known any more, so the whole site is looked at.
    await until_paths(ragstone, ["/contact", "/news"])


@in_turn(
    "request_",
    [
        {"content": b'{"event":"added","uid":"u1"}'},
        signed({"event": "added", "uid": "u1"}, secret=b"other"),
        signed({"event": "added", "uid": "u1"}, at=1_000_000),
        signed({"event": "added", "uid": "u1"}, at=time.time() + 10_000),
        {"content": b"{}", "headers": {TIMESTAMP: "9" * 5000, SIGNATURE: "sha256=x"}},
        {"content": b"{}", "headers": {SIGNATURE: "sha256="}},
    ],
)
async def test_given_a_forged_event_then_401(
    http: httpx.AsyncClient, request_: dict[str, Any]
) -> None:
    assert (await http.post("/plone/webhook", **request_)).status_code == 401


@in_turn("event", [[], "x", {}, {"uid": 7}, {"uid": "u1"}, {"uid": "../x", "event": "added"}])
async def test_given_a_signed_event_that_is_none_then_400(
    http: httpx.AsyncClient, event: Any
) -> None:
    assert (await http.post("/plone/webhook", **signed(event))).status_code == 400


def test_given_no_secret_or_an_event_before_the_start_then_refused() -> None:
    body, now = b'{"event":"added","uid":"u"}', int(time.time())
    with pytest.raises(Unauthorized, match="PLONE__WEBHOOK_SECRET"):
        SignedEvents("", 300).verify({}, body)
    before = str(now - 60)
    headers = {TIMESTAMP: before, SIGNATURE: sign(SECRET, before, body)}
    with pytest.raises(Unauthorized, match="Sign it again"):
        SignedEvents(SECRET.decode(), 300).verify(headers, body)
    long = "9" * 5000
    headers = {TIMESTAMP: long, SIGNATURE: sign(SECRET, long, body)}
    with pytest.raises(Unauthorized):
        SignedEvents(SECRET.decode(), 300).verify(headers, body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "@rag-ask", {}),
        ("POST", "@rag-ask", {"question": "  "}),
        ("POST", "@rag-ask", {"question": 7}),
        ("POST", "@rag-ask", {"question": "x" * 5001}),
        ("POST", "@rag-ask", {"question": "q", "sync": "yes"}),
        ("POST", "@rag-ask", {"question": "q", "path": ["/a"]}),
        ("POST", "@rag-ask", {"question": "q", "path": "/" * 2001}),
        ("GET", "@rag-ask", None),
        ("GET", "@rag-ask?job_id=", None),
        ("GET", f"@rag-ask?job_id={'x' * 201}", None),
        ("POST", "@rag-index", {}),
        ("POST", "@rag-index", {"uid": "a/b"}),
        ("POST", "@rag-index", {"uid": "u", "async": "no"}),
        ("POST", "@rag-index", []),
    ],
)
async def test_given_bad_input_then_a_bad_request(
    url: str, method: str, path: str, body: Any
) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        response = await client.request(method, f"/Plone/{path}", json=body)
    assert response.status_code == 400
    assert response.json()["type"] == "BadRequest"
    assert response.json()["message"]


@pytest.mark.conforms("Plone", "Plone registry", "rag_error_message: shown where answering fails")
@pytest.mark.conforms(
    "Plone", "Plone registry", "rag_no_answer_message: shown where nothing is found"
)
async def test_given_a_failed_job_then_why_and_a_site_that_is_not_indexed_refuses(
    url: str,
) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        for question, status in (("broken thing", "failed"), ("nowhere to look", "completed")):
            asked = (await client.post("/Plone/@rag-ask", json={"question": question})).json()
            polled = f"/Plone/@rag-ask?job_id={asked['job_id']}"
            await client.get(polled)
            found = (await client.get(polled)).json()
            assert found["status"] == status
            if status == "failed":
                assert found["error"]
                assert found["answer"] == PloneSettings().error_message
    assert found["sources"] == []


@pytest.mark.conforms("Plone", "Question-answering", "A cached result is returned at once")
@pytest.mark.conforms("Plone", "Question-answering", "What is kept ends with its permissions")
async def test_given_an_answer_that_is_kept_then_it_is_forgotten_with_its_documents(
    http: httpx.AsyncClient, site: PloneServer, ragstone: Ragstone
) -> None:
    async def index() -> None:
        await http.post("/Plone/@rag-index", json={"uid": "u1", "async": False})

    async def asked() -> Any:
        found = (await http.post("/Plone/@rag-ask", json={"question": "When do you open?"})).json()
        while found["status"] == "pending":
            await asyncio.sleep(0.02)
            found = await polled()
        return found

    async def polled() -> Any:
        [job] = await ragstone.jobs.list("default", "ask", limit=1)
        return (await http.get("/Plone/@rag-ask", params={"job_id": job.id})).json()

    await index()
    assert "nine" in (await asked())["answer"]
    assert (await polled())["status"] == "completed"
    again = await http.post("/Plone/@rag-ask", json={"question": "When do you open?"})
    assert again.json()["status"] == "completed", "what is kept is returned at once"
    site.objects["u1"]["review_state"] = "private"
    await index()
    forgotten = await polled()
    assert (forgotten["status"], forgotten["sources"]) == ("failed", [])
    assert "Ask again" in forgotten["error"]
    assert "nine" not in json.dumps(await asked())


@pytest.mark.conforms("Plone", "Environment variables", "RAG_TOP_K results, whatever is asked")
@pytest.mark.parametrize("most", [2, 4])
async def test_given_rag_top_k_then_so_many_passages_at_most(
    settings: Settings, site: PloneServer, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        site.add(
            f"p{number}",
            f"/pier-{number}",
            text={"data": f"<p>Pier {number} opens at {number + 6}.</p>"},
        )
    monkeypatch.setenv("RAG_TOP_K", str(most))
    changes = {"plone": settings.plone, "ragstone_data": settings.ragstone_data}
    settings = load().model_copy(update=changes)
    async with build.open(settings) as ragstone:
        transport = httpx.ASGITransport(create_app(ragstone, settings, "token"))
        async with httpx.AsyncClient(
            transport=transport, base_url=HERE, timeout=PATIENCE
        ) as client:
            await client.post("/Plone/@rag-index-all")
            await until_count(client, 10)
            for question, least in (("When does pier 3 open?", 1), ("List all piers.", 0)):
                body = {"question": question, "sync": True}
                found = (await client.post("/Plone/@rag-ask", json=body)).json()
                assert least <= len(found["sources"]) <= most, found


@pytest.mark.conforms("Plone", "Glossary", "RAG_MAX_CONTEXT_LENGTH limits the context")
@pytest.mark.conforms("Plone", "Plone registry", "rag_system_prompt")
@pytest.mark.parametrize(("most", "shown"), [(700, 1), (2_000, 4)])
async def test_given_a_prompt_and_a_length_then_the_chat_model_is_told_so_much(
    settings: Settings,
    site: PloneServer,
    tmp_path: Path,
    most: int,
    shown: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(4):
        text = f"<p>Pier {number} opens for ferries. {f'Ferry {number} leaves at six. ' * 19}</p>"
        site.add(f"p{number}", f"/pier-{number}", text={"data": text})
    monkeypatch.setenv("RAG_MAX_CONTEXT_LENGTH", str(most))
    file = tmp_path / "ragstone.yaml"
    file.write_text("wcs.backend.rag_system_prompt: You are the harbour's clerk.\n")
    with model_server(says=("At six ", "[1].")) as model:
        monkeypatch.setenv("LLM_BASE_URL", model.url)
        monkeypatch.setenv("LLM_MODEL", "gpt-4")
        changes = {"plone": settings.plone, "ragstone_data": settings.ragstone_data}
        settings = load(file).model_copy(update=changes)
        async with build.open(settings) as ragstone:
            transport = httpx.ASGITransport(create_app(ragstone, settings, "token"))
            async with httpx.AsyncClient(
                transport=transport, base_url=HERE, timeout=PATIENCE
            ) as client:
                await client.post("/Plone/@rag-index-all")
                await until_count(client, 6)
                body = {"question": "When does the ferry leave from the piers?", "sync": True}
                found = (await client.post("/Plone/@rag-ask", json=body)).json()
                assert found["answer"].startswith("At six")
        [told] = [call["messages"] for call in model.calls if call.get("stream")]
        assert told[0]["content"].startswith("You are the harbour's clerk.")
        assert sum(message["content"].count("<source>") for message in told) == shown


@pytest.mark.conforms("Plone", "REST API", "Errors have Plone's type and message")
@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "kind"),
    [
        ("POST", "/Plone/@rag-ask", {"authorization": "Bearer wrong"}, 401, "Unauthorized"),
        ("POST", "/plone/webhook", {}, 401, "Unauthorized"),
        ("DELETE", "/Plone/@rag-ask", {"authorization": "Bearer token"}, 405, "MethodNotAllowed"),
        ("POST", "/Plone/en/@rag-ask", {"authorization": "Bearer token"}, 400, "BadRequest"),
    ],
)
async def test_given_any_refusal_then_plones_type_and_message(
    method: str, path: str, headers: dict[str, str], status: int, kind: str
) -> None:
    service = FakeService(jobs=PloneJobs())
    await a_key(service)
    transport = httpx.ASGITransport(create_app(service, Settings(), "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        response = await client.request(method, path, headers=headers)
    assert (response.status_code, response.json()["type"]) == (status, kind)
    assert response.json()["message"] == response.json()["error"]["message"]


@pytest.mark.conforms(
    "Plone", "Environment variables", "RAG_ENABLED=false: neither asked nor indexed"
)
@pytest.mark.parametrize(
    ("path", "body"),
    [("@rag-ask", {"question": "q"}), ("@rag-index-all", {}), ("@rag-index", {"uid": "u"})],
)
async def test_given_rag_is_off_then_503_says_what_to_set(path: str, body: Any) -> None:
    off = Settings(plone=PloneSettings(enabled=False))
    transport = httpx.ASGITransport(create_app(FakeService(), off, "token"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        response = await client.post(f"/Plone/{path}", json=body)
        status = (await client.get("/Plone/@rag-status")).json()
    assert response.status_code == 503
    assert "RAG_ENABLED" in response.json()["message"]
    assert status["enabled"] is False


def questions(**plone: Any) -> Questions:
    settings = Settings(plone=PloneSettings(**plone))
    return Questions(FakeService(jobs=PloneJobs()), settings)


def test_given_a_path_then_only_below_it() -> None:
    body = AskRequest(question="q", path="/plone/section")
    ask = questions().ask(body, "/Plone/@rag-ask", LOCAL)
    assert ask.where == path_filter("/section")
    assert (ask.collection, ask.profile) == ("plone", "plone")
    assert questions().ask(AskRequest(question="q"), "/Plone/@rag-ask", LOCAL).where is None


def test_given_a_caller_then_its_groups_are_roles_and_whoever_is_logged_in_is_authenticated() -> (
    None
):
    ann = Principal("default", "ann", ("Manager",))
    assert as_plone(Caller(ann)).groups == ("Manager", "Authenticated")
    assert as_plone(ANONYMOUS).groups == ()
    assert as_plone(GUEST).names == ("*",)


def test_given_who_may_not_then_refused() -> None:
    nobody = Caller(Principal("default", "", ()), "reader")
    with pytest.raises(Unauthorized):
        questions().ask(AskRequest(question="q", sync=True), "/@rag-ask", nobody)
    assert questions().ask(AskRequest(question="q"), "/@rag-ask", nobody).principal.user == ""
    limited = Caller(Principal(), "reader", ("other",), "k")
    with pytest.raises(UnknownCollection):
        questions().ask(AskRequest(question="q"), "/@rag-ask", limited)
    with pytest.raises(InputError):
        questions().ask(AskRequest(question=" "), "/@rag-ask", LOCAL)


async def test_given_the_dialect_is_off_then_it_is_not_there() -> None:
    settings = Settings(dialects=DialectSettings(off=("plone",)))
    transport = httpx.ASGITransport(create_app(FakeService(jobs=PloneJobs()), settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        assert (await client.get("/Plone/@rag-status")).status_code == 404
