"""Ragstone's own protocol: only with the token and for the same version; no input breaks it."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from ragstone import __version__
from ragstone.http.app import create_app
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.test_any_input import values
from tests.wire_values import Recorder, as_service, example, recorder

JSON = {"content-type": "application/json"}
TOKEN = {"authorization": "Bearer secret-token"}


def called(name: str) -> dict[str, str]:
    """The headers of a command of this version."""
    operation = operations().get(name)
    fingerprint = operation.fingerprint if operation else "new"
    return {**TOKEN, VERSION_HEADER: __version__, OPERATION_HEADER: fingerprint}


@pytest.fixture(scope="module")
def standing() -> FakeService:
    return FakeService()


@pytest.fixture
def service(standing: FakeService) -> FakeService:
    standing.forget()
    return standing


@pytest.fixture(scope="module")
def transport(standing: FakeService) -> httpx2.ASGITransport:
    return httpx2.ASGITransport(create_app(standing, Settings(), "secret-token"))


@pytest.fixture
async def http(
    transport: httpx2.ASGITransport, service: FakeService
) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="module")
def recording() -> FastAPI:
    """The application of a service that notes what it is asked."""
    made = recorder()
    app = create_app(as_service(made), Settings(), "secret-token")
    app.state.made = made
    return app


@pytest.fixture
def made(recording: FastAPI) -> Recorder:
    service: Recorder = recording.state.made
    service.calls.clear()
    return service


OF_THE_OPERATOR = [name for name, operation in operations().items() if not operation.allowed]


@pytest.mark.parametrize("name", OF_THE_OPERATOR)
async def test_what_is_of_the_operator_needs_the_token(
    name: str, made: Recorder, recording: FastAPI
) -> None:
    transport = httpx2.ASGITransport(recording)
    arguments = {name: example(kind) for name, kind in operations()[name].types.items()}
    content = json.dumps(operations()[name].dump(arguments)).encode()
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for credential in (None, b"secret-token", b"Bearer secret-tokem", "Bearer ü".encode()):
            headers: dict[str, Any] = {**called(name), "authorization": credential or b"", **JSON}
            response = await http.post(f"/local/call/{name}", headers=headers, content=content)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.headers[VERSION_HEADER] == __version__
            assert response.json()["error"]["code"] == "unauthorized"
    assert name not in {made for made, _ in made.calls if made != "keys.exist"}


async def test_events_end_with_one_that_says_so(http: httpx2.AsyncClient) -> None:
    response = await http.post(
        "/local/call/ask", json={"ask": {"question": "q"}}, headers=called("ask")
    )
    *events, end = [block for block in response.text.split("\n\n") if block]
    names = [json.loads(event.removeprefix("data: "))["event"] for event in events]
    assert names[:4] == ["stage_started", "stage_ended", "rewritten", "sources"]
    assert names[-2:] == ["token", "done"]
    assert end == "event: end\ndata: null"


async def test_what_fails_at_once_has_its_status(http: httpx2.AsyncClient) -> None:
    response = await http.post(
        "/local/call/ask", json={"ask": {"question": " "}}, headers=called("ask")
    )
    assert (response.status_code, response.json()["error"]["code"]) == (400, "empty_question")


PAGE = {"principal": {}, "collection": "default"}


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("ask", {}, 400),
        ("ask", [], 400),
        ("ask", None, 400),
        ("ask", {"ask": {}}, 400),
        ("ask", {"ask": []}, 400),
        ("ask", {"ask": {"question": "q", "level": "huge"}}, 400),
        ("ask", {"ask": {"question": "q", "where": {"xor": []}}}, 400),
        ("ask", {"ask": {"question": "q", "colection": "secret"}}, 400),
        ("search", {"ask": {"question": 7}}, 400),
        ("search", {"ask": {"question": "q", "collection": "nowhere"}}, 404),
        ("search", {"ask": {"question": "q"}, "more": 1}, 400),
        ("ingest", {"request": {"paths": "/etc"}}, 400),
        ("rebuild", {"tenant": "default"}, 400),
        ("rebuild", {"tenant": "default", "collection": "nowhere"}, 404),
        ("delete", {**PAGE, "paths": [1]}, 400),
        ("delete", {**PAGE, "principal": 1}, 400),
        ("delete", {**PAGE, "principal": {"usr": "ann"}}, 400),
        ("delete", {**PAGE, "paths": ["/nowhere"]}, 404),
        ("embed", {"texts": []}, 400),
        ("embed", {"texts": "abc"}, 400),
        ("embed", {"texts": ["a"], "model": "none"}, 404),
        ("documents", {**PAGE, "limit": -1}, 400),
        ("documents", {**PAGE, "limit": 10**30}, 400),
        ("documents", {**PAGE, "offset": 2**63 - 1}, 400),
        ("documents", {**PAGE, "collection": "nowhere"}, 404),
        ("documents", {**PAGE, "limit": 1}, 200),
        ("documents", {**PAGE, "collection": "half \udcff"}, 400),
        ("documents", {**PAGE, "principal": {"user": "nul \0"}}, 400),
        ("delete", {**PAGE, "paths": ["/half \udcff"]}, 200),
        ("delete", {**PAGE, "paths": ["/nul \0"]}, 400),
        ("report", {"principal": {}, "days": 0}, 400),
        ("no_such_thing", {}, 404),
        ("__class__", {}, 404),
        ("aclose", {}, 404),
        ("jobs", {}, 404),
        ("jobs.__init__", {}, 404),
    ],
)
async def test_wrong_arguments(http: httpx2.AsyncClient, name: str, body: Any, status: int) -> None:
    content, headers = json.dumps(body).encode(), {**called(name), **JSON}
    response = await http.post(f"/local/call/{name}", content=content, headers=headers)
    assert response.status_code == status
    if status != 200:
        assert set(response.json()["error"]) == {"code", "message", "retry"}
        assert len(response.json()["error"]["message"]) < 400


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"principal": {}, "days": NaN}',
        b'{"principal": {}, "days": 1e999}',
        b'{"principal": {}, "days": -Infinity}',
        b'{"principal": {}, "days": ' + b"9" * 900_000 + b"}",
    ],
)
async def test_bodies_that_are_no_json(http: httpx2.AsyncClient, content: bytes) -> None:
    headers = {**called("report"), "content-type": "application/json"}
    response = await http.post("/local/call/report", content=content, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_request"


async def test_a_form_of_a_web_page_is_refused(http: httpx2.AsyncClient) -> None:
    headers = {**called("overview"), "content-type": "text/plain"}
    response = await http.post("/local/call/overview", content=b"{}", headers=headers)
    assert response.status_code == 400
    assert "application/json" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/local/ask"),
        ("POST", "/local/ingest"),
        ("GET", "/local/overview"),
        ("GET", "/local/collections?tenant=default&user=local"),
        ("POST", "/local/jobs/list"),
        ("POST", "/local/backup"),
    ],
)
async def test_an_earlier_command_is_told_to_be_updated(
    http: httpx2.AsyncClient, service: FakeService, method: str, path: str
) -> None:
    body = {"question": "q"} if method == "POST" else None
    response = await http.request(method, path, json=body, headers=TOKEN)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (409, "version_mismatch")
    assert error["message"] == (
        f"The server is Ragstone {__version__}, and what calls it is an earlier Ragstone. "
        "Use the same version for both: update the command, or stop the server and start it again."
    )
    assert not service.asked
    assert not service.ingested


async def test_a_command_that_means_another_thing_by_the_name_is_refused(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    headers = {**called("ask"), OPERATION_HEADER: "other", VERSION_HEADER: "9.9"}
    response = await http.post("/local/call/ask", json={"ask": {"question": "q"}}, headers=headers)
    assert response.status_code == 409
    assert "what calls it is Ragstone 9.9." in response.json()["error"]["message"]
    assert not service.asked


async def test_a_newer_command_with_an_unknown_operation_is_told_both_versions(
    http: httpx2.AsyncClient,
) -> None:
    headers = {**called("fly"), VERSION_HEADER: "9.9"}
    response = await http.post("/local/call/fly", json={}, headers=headers)
    message = response.json()["error"]["message"]
    assert (response.status_code, response.json()["error"]["code"]) == (404, "unknown_operation")
    assert message.startswith("There is no operation 'fly'. The server is Ragstone ")
    assert "Ragstone 9.9" in message


@pytest.fixture(scope="module")
def recorded() -> Recorder:
    return recorder()


@pytest.fixture(scope="module")
def client(recorded: Recorder) -> Iterator[TestClient]:
    app = create_app(as_service(recorded), Settings(), "secret-token")
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("name", operations())
@with_settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), token=st.booleans())
def test_any_arguments(client: TestClient, name: str, data: st.DataObject, token: bool) -> None:
    operation = operations()[name]
    arguments = {name: example(kind) for name, kind in operation.types.items()}
    body = operation.dump(arguments)
    for wrong in data.draw(st.sets(st.sampled_from([*body, "another"]))):
        body[wrong] = data.draw(values)
    headers = {**called(name), **JSON}
    if not token:
        del headers["authorization"]
    content = json.dumps(body).encode()
    response = client.post(f"/local/call/{name}", content=content, headers=headers)
    assert response.status_code in ((200, 400) if token else (200, 400, 401, 403)), response.text
