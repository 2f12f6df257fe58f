"""Who may read a document is changed by administrators alone, and what was told before goes with
it at once, in whatever form it was kept."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import __version__
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from tests.attack.house import LOCAL, OPERATOR, House, a_house
from tests.credentials import bearer

PAY = "What is the pay of Bob Zebra?"
READERS = "/api/v1/collections/hr/readers"
FOLDERS = "/api/v1/collections/hr/folder-readers"
BOARD = ["group:board"]


def told(response: httpx2.Response) -> bool:
    """Whether a response says what the pay is; the question alone does not."""
    return "71234" in response.text


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as house:
        yield house


async def call(house: House, headers: dict[str, str], name: str, **given: Any) -> httpx2.Response:
    version = {
        VERSION_HEADER: __version__,
        OPERATION_HEADER: operations()[name].fingerprint,
    }
    return await house.send({**headers, **version}, "POST", f"/local/call/{name}", given)


async def seen(house: House, headers: dict[str, str], room: str) -> list[str]:
    """The responses that tell a caller of the document, by every way to it and to what was said."""
    principal = {"tenant": "default", "user": "", "groups": []}
    found = [
        await house.ask(headers, PAY, "", "hr"),
        await house.ask(headers, "And what was that again?", room, "hr"),
        await house.send(headers, "GET", "/api/v1/conversations"),
        await house.send(headers, "GET", f"/api/v1/conversations/{room}"),
        await house.send(headers, "GET", f"/api/v1/conversations/{room}?export=markdown"),
        await house.send(headers, "GET", f"/v2/rag/query?room_id={room}"),
        await house.send(headers, "GET", "/api/v1/traces"),
        await house.send(headers, "GET", "/api/v1/collections/hr/facets"),
        await house.send(headers, "GET", "/api/v1/collections/hr/graph"),
        await house.send(headers, "GET", f"{READERS}?path=/hr/pay.md"),
        await call(house, headers, "documents", principal=principal, collection="hr"),
        await call(house, headers, "search", ask={"question": PAY, "collection": "hr"}),
        await call(
            house,
            headers,
            "reading.read",
            principal=principal,
            collection="hr",
            path="/hr/pay.md",
            offset=0,
            limit=1000,
        ),
    ]
    return [str(response.request.url) for response in found if told(response)]


async def test_whom_a_document_is_taken_from_finds_nothing_of_it_any_more(house: House) -> None:
    eva, board = await house.key(), await house.key(user="ben", groups=["board"])
    admin = await house.key("admin", "root")
    for _ in range(2):  # The second answer is the cache's.
        assert told(await house.ask(eva, PAY, "room-1", "hr"))
    assert told(await house.ask(board, PAY, "room-2", "hr"))
    assert len(await seen(house, eva, "room-1")) >= 5

    body = {"readers": BOARD, "paths": ["/hr/pay.md"]}
    changed = await house.send(admin, "PUT", READERS, body)

    assert changed.json() == {"documents": 1}
    assert await seen(house, eva, "room-1") == []
    assert told(await house.ask(board, PAY, "", "hr"))
    assert told(await house.send(board, "GET", "/api/v1/conversations/room-2"))


async def test_whom_a_document_is_given_back_finds_it_and_what_was_said_again(house: House) -> None:
    eva, admin = await house.key(), await house.key("admin", "root")
    assert told(await house.ask(eva, PAY, "room-1", "hr"))
    for readers in (BOARD, []):
        body = {"readers": readers, "below": "/hr"}
        assert (await house.send(admin, "PUT", READERS, body)).json() == {"documents": 2}
    assert told(await house.ask(eva, PAY, "", "hr"))
    assert told(await house.send(eva, "GET", "/api/v1/conversations/room-1"))


@pytest.mark.parametrize("paths", [["/hr/pay.md"], None])
async def test_what_was_taken_from_somebody_stays_closed_when_it_is_deleted(
    house: House, paths: list[str] | None
) -> None:
    eva, board = await house.key(), await house.key(user="ben", groups=["board"])
    admin = await house.key("admin", "root", groups=["board"])
    assert told(await house.ask(eva, PAY, "room-1", "hr"))
    assert told(await house.ask(board, PAY, "room-2", "hr"))
    body = {"readers": BOARD, "paths": ["/hr/pay.md"]}
    assert (await house.send(admin, "PUT", READERS, body)).json() == {"documents": 1}

    principal = {"tenant": "default", "user": "root", "groups": ["board"]}
    await call(house, admin, "delete", principal=principal, collection="hr", paths=paths)

    assert not told(await house.ask(board, PAY, "", "hr")), "it is deleted"
    assert await seen(house, eva, "room-1") == []
    assert told(await house.send(board, "GET", "/api/v1/conversations/room-2"))


async def test_who_is_forgotten_is_no_last_reader_and_others_stay(house: House) -> None:
    eva, board = await house.key(), await house.key(user="ben", groups=["board"])
    admin = await house.key("admin", "root", groups=["board"])
    for headers, room in ((eva, "room-1"), (board, "room-2")):
        assert told(await house.ask(headers, PAY, room, "hr"))
    body = {"readers": ["user:eva", *BOARD], "paths": ["/hr/pay.md"]}
    assert (await house.send(admin, "PUT", READERS, body)).json() == {"documents": 1}
    principal = {"tenant": "default", "user": "root", "groups": ["board"]}
    found = await call(house, admin, "documents", principal=principal, collection="hr")
    [id] = [item["id"] for item in found.json() if item["path"] == "/hr/pay.md"]
    await call(house, admin, "delete", principal=principal, collection="hr", paths=["/hr/pay.md"])

    forgotten = await house.send(admin, "POST", "/api/v1/conversations/forget", {"user": "eva"})

    assert forgotten.status_code == 200, forgotten.text
    catalog = house.service._adapters.catalog
    assert await catalog.find_readers([id]) == {id: ("group:board",)}
    assert told(await house.send(board, "GET", "/api/v1/conversations/room-2"))


async def test_a_closed_folder_and_a_closed_collection_close_what_is_there_and_comes(
    house: House,
) -> None:
    eva, admin = await house.key(), await house.key("admin", "root")
    for folder in ("/hr", ""):
        body = {"folder": folder, "readers": BOARD}
        assert (await house.send(admin, "PUT", FOLDERS, body)).status_code == 200
        assert not told(await house.ask(eva, PAY, "", "hr"))
        body = {"folder": folder, "readers": []}
        await house.send(admin, "PUT", FOLDERS, body)
        assert told(await house.ask(eva, PAY, "", "hr"))


@pytest.mark.parametrize("role", ["reader", "editor"])
async def test_who_is_no_administrator_changes_no_readers(house: House, role: Any) -> None:
    headers = await house.key(role, groups=["board"])
    principal = {"tenant": "default", "user": "root", "groups": []}
    given = {"principal": principal, "collection": "hr"}
    refused = [
        await house.send(headers, "PUT", READERS, {"readers": BOARD, "paths": ["/hr/pay.md"]}),
        await house.send(headers, "PUT", FOLDERS, {"folder": "", "readers": BOARD}),
        await house.send(headers, "GET", FOLDERS),
        await call(house, headers, "readers.give", **given, readers=["*"], paths=["/hr/pay.md"]),
        await call(house, headers, "readers.set_folder", **given, folder="", readers=["*"]),
        await call(house, headers, "readers.folders", **given),
        await call(house, headers, "readers.explain", **given, path="/hr/pay.md", admin=True),
    ]
    assert {response.status_code for response in refused} == {403}
    assert told(await house.ask(await house.key(), PAY, "", "hr"))


async def test_an_administrator_of_another_collection_or_tenant_finds_none(house: House) -> None:
    elsewhere = [
        await house.key("admin", "root", ["manuals"]),
        await house.key("admin", "root", tenant="acme"),
    ]
    for headers in elsewhere:
        for response in (
            await house.send(headers, "PUT", READERS, {"readers": BOARD, "below": "/hr"}),
            await house.send(headers, "GET", f"{READERS}?path=/hr/pay.md"),
            await house.send(headers, "GET", FOLDERS),
        ):
            assert response.status_code == 404
    assert told(await house.ask(await house.key(), PAY, "", "hr"))


async def test_who_may_not_read_a_document_learns_no_more_of_it_than_of_one_that_is_none(
    house: House,
) -> None:
    admin, eva = await house.key("admin", "root"), await house.key()
    await house.send(admin, "PUT", READERS, {"readers": BOARD, "paths": ["/hr/pay.md"]})
    hidden = await house.send(eva, "GET", f"{READERS}?path=/hr/pay.md")
    missing = await house.send(eva, "GET", f"{READERS}?path=/hr/low.md")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("pay.md", "low.md") == missing.text


async def test_an_editor_that_uploads_a_document_anew_opens_it_to_nobody(house: House) -> None:
    admin, eva = await house.key("admin", "root"), await house.key()
    editor = await house.key("editor", "ben", groups=["board"])
    await house.send(admin, "PUT", FOLDERS, {"folder": "/hr", "readers": BOARD})
    for path, readers in (
        ("/hr/pay.md", ["*"]),
        ("/hr/new.md", ["*"]),
        ("/hr/new.md", ["user:eva"]),
    ):
        file = {"file": ("pay.md", b"The pay of Bob Zebra is 71234 euros.")}
        sent = await house.send(editor, "POST", "/local/upload", files=file)
        handle = sent.json()["file"]
        handed = {"file": handle, "path": path, "source": "x", "allowed": readers}
        request = {"collection": "hr", "tenant": "default", "handed": [handed]}
        await call(house, editor, "ingest", request=request)
        assert await seen(house, eva, "room-1") == []


async def test_a_guest_learns_nothing_of_readers(tmp_path: Path) -> None:
    async with a_house(tmp_path, token=LOCAL) as house:
        mine = bearer(LOCAL)
        assert told(await house.ask({}, PAY, "", "hr"))
        for path in (f"{READERS}?path=/hr/pay.md", FOLDERS):
            assert (await house.send({}, "GET", path)).status_code == 401
        body = {"readers": BOARD, "paths": ["/hr/pay.md"]}
        assert (await house.send({}, "PUT", READERS, body)).status_code == 401
        assert (await house.send(mine, "PUT", READERS, body)).status_code == 200
        assert not told(await house.ask({}, PAY, "", "hr"))
        said = (await house.send(mine, "GET", f"{READERS}?path=/hr/pay.md")).json()
        assert json.dumps(said["reasons"]).count("group:board") == 1


async def test_the_operator_alone_lists_shows_and_deletes_what_is_closed_to_others(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        admin = await house.key("admin", "root")
        body = {"readers": BOARD, "below": "/hr"}
        assert (await house.send(admin, "PUT", READERS, body)).json() == {"documents": 2}
        given = {"principal": {}, "collection": "hr", "operator": True}
        shown = {**given, "path": "/hr/pay.md", "offset": 0, "limit": 1000}

        for headers in (await house.key(), await house.key("editor", "ed"), admin):
            assert (await call(house, headers, "documents", **given)).json() == []
            found = await call(house, headers, "reading.read", **shown)
            assert found.status_code == 404
            gone = await call(house, headers, "delete", **given, paths=["/hr/pay.md"])
            assert gone.status_code in (403, 404)

        operator = bearer(OPERATOR)
        listed = await call(house, operator, "documents", **given)
        assert [item["path"] for item in listed.json()] == ["/hr/board.md", "/hr/pay.md"]
        summaries = await call(house, operator, "collections", principal={}, operator=True)
        assert {item["collection"]["name"]: item["documents"] for item in summaries.json()} == {
            "hr": 2,
            "manuals": 1,
        }
        assert told(await call(house, operator, "reading.read", **shown))
        gone = await call(house, operator, "delete", **given, paths=["/hr/pay.md"])
        assert gone.json() == 1
        assert (await call(house, operator, "delete", **given)).json() == 1
