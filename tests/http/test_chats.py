"""The chats of the RAG Pipeline V5: golden transcripts, documents of a chat, bad uploads."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource, aconnect_sse

from ragstone import build
from ragstone.core.caller import LOCAL, Caller
from ragstone.core.errors import UnknownCollection
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.ingest.uploads import MAX_NAME_BYTES, plain_name
from ragstone.local import Ragstone
from ragstone.plugins.chats.routes import ChatsMessage
from ragstone.settings import DialectSettings, Settings
from tests.fake_service import FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.in_turn import in_turn
from tests.patience import PATIENCE

HERE = "http://127.0.0.1"
OST = b"The lighthouse of Ost was built in 1871. It is 34 metres high."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(create_app(FakeService(), Settings(), "token")) as address:
        yield address


@pytest.mark.parametrize("file", transcripts("chats"), ids=lambda file: file.stem)
@pytest.mark.conforms("V5", "API Endpoints", "Chat stream: token, sources, done with is_grounded")
def test_transcript(url: str, file: Path) -> None:
    replayed(url, file)


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
async def http(ragstone: Ragstone, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(ragstone_data=tmp_path / "data")
    transport = httpx.ASGITransport(create_app(ragstone, settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=PATIENCE) as client:
        yield client


async def uploaded(http: httpx.AsyncClient, chat: str, *files: tuple[str, bytes]) -> Any:
    parts = [("files", file) for file in files]
    response = await http.post(f"/chat/{chat}/documents", files=parts)
    assert response.status_code == 200, response.text
    return response.json()


async def told(http: httpx.AsyncClient, chat: str, message: str) -> list[Any]:
    body = {"message": message}
    async with aconnect_sse(http, "POST", f"/chat/{chat}/stream", json=body) as source:
        return [event.json() async for event in EventSource(source.response).aiter_sse()]


@pytest.mark.conforms("V5", "API Endpoints", "Upload: uploaded with id, name, chunk_count; failed")
@pytest.mark.conforms("V5", "Collection Naming", "chat_{chat_id} holds the documents of one chat")
async def test_given_files_then_the_chat_answers_from_them_and_no_other_does(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    found = await uploaded(
        http, "lights", ("ost.txt", OST), ("bad.pdf", b"no pdf"), ("x.exe", b"MZ")
    )
    [document] = found["uploaded"]
    assert (document["name"], document["chunk_count"]) == ("ost.txt", 1)
    failed = {item["name"]: item["error"] for item in found["failed"]}
    assert sorted(failed) == ["bad.pdf", "x.exe"]
    assert "bad.pdf" in failed["bad.pdf"]
    assert not [file for file in (tmp_path / "data" / "spool").rglob("*") if file.is_file()]

    events = await told(http, "lights", "When was the lighthouse of Ost built?")
    assert "1871" in "".join(event["content"] for event in events if event["type"] == "token")
    assert [event["type"] for event in events[-2:]] == ["sources", "done"]
    assert events[-2]["sources"][0]["name"] == "ost.txt"
    assert events[-1]["is_grounded"] is True

    other = await told(http, "others", "When was the lighthouse of Ost built?")
    assert "1871" not in str(other)
    assert other[-2]["sources"] == []

    listed = (await http.get("/chat/lights/documents")).json()["documents"]
    assert [item["name"] for item in listed if item["status"] != "failed"] == ["ost.txt"]


async def test_given_the_same_name_again_then_it_replaces(http: httpx.AsyncClient) -> None:
    [first] = (await uploaded(http, "c", ("ost.txt", OST)))["uploaded"]
    new = b"The lighthouse of Ost was built in 1999."
    [second] = (await uploaded(http, "c", ("dir/ost.txt", new)))["uploaded"]
    assert first["id"] == second["id"]
    assert (await http.get("/chat/c/documents")).json()["total"] == 1
    said = str(await told(http, "c", "When was the lighthouse of Ost built?"))
    assert "1999" in said
    assert "1871" not in said


async def test_given_two_of_a_name_in_one_upload_then_the_last_stays(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    found = await uploaded(http, "c", ("a.txt", b"First one."), ("a.txt", b"Second one."))
    assert len(found["uploaded"]) == 1
    assert "Second" in str(await told(http, "c", "Second one?"))
    assert not [file for file in (tmp_path / "data" / "spool").rglob("*") if file.is_file()]


async def test_given_metadata_with_an_upload_then_its_documents_have_it(
    http: httpx.AsyncClient, ragstone: Ragstone
) -> None:
    files = [("files", ("a.txt", b"Bees make honey."))]
    said = {"metadata": '{"year": 2023, "tags": ["a", "b"]}'}
    response = await http.post("/chat/c/documents", files=files, data=said)
    assert response.json()["failed"] == []
    found = await ragstone.reading.facets(Principal(), "chat_c")
    assert {item.key: [v.value for v in item.values] for item in found} == {
        "tags": ["a", "b"],
        "year": [2023],
    }


@in_turn("metadata", ["[1]", "{", '{"a": {"b": 1}}', "[" * 50_000])
async def test_given_metadata_that_is_no_object_then_the_upload_is_refused(
    http: httpx.AsyncClient, metadata: str
) -> None:
    files = [("files", ("a.txt", b"Bees make honey."))]
    response = await http.post("/chat/c/documents", files=files, data={"metadata": metadata})
    assert response.status_code == 400
    assert "metadata" in response.json()["error"]["message"]


async def test_given_a_document_is_deleted_then_nothing_answers(http: httpx.AsyncClient) -> None:
    found = await uploaded(http, "c", ("ost.txt", OST), ("b.txt", b"Bees make honey."))
    by_id = found["uploaded"][0]["id"]
    assert (await http.delete(f"/chat/c/documents/{by_id}")).json()["deleted"] == 1
    assert (await http.delete("/chat/c/documents/nothing.txt")).status_code == 404
    assert (await http.delete("/chat/c/documents")).json() == {"deleted": 1}
    assert (await http.delete("/chat/c/documents")).json() == {"deleted": 0}
    assert (await http.get("/chat/c/documents")).json() == {"documents": [], "total": 0}
    assert "honey" not in str(await told(http, "c", "What do bees make?"))


async def test_given_a_name_that_leads_elsewhere_then_only_its_end_counts(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    names = ("../../../evil.txt", "..\\..\\evil2.txt", "/etc/evil3.txt", "a\x00\n.txt")
    found = await uploaded(http, "c", *((name, b"Text here.") for name in names))
    assert {item["name"] for item in found["uploaded"]} >= {"evil.txt", "evil2.txt", "evil3.txt"}
    assert not list(tmp_path.glob("evil*"))


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("a.txt", "a.txt"),
        ("../a.txt", "a.txt"),
        ("C:\\x\\a.txt", "a.txt"),
        (" .hidden.txt", "hidden.txt"),
        ("a\x1b[31m.txt", "a[31m.txt"),
        ("...", ""),
        ("", ""),
        ("\ud800.txt", "?.txt"),
    ],
)
def test_plain_names(given: str, plain: str) -> None:
    assert plain_name(given) == plain


def test_given_a_long_name_then_it_keeps_its_ending() -> None:
    name = plain_name("ü" * 500 + ".txt")
    assert name.endswith(".txt")
    assert len(name.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize(
    "chat", ["-x", "a b", "ä", "x" * 129, ".hidden", "%00", "a%2Fb", "..%2f..", "%F0%9F%98%80"]
)
async def test_given_a_bad_chat_id_then_it_is_refused(url: str, chat: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        streamed = await client.post(f"/chat/{chat}/stream", json={"message": "q"})
        listed = await client.get(f"/chat/{chat}/documents")
    assert streamed.status_code in (404, 422)
    assert listed.status_code in (404, 422)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": None},
        {"message": ["q"]},
        {"message": "x" * 20_001},
        {"message": "q", "session_id": ""},
        {"message": "q", "session_id": 7},
        {"message": "q", "session_id": "x" * 129},
    ],
)
async def test_given_a_bad_message_then_422(url: str, body: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        response = await client.post("/chat/known/stream", json=body)
    assert response.status_code == 422
    assert response.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"junk", "multipart/form-data"),
        (b'{"files":["a"]}', "application/json"),
        (b"files=a", "application/x-www-form-urlencoded"),
        (
            b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\ntext\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="other"; filename="a.txt"\r\n\r\nt\r\n'
            b"--x--\r\n",
            "multipart/form-data; boundary=x",
        ),
    ],
)
async def test_given_no_files_then_a_clear_error(url: str, content: bytes, kind: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        response = await client.post(
            "/chat/known/documents", content=content, headers={"content-type": kind}
        )
    assert response.status_code in (400, 422)
    assert response.json()["error"]["message"]


async def test_given_too_many_files_then_422(url: str) -> None:
    parts = [("files", (f"{n}.txt", b"x")) for n in range(101)]
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        response = await client.post("/chat/known/documents", files=parts)
    assert response.status_code == 422


async def test_given_a_client_that_leaves_then_the_answer_ends() -> None:
    service = FakeService()
    with running(create_app(service, Settings(), "token")) as url:
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            body = {"message": "endless"}
            async with aconnect_sse(client, "POST", "/chat/known/stream", json=body) as source:
                async for _ in source.aiter_sse():
                    break
        for _ in range(100):
            if service.closed:
                break
            await asyncio.sleep(0.05)
    assert service.closed == ["endless"]


@pytest.mark.conforms("V5", "Collection Naming", "session_{session_id} holds the memory")
@pytest.mark.conforms("V5", "Flow 8", "The conversation is kept by session")
def test_given_a_message_then_the_session_is_the_room() -> None:
    ask = ChatsMessage(message="q", session_id="user-abc-123").ask("c1", LOCAL)
    assert (ask.collection, ask.room) == ("chat_c1", "session_user-abc-123")
    assert ChatsMessage(message="q").ask("c1", LOCAL).room == "session_c1"


def test_given_a_credential_for_some_collections_then_other_chats_do_not_exist() -> None:
    caller = Caller(Principal("acme", "ann"), "reader", ("chat_c1",), "k")
    assert ChatsMessage(message="q").ask("c1", caller).principal == caller.principal
    with pytest.raises(UnknownCollection):
        ChatsMessage(message="q").ask("c2", caller)


async def test_given_the_dialect_is_off_then_it_is_not_there() -> None:
    settings = Settings(dialects=DialectSettings(off=("chats",)))
    transport = httpx.ASGITransport(create_app(FakeService(), settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        assert (await client.get("/chat/known/documents")).status_code == 404
