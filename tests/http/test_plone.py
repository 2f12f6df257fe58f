"""Plone's services: golden transcripts, permissions, indexing, and signed content events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.caller import LOCAL, Caller
from ragstone.core.errors import InputError, Unauthorized, UnknownCollection
from ragstone.core.filters import under
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.http.dialects.plone.routes import AskRequest, Questions, as_plone
from ragstone.http.dialects.plone.site import SIGNATURE, TIMESTAMP, SignedEvents, sign
from ragstone.service.local import Ragstone
from ragstone.settings import DialectSettings, PloneSettings, Settings
from tests.fake_service import FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.patience import PATIENCE
from tests.plone_jobs import PloneJobs
from tests.plone_server import TOKEN, PloneServer, plone_server

HERE = "http://127.0.0.1"
SECRET = b"shared secret"


@pytest.fixture(scope="module")
def service() -> FakeService:
    return FakeService(has_site=True, jobs=PloneJobs())


@pytest.fixture(scope="module")
def url(service: FakeService) -> Iterator[str]:
    with running(create_app(service, Settings(), "token")) as address:
        yield address


@pytest.mark.parametrize("file", transcripts("plone"), ids=lambda file: file.stem)
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
    plone = PloneSettings(url=site.site, token=token, webhook_secret=secret, retries=0)
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


async def test_given_async_then_it_is_queued(http: httpx.AsyncClient) -> None:
    response = await http.post("/Plone/@rag-index", json={"uid": "u2"})
    assert response.json()["status"] == "queued"
    await until_count(http, 1)


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


async def test_given_an_object_that_is_gone_then_it_is_removed(http: httpx.AsyncClient) -> None:
    response = await http.post("/Plone/@rag-index", json={"uid": "nobody"})
    assert response.json()["status"] == "removed"


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


async def test_given_signed_events_then_content_follows(
    http: httpx.AsyncClient, site: PloneServer
) -> None:
    event = signed({"event": "added", "uid": "u1"})
    assert (await http.post("/plone/webhook", **event)).json()["status"] == "queued"
    await until_count(http, 1)
    replay = await http.post("/plone/webhook", **event)
    assert (replay.status_code, replay.json()["type"]) == (401, "Unauthorized")
    removed = await http.post("/plone/webhook", **signed({"event": "removed", "uid": "u1"}))
    assert removed.json() == {"status": "removed", "uid": "u1", "deleted": 1}
    assert await count(http) == 0


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "event", [[], "x", {}, {"uid": 7}, {"uid": "u1"}, {"uid": "../x", "event": "added"}]
)
async def test_given_a_signed_event_that_is_none_then_400(
    http: httpx.AsyncClient, event: Any
) -> None:
    assert (await http.post("/plone/webhook", **signed(event))).status_code == 400


def test_given_no_secret_or_an_event_before_the_start_then_refused() -> None:
    body, now = b'{"event":"added","uid":"u"}', int(time.time())
    with pytest.raises(Unauthorized, match="PLONE__WEBHOOK_SECRET"):
        SignedEvents("", 300).verified({}, body)
    before = str(now - 60)
    headers = {TIMESTAMP: before, SIGNATURE: sign(SECRET, before, body)}
    with pytest.raises(Unauthorized, match="Sign it again"):
        SignedEvents(SECRET.decode(), 300).verified(headers, body)
    long = "9" * 5000
    headers = {TIMESTAMP: long, SIGNATURE: sign(SECRET, long, body)}
    with pytest.raises(Unauthorized):
        SignedEvents(SECRET.decode(), 300).verified(headers, body)


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
    assert found["sources"] == []


def questions(**plone: Any) -> Questions:
    settings = Settings(plone=PloneSettings(**plone))
    return Questions(FakeService(jobs=PloneJobs()), settings)


def test_given_a_path_then_only_below_it() -> None:
    body = AskRequest(question="q", path="/plone/section")
    ask = questions().ask(body, "/Plone/@rag-ask", LOCAL)
    assert ask.where == under("/section")
    assert (ask.collection, ask.profile) == ("plone", "plone")
    assert questions().ask(AskRequest(question="q"), "/Plone/@rag-ask", LOCAL).where is None


def test_given_a_caller_then_its_groups_are_roles_and_whoever_is_logged_in_is_authenticated() -> (
    None
):
    ann = Principal("default", "ann", ("Manager",))
    assert as_plone(ann).groups == ("Manager", "Authenticated")
    assert as_plone(Principal("default", "", ())).groups == ()


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
    settings = Settings(dialects=DialectSettings(plone=False))
    transport = httpx.ASGITransport(create_app(FakeService(jobs=PloneJobs()), settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        assert (await client.get("/Plone/@rag-status")).status_code == 404
