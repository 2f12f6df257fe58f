"""Signed calls of the add-on in a Plone site: who they are of, and what they never open."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import InputError, Unauthorized
from ragstone.core.filters import path_filter
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.plone.names import CONNECTOR
from ragstone.plugins.plone.routes import Questions
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.site import SIGNATURE, TIMESTAMP, sign
from ragstone.plugins.plone.visitors import Visitor, visitor_call, visitor_caller
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.in_turn import in_turn
from tests.patience import PATIENCE
from tests.plone_server import TOKEN, PloneServer, plone_server

SECRET = "the secret of a site"
ADMIN = "0123456789abcdef0123456789abcdef"
PUBLIC, CLOSED = "We open at nine.", "The safe opens with 4711."
QUESTION = "When do you open, and how does the safe open?"


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 0)


@pytest.fixture
def site() -> Iterator[PloneServer]:
    with plone_server() as server:
        for uid, path, text, allowed in (
            ("u1", "/contact", PUBLIC, ["Anonymous"]),
            ("u2", "/safe", CLOSED, ["Manager", "user:ann", "user:guards"]),
        ):
            told = {"rag-permissions": {"allowedRolesAndUsers": allowed}}
            server.add(uid, path, text={"data": f"<p>{text}</p>"}, **{"@components": told})
        yield server


@pytest.fixture
def settings(site: PloneServer, tmp_path: Path) -> Settings:
    plone = PloneSettings(url=site.site, token=SecretStr(TOKEN), webhook_secret=SecretStr(SECRET))
    # With a credential set up, nobody else gets in.
    auth = Settings().auth.model_copy(update={"admin_key": SecretStr(ADMIN)})
    return Settings(ragstone_data=tmp_path / "data", plone=plone, auth=auth)


@pytest.fixture
async def ragstone(settings: Settings) -> AsyncIterator[Ragstone]:
    async with build.open(settings) as opened:
        yield opened


@pytest.fixture
async def http(ragstone: Ragstone, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(ragstone, settings, "token"))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE
    ) as client:
        yield client


NONCE = iter(range(10_000_000, 20_000_000))


def signed(content: Any, secret: str = SECRET, at: float | None = None) -> dict[str, Any]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    stamp = str(int(time.time() if at is None else at))
    return {
        "content": body,
        "headers": {TIMESTAMP: stamp, SIGNATURE: sign(secret.encode(), stamp, body)},
    }


def call(name: str, visitor: dict[str, Any], **content: Any) -> dict[str, Any]:
    return {"nonce": str(next(NONCE)), "visitor": visitor, "call": name, **content}


async def send(http: httpx.AsyncClient, name: str, who: dict[str, Any], **content: Any) -> Any:
    response = await http.post("/plone/visitor", **signed(call(name, who, **content)))
    assert response.status_code == 200, response.text
    return response.json()


async def indexed(http: httpx.AsyncClient) -> None:
    boss = {"user": "boss", "roles": ["Manager"], "indexes": True}
    for uid in ("u1", "u2"):
        done = await send(http, "index", boss, uid=uid, portal_type="ContentPage", sync=True)
        assert done == {"status": "indexed", "uid": uid}


ANN = {"user": "ann", "roles": ["Member", "Authenticated"]}
GUARD = {"user": "gus", "roles": ["Member"], "groups": ["guards"]}
BOSS = {"user": "boss", "roles": ["Manager"]}
BOB = {"user": "bob", "roles": ["Member", "Authenticated"], "groups": ["AuthenticatedUsers"]}
NAMED_SAFE = {"user": "cat", "groups": [CONNECTOR, "*"], "roles": ["*", "Anonymous"]}


async def test_given_visitors_then_each_reads_what_plone_says(http: httpx.AsyncClient) -> None:
    await indexed(http)
    for who, reads in (
        (ANN, True),
        (GUARD, True),
        (BOSS, True),
        (BOB, False),
        (NAMED_SAFE, False),
        ({"user": "Manager"}, False),
        ({"user": "guards"}, True),  # Plone spells groups like users.
    ):
        found = await send(http, "ask", who, question=QUESTION, sync=True)
        paths = {item["path"] for item in found["sources"]}
        assert ("/safe" in paths) is reads, who
        assert "/contact" in paths
        status = await send(http, "status", who)
        assert status["parent_count"] == (2 if reads else 1)
        if not reads:
            assert "4711" not in json.dumps(found)


async def test_given_an_anonymous_visitor_then_only_what_everyone_may(
    http: httpx.AsyncClient,
) -> None:
    await indexed(http)
    # Whatever else is said of somebody without a name counts nothing.
    nobody = {"user": "", "roles": ["Manager"], "groups": ["guards"], "indexes": True}
    assert (await send(http, "status", nobody))["parent_count"] == 1
    asked = await send(http, "ask", nobody, question=QUESTION)
    for _ in range(200):
        found = await send(http, "poll", nobody, job_id=asked["job_id"])
        if found["status"] != "pending":
            break
    assert {item["path"] for item in found["sources"]} == {"/contact"}
    other = await http.post("/plone/visitor", **signed(call("poll", ANN, job_id=asked["job_id"])))
    assert (other.status_code, other.json()["type"]) == (404, "NotFound")
    refused = await http.post("/plone/visitor", **signed(call("index", nobody, uid="u1")))
    assert refused.status_code == 403
    sync = await http.post("/plone/visitor", **signed(call("ask", nobody, question="q", sync=True)))
    assert sync.status_code == 401


async def test_given_a_path_then_only_below_it(http: httpx.AsyncClient) -> None:
    await indexed(http)
    for path, count in (("/safe/", 1), ("/", 2), ("/elsewhere", 0)):
        found = await send(http, "ask", BOSS, question=QUESTION, sync=True, path=path)
        assert len({item["path"] for item in found["sources"]}) == count


@pytest.mark.parametrize("address", ["/plone/visitor", "/plone/settings"])
async def test_given_a_forged_old_or_repeated_call_then_401(
    http: httpx.AsyncClient, address: str
) -> None:
    content: Any = call("status", BOSS)
    if address.endswith("settings"):
        content = {"nonce": "12345678", "records": {"rag_top_k": 7}}
    good = signed(content)
    changed = {**good, "content": good["content"].replace(b"7", b"8").replace(b"boss", b"toss")}
    unsigned = {"content": good["content"], "headers": {"authorization": "Bearer x"}}
    for request in (
        unsigned,
        changed,
        signed(content, secret="another secret"),
        signed(content, at=time.time() - 10_000),
        signed(content, at=time.time() + 10_000),
        {**good, "headers": {**good["headers"], TIMESTAMP: "1"}},
    ):
        response = await http.post(address, **request)
        assert (response.status_code, response.json()["type"]) == (401, "Unauthorized")
    assert (await http.post(address, **good)).status_code == 200
    again = await http.post(address, **good)
    assert again.status_code == 401
    assert "replay" in again.json()["message"]
    # Nor is what was signed for one address taken at another.
    other = "/plone/webhook" if address.endswith("visitor") else "/plone/visitor"
    fresh = {**content, "nonce": "87654321"}
    assert (await http.post(other, **signed(fresh))).status_code == 400


@in_turn(
    "content",
    [
        b"{",
        b"[]",
        b"\xff",
        b'"x"',
        b"[" * 5000,
        {},
        {"nonce": "short", "visitor": {}, "call": "status"},
        call("delete", BOSS),
        call("ask", BOSS),
        call("ask", BOSS, question=" "),
        call("ask", BOSS, question="q", path="no slash"),
        call("ask", BOSS, question="q", tenant="other"),
        call("ask", {**BOSS, "tenant": "other"}, question="q"),
        call("ask", {**BOSS, "groups": "Manager"}, question="q"),
        call("ask", {**BOSS, "roles": [""]}, question="q"),
        call("ask", {**BOSS, "user": "x" * 256}, question="q"),
        call("ask", {**BOSS, "groups": ["g"] * 1001}, question="q"),
        call("index", {**BOSS, "indexes": True}),
        call("index", {**BOSS, "indexes": True}, uid="../x"),
    ],
)
async def test_given_a_signed_call_that_is_none_then_400(
    http: httpx.AsyncClient, content: Any
) -> None:
    response = await http.post("/plone/visitor", **signed(content))
    assert (response.status_code, response.json()["type"]) == (400, "BadRequest")
    assert response.json()["message"]


async def test_given_records_then_they_hold_for_the_sites_collection(
    http: httpx.AsyncClient, ragstone: Ragstone
) -> None:
    records = {
        "rag_top_k": 7,
        "rag_no_answer_message": "Nothing here.",
        "rag_llm_temperature": 0.3,
        "rag_llm_max_tokens": 200,
        "rag_boost_bm25": 2.0,
        "rag_boost_knn": 1.0,
    }
    sent = {"nonce": "12345678", "records": records}
    taken = await http.post("/plone/settings", **signed(sent))
    assert taken.status_code == 200, taken.text
    for key, value in (("rag.top_k", 7), ("rag.no_answer", "Nothing here."), ("rag.boost_knn", 1)):
        here = await ragstone.settings.get(key, "default", "plone")
        elsewhere = await ragstone.settings.get(key, "default", "other")
        assert here.value == value
        assert elsewhere.value != value
    back = {"nonce": "12345679", "records": {"rag_top_k": None}}
    assert (await http.post("/plone/settings", **signed(back))).status_code == 200
    assert (await ragstone.settings.get("rag.top_k", "default", "plone")).source != "store"


@in_turn(
    "records",
    [
        {},
        {"rag_top_k": "many"},
        {"rag_llm_temperature": 99},
        {"auth.admin_key": "x"},
        {"wcs.backend.rag_top_k": 3},
        {"EMBEDDING_BASE_URL": "http://elsewhere"},
        ["rag_top_k"],
    ],
)
async def test_given_records_that_are_none_then_400_and_nothing_changes(
    http: httpx.AsyncClient, ragstone: Ragstone, records: Any
) -> None:
    sent = {"nonce": "12345678", "records": records}
    response = await http.post("/plone/settings", **signed(sent))
    assert response.status_code == 400, response.text
    assert not await ragstone.settings.log(10)


async def test_given_a_site_that_chooses_its_types_then_those_are_indexed(
    http: httpx.AsyncClient, site: PloneServer
) -> None:
    told = {"rag-permissions": {"allowedRolesAndUsers": ["Anonymous"]}}
    site.add("u3", "/page", **{"@type": "Document", "@components": told})
    event = {"uid": "u3", "event": "modified"}
    plain = await http.post("/plone/webhook", **signed({**event, "id": "1"}))
    assert plain.json()["status"] == "removed"
    chosen = {**event, "portal_type": "Document"}
    assert (await http.post("/plone/webhook", **signed(chosen))).json()["status"] == "queued"
    for wrong in ([], 7, None, "x" * 201):
        refused = await http.post("/plone/webhook", **signed({**event, "portal_type": wrong}))
        assert refused.status_code == 400


def test_given_a_prompt_of_the_site_then_it_goes_with_the_question() -> None:
    questions = Questions(FakeService(), Settings())
    caller = visitor_caller(Visitor(user="ann"), PloneSettings())
    asked = questions.ask_below("/port", "When?", True, caller, "Be short.")
    assert (asked.guidance, asked.principal.user) == ("Be short.", "ann")
    assert asked.where == path_filter("/port")


def test_given_a_visitor_then_a_caller_of_the_sites_collection_alone() -> None:
    settings = PloneSettings(collection="site")
    reader = visitor_caller(Visitor(user="ann", groups=["g"], roles=["Member"]), settings)
    assert reader.principal == Principal("default", "ann", ("Member", "g"), ("site",))
    assert (reader.role, reader.collections, reader.operator) == ("reader", ("site",), False)
    assert visitor_caller(Visitor(user="ann", indexes=True), settings).role == "editor"
    one, two = (visitor_caller(Visitor(place=place), settings) for place in ("a", "b"))
    assert one.key != two.key
    assert one.principal == two.principal
    with pytest.raises(Unauthorized):
        visitor_caller(Visitor(user="key:1"), settings)


def test_given_a_deep_body_then_a_clear_error() -> None:
    with pytest.raises(InputError):
        visitor_call(b'{"a":' * 100_000)
