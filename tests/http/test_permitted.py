"""Ragstone's own protocol with an ordinary credential: what the contract allows its role, as
itself, in its tenant, within its collections, and without the server's files."""

import io
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI

from ragstone import __version__, build
from ragstone.core.caller import ROLES, Role
from ragstone.core.conversation import ConversationKey
from ragstone.core.records import Document
from ragstone.core.turn import Ask, Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.local.keys import LocalKeys
from ragstone.service import Handed, IngestRequest
from ragstone.service.contract import Operation, operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from ragstone.settings import ServerSettings, Settings
from tests.credentials import MemoryKeys, a_key, bearer
from tests.memory_store import MemoryNames
from tests.patience import PATIENCE
from tests.wire_values import Recorder, as_service, example, items, recorder

ALLOWED = [operation for operation in operations().values() if operation.allowed]
EVA = Principal("acme", "eva", ("staff",))
OPEN = "open"


def named(operation: Operation) -> str:
    return operation.name


def headers(operation: Operation, secret: str = "") -> dict[str, str]:
    versions = {VERSION_HEADER: __version__, OPERATION_HEADER: operation.fingerprint}
    credential = bearer(secret) if secret else {}
    return {**versions, **credential, "content-type": "application/json"}


async def call(
    http: httpx2.AsyncClient, operation: Operation, arguments: dict[str, Any], secret: str = ""
) -> httpx2.Response:
    content = json.dumps(operation.dump(arguments)).encode()
    path = f"/local/call/{operation.name}"
    return await http.post(path, content=content, headers=headers(operation, secret))


def harmless(operation: Operation, collection: str = OPEN) -> dict[str, Any]:
    """Arguments that name somebody else, but no file of the server and no foreign collection."""
    given = {name: example(kind) for name, kind in operation.types.items()}
    return {name: _harmless(name, value, collection) for name, value in given.items()}


def _harmless(name: str, value: Any, collection: str) -> Any:
    if name == "collection":
        return collection
    if name == "admin":
        return False
    if name == "tenant":
        return ""
    if isinstance(value, IngestRequest):
        return replace(value, paths=(), only=(), prune=False, handed=(), collection=collection)
    return replace(value, collection=collection) if isinstance(value, Ask) else value


def inside(value: Any) -> Iterator[Any]:
    """The value, and all that it is made of."""
    yield value
    if isinstance(value, list | tuple):
        for item in value:
            yield from inside(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from inside(getattr(value, field.name))


def a_recorder() -> Recorder:
    made = recorder()
    made.keys = LocalKeys(MemoryKeys(), MemoryNames())
    return made


def an_app(service: Recorder, data: Path) -> FastAPI:
    settings = Settings(ragstone_data=data, server=ServerSettings(max_upload_mb=1))
    return create_app(as_service(service), settings, "operators-token")


def client(app: FastAPI) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", timeout=PATIENCE
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recorder, FastAPI]:
    """A service that many tests give keys to, and its application: making that takes longer than
    most tests."""
    made = a_recorder()
    return made, an_app(made, tmp_path_factory.mktemp("shared"))


@pytest.fixture
def recorded(shared: tuple[Recorder, FastAPI]) -> Recorder:
    shared[0].calls.clear()
    return shared[0]


@pytest.fixture
async def http(shared: tuple[Recorder, FastAPI]) -> AsyncIterator[httpx2.AsyncClient]:
    async with client(shared[1]) as http:
        yield http


@pytest.fixture
def mine() -> Recorder:
    """A service of this test alone."""
    return a_recorder()


@pytest.fixture
async def my_http(mine: Recorder, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with client(an_app(mine, tmp_path)) as http:
        yield http


async def key(
    recorded: Recorder, role: Role = "admin", collections: tuple[str, ...] | None = None
) -> str:
    return await a_key(as_service(recorded), role, "acme", "eva", ("staff",), collections)


@pytest.mark.parametrize("operation", operations().values(), ids=named)
async def test_each_role_may_call_what_the_contract_allows_it(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    for role in ROLES:
        if operation.name.startswith("keys."):
            assert operation.allowed is None
        secret = await key(recorded, role)
        arguments = {} if operation.allowed is None else harmless(operation)
        response = await call(http, operation, arguments, secret)
        least = operation.allowed.role if operation.allowed else None
        may = least is not None and ROLES.index(role) >= ROLES.index(least)
        assert response.status_code == (200 if may else 403), response.text
        assert bool(recorded.calls) is may
        recorded.calls.clear()


@pytest.mark.parametrize("operation", ALLOWED, ids=named)
async def test_whoever_is_named_the_caller_is_who_asks(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    secret = await key(recorded)
    response = await call(http, operation, harmless(operation), secret)
    assert response.status_code == 200, response.text
    [(_, given)] = recorded.calls[-1:]
    for name, value in given.items():
        for part in inside(value):
            if isinstance(part, Principal):
                assert part == EVA
            if isinstance(part, ConversationKey):
                assert (part.tenant, part.user) == ("acme", "eva")
            if isinstance(part, IngestRequest):
                assert (part.tenant, part.by) == ("acme", EVA)
            if isinstance(part, Ask):
                assert part.id.startswith("api-")
        if name == "tenant":
            assert value == "acme"


@pytest.mark.parametrize("operation", [o for o in ALLOWED if "tenant" in o.types], ids=named)
async def test_another_tenant_is_refused(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    secret = await key(recorded)
    arguments = {**harmless(operation), "tenant": "globex"}
    assert (await call(http, operation, arguments, secret)).status_code == 403
    assert not recorded.calls


@pytest.mark.parametrize("operation", [o for o in ALLOWED if "admin" in o.types], ids=named)
async def test_only_an_admin_asks_as_one(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    arguments = {**harmless(operation), "admin": True}
    refused = await call(http, operation, arguments, await key(recorded, "editor"))
    assert refused.status_code == 403
    assert not recorded.calls
    assert (await call(http, operation, arguments, await key(recorded))).status_code == 200


async def test_only_an_admin_lists_the_jobs_of_others(
    http: httpx2.AsyncClient, recorded: Recorder
) -> None:
    operation = operations()["jobs.list"]
    for role, whose in (("reader", EVA), ("admin", None)):
        secret = await key(recorded, role)  # type: ignore[arg-type]
        assert (await call(http, operation, {"tenant": ""}, secret)).status_code == 200
        assert recorded.calls[-1][1]["principal"] == whose


async def test_only_an_admin_deletes_a_whole_collection(
    http: httpx2.AsyncClient, recorded: Recorder
) -> None:
    operation, arguments = operations()["delete"], {"principal": EVA, "collection": OPEN}
    refused = await call(http, operation, arguments, await key(recorded, "editor"))
    assert refused.status_code == 403
    assert not recorded.calls
    assert (await call(http, operation, arguments, await key(recorded))).status_code == 200


@pytest.mark.parametrize("operation", ALLOWED, ids=named)
async def test_a_collection_out_of_reach_is_unknown(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    secret = await key(recorded, "admin", (OPEN,))
    hidden = harmless(operation, "hidden")
    response = await call(http, operation, hidden, secret)
    if hidden != harmless(operation, OPEN):
        assert (response.status_code, response.json()["error"]["code"]) == (
            404,
            "unknown_collection",
        )
        assert not recorded.calls
        assert (await call(http, operation, harmless(operation), secret)).status_code != 404


@pytest.mark.parametrize("operation", ALLOWED, ids=named)
async def test_what_comes_back_is_cut_to_the_collections_in_reach(
    http: httpx2.AsyncClient, recorded: Recorder, operation: Operation
) -> None:
    """The examples that the service returns are about a collection that the key does not reach."""
    foreign = example(str)
    listed = operation.streams or isinstance(example(operation.result), list)
    about = [items(operation)[0]] if operation.streams else [example(operation.result)]
    about = about[0] if isinstance(about[0], list) else about
    if not any(_of(item) == foreign for item in about):
        return
    secret = await key(recorded, "admin", (OPEN,))
    response = await call(http, operation, harmless(operation), secret)
    if response.status_code == 200:
        assert json.dumps(foreign)[1:-1] not in response.text, listed
    else:
        assert response.status_code in (403, 404)


def _of(value: Any) -> Any:
    about = getattr(value, "collection", None) or getattr(
        getattr(value, "notes", None), "collection", None
    )
    return getattr(about, "name", about)


async def test_the_source_of_a_document_is_not_told(
    http: httpx2.AsyncClient, recorded: Recorder
) -> None:
    arguments = {"principal": EVA, "collection": OPEN}
    operation = operations()["documents"]
    found = (await call(http, operation, arguments, await key(recorded))).json()
    assert example(Document).source
    assert [item["source"] for item in found] == [""]


async def test_where_everyone_is_the_local_user_each_is_an_admin_and_not_the_operator(
    my_http: httpx2.AsyncClient, mine: Recorder
) -> None:
    for operation in operations().values():
        may = operation.allowed is not None
        response = await call(my_http, operation, harmless(operation) if may else {})
        assert response.status_code == (200 if may else 401), operation.name
        if may and "principal" in operation.types and operation.name != "jobs.list":
            assert mine.calls[-1][1]["principal"] == Principal()
    files = {"file": ("lamp.md", io.BytesIO(b"# Lamp"))}
    assert (await my_http.post("/local/upload", files=files)).status_code == 200


SERVER_FILES = [
    IngestRequest(("/etc",), OPEN),
    IngestRequest((), OPEN, prune=True),
    IngestRequest((), OPEN, only=("/etc/passwd",)),
    IngestRequest((), OPEN, handed=(Handed("/etc/passwd", "/p.txt", "x"),)),
    IngestRequest((), OPEN, handed=(Handed("../../server.json", "/p.txt", "x"),)),
    IngestRequest((), OPEN, handed=(Handed("", "/p.txt", "x"),)),
    IngestRequest((), OPEN, handed=(Handed("0" * 32, "/p.txt", "x"),)),
]


@pytest.mark.parametrize("request_", SERVER_FILES)
async def test_a_file_of_the_server_is_never_ingested(
    http: httpx2.AsyncClient, recorded: Recorder, request_: IngestRequest
) -> None:
    secret = await key(recorded)
    response = await call(http, operations()["ingest"], {"request": request_}, secret)
    assert response.status_code in (400, 403)
    assert not recorded.calls


async def upload(
    http: httpx2.AsyncClient, secret: str, name: str = "lamp.md", content: bytes = b"# Lamp\n"
) -> httpx2.Response:
    files = {"file": (name, io.BytesIO(content))}
    return await http.post("/local/upload", files=files, headers=bearer(secret))


async def test_an_upload_is_ingested_by_its_owner_alone(
    my_http: httpx2.AsyncClient, mine: Recorder, tmp_path: Path
) -> None:
    own, other = await key(mine, "editor"), await key(mine, "editor")
    handle = (await upload(my_http, own)).json()["file"]
    request = IngestRequest((), OPEN, handed=(Handed(handle, "a/lamp.md", "/etc/passwd"),))
    refused = await call(my_http, operations()["ingest"], {"request": request}, other)
    assert refused.status_code == 400
    assert "no upload" in refused.json()["error"]["message"]
    assert not mine.calls
    taken = await call(my_http, operations()["ingest"], {"request": request}, own)
    assert taken.status_code == 200
    [one] = mine.calls[-1][1]["request"].handed
    assert Path(one.file).read_bytes() == b"# Lamp\n"
    assert Path(one.file).is_relative_to(tmp_path / "spool")
    assert (one.path, one.source) == ("/a/lamp.md", "upload:/a/lamp.md")


async def test_what_the_operator_has_sent_is_ingested_by_its_name(
    my_http: httpx2.AsyncClient, mine: Recorder, tmp_path: Path
) -> None:
    handle = (await upload(my_http, "operators-token")).json()["file"]
    paths = (handle, "/srv/lamp.md")
    request = IngestRequest((), OPEN, handed=tuple(Handed(path, "a.md", "b") for path in paths))
    taken = await call(my_http, operations()["ingest"], {"request": request}, "operators-token")
    assert taken.status_code == 200
    sent, named = mine.calls[-1][1]["request"].handed
    assert Path(sent.file).read_bytes() == b"# Lamp\n"
    assert Path(sent.file).is_relative_to(tmp_path / "spool")
    assert named.file == "/srv/lamp.md"


async def test_uploads_that_are_refused(http: httpx2.AsyncClient, recorded: Recorder) -> None:
    editor = await key(recorded, "editor")
    assert (await upload(http, await key(recorded, "reader"))).status_code == 403
    assert (await upload(http, "unknown")).status_code == 401
    for name in ("lamp.exe", "noending", "..."):
        refused = await upload(http, editor, name)
        assert refused.status_code == 422
        assert "cannot be read" in refused.json()["error"]["message"]
    assert (await upload(http, editor, content=b"x" * 1_100_000)).status_code == 413
    nothing = await http.post("/local/upload", json={}, headers=bearer(editor))
    assert nothing.status_code in (400, 422)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ragstone]:
    folder = tmp_path_factory.mktemp("permitted")
    async with build.open(Settings(ragstone_data=folder / "data")) as service:
        for collection, word in ((OPEN, "zqopen"), ("hidden", "zqsecret")):
            (folder / collection).mkdir()
            (folder / collection / "lamp.md").write_text(f"The code word of the lamp is {word}.")
            request = IngestRequest((str(folder / collection),), collection, "acme")
            async for progress in service.ingest(request):
                assert not progress.failed
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(real: Ragstone) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(real, Settings(ragstone_data=real._data), "operators-token")
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.asyncio(loop_scope="module")
async def test_a_key_of_one_collection_learns_nothing_of_another_by_any_operation(
    real: Ragstone, served: httpx2.AsyncClient
) -> None:
    hidden = Ask("What is the code word of the lamp?", EVA, "hidden", room="r1")
    said = [event async for event in real.ask(hidden)]
    assert "zqsecret" in str(said[-1])
    job = await real.jobs.ask(hidden)
    async for _ in real.jobs.watch(EVA, job.id):
        pass
    [document] = await real.documents(EVA, "hidden")
    secret = await a_key(real, "admin", "acme", "eva", ("staff",), (OPEN,))
    whole = await a_key(real, "admin", "acme", "eva", ("staff",))
    asks = replace(hidden, room=None)
    by_name: dict[str, Any] = {
        "ask": asks,
        "conversation": ConversationKey("acme", "eva", "r1"),
        "id": job.id,
        "path": document.id,
        "paths": [document.id],
        "request": IngestRequest((), "hidden"),
        "offset": 0,
        "limit": 100,
        "kind": None,
        "state": None,
        "form": "json",
        "user_id": None,
        "text": "[]",
        "tenant": "",
        "admin": True,
        "search_type": "rag",
        "age": 0.0,
        "key": "",
        "after": 0,
    }
    order = sorted(ALLOWED, key=lambda item: item.name in ("jobs.clean", "conversations.forget"))
    leaked = set()
    for operation in order:
        for collection in ("hidden", OPEN):
            given = {
                name: collection if name == "collection" else by_name.get(name, example(kind))
                for name, kind in operation.types.items()
            }
            if operation.name in ("conversations.delete", "conversations.forget", "delete"):
                continue
            answer = await call(served, operation, given, secret)
            assert answer.status_code < 500
            assert "zqsecret" not in answer.text, operation.name
            if (
                collection == "hidden"
                and "zqsecret" in (await call(served, operation, given, whole)).text
            ):
                leaked.add(operation.name)
    assert {"ask", "search", "reading.read", "conversations.entries", "jobs.get"} <= leaked


@pytest.mark.asyncio(loop_scope="module")
async def test_an_upload_becomes_a_document_but_takes_no_place_that_its_sender_cannot_see(
    real: Ragstone, served: httpx2.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "boss").mkdir()
    (tmp_path / "boss" / "plan.md").write_text("The plan is secret.")
    boss = IngestRequest((str(tmp_path / "boss"),), OPEN, "acme", ("user:boss",))
    async for _ in real.ingest(boss):
        pass
    secret = await a_key(real, "editor", "acme", "eva", ("staff",))
    ends = {}
    for path in ("/boss/plan.md", "/open/lamp.md", "/new/torch.md"):
        handle = (await upload(served, secret, "t.md", b"The torch is zqnew.")).json()["file"]
        request = IngestRequest((), OPEN, handed=(Handed(handle, path, ""),))
        response = await call(served, operations()["ingest"], {"request": request}, secret)
        ends[path] = json.loads(response.text.split("data: ")[-2].partition("\n")[0])
    for taken in ("/boss/plan.md", "/open/lamp.md"):
        [failure] = ends[taken]["failed"]
        assert (
            failure["reason"] == f"{taken} is the place of another document. Choose another path."
        )
    assert (ends["/new/torch.md"]["indexed"], ends["/new/torch.md"]["failed"]) == (1, [])
    found = await call(
        served, operations()["search"], {"ask": Ask("torch", collection=OPEN)}, secret
    )
    assert "zqnew" in found.text
    jobs = (await call(served, operations()["jobs.list"], {"tenant": ""}, secret)).json()
    assert {job["user"] for job in jobs if job["kind"] == "ingest"} == {"eva"}
