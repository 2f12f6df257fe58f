"""Files, vector stores and responses of OpenAI's API: what is another's is not there."""

import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.attack.house import House, a_house, told

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = b"# The pay of Bob Zebra\n\nThe pay of Bob Zebra is 71234 euros a year.\n"


@dataclass
class Eva:
    """What Eva of the default tenant has made: all of it is hers, or of her tenant."""

    house: House
    headers: dict[str, str]
    file: str = ""
    store: str = ""
    batch: str = ""
    response: str = ""

    async def send(self, method: str, path: str, body: Any = None, **given: Any) -> Any:
        sent = await self.house.send(self.headers, method, f"/v1{path}", body, **given)
        assert sent.status_code == 200, sent.text
        return sent.json()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def eva(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Eva]:
    async with a_house(tmp_path_factory.mktemp("openai")) as house:
        eva = Eva(house, await house.key("admin", "eva"))
        sent = {"file": ("pay.md", SECRET)}
        eva.file = (await eva.send("POST", "/files", files=sent))["id"]
        eva.store = (await eva.send("POST", "/vector_stores", {"name": "evas"}))["id"]
        batch = {"file_ids": [eva.file]}
        place = f"/vector_stores/{eva.store}"
        eva.batch = (await eva.send("POST", f"{place}/file_batches", batch))["id"]
        while (await eva.send("GET", f"{place}/files/{eva.file}"))["status"] != "completed":
            pass
        question = {"model": "ragstone", "input": "What is the pay of Bob?", "collection": "evas"}
        eva.response = (await eva.send("POST", "/responses", question))["id"]
        yield eva


def attempts(eva: Eva) -> list[tuple[str, str, Any]]:
    """Every request that names something of Eva's but her store alone."""
    file, store, batch = eva.file, eva.store, eva.batch
    return [
        ("GET", f"/files/{file}", None),
        ("GET", f"/files/{file}/content", None),
        ("DELETE", f"/files/{file}", None),
        ("POST", f"/vector_stores/{store}/files", {"file_id": file}),
        ("POST", f"/vector_stores/{store}/file_batches", {"file_ids": [file]}),
        ("POST", "/vector_stores", {"file_ids": [file]}),
        ("GET", f"/vector_stores/{store}/file_batches/{batch}", None),
        ("GET", f"/vector_stores/{store}/file_batches/{batch}/files", None),
        ("POST", f"/vector_stores/{store}/file_batches/{batch}/cancel", None),
        ("GET", f"/responses/{eva.response}", None),
        ("GET", f"/responses/{eva.response}/input_items", None),
        ("POST", f"/responses/{eva.response}/cancel", None),
        ("DELETE", f"/responses/{eva.response}", None),
        (
            "POST",
            "/responses",
            {
                "model": "ragstone",
                "input": "And?",
                "previous_response_id": eva.response,
                "collection": "manuals",
            },
        ),
    ]


def store_attempts(eva: Eva) -> list[tuple[str, str, Any]]:
    """Every request that names Eva's store, which her tenant shares."""
    place, file = f"/vector_stores/{eva.store}", eva.file
    return [
        ("GET", place, None),
        ("POST", place, {"name": "Mine"}),
        ("DELETE", place, None),
        ("POST", f"{place}/search", {"query": "pay"}),
        ("GET", f"{place}/files", None),
        ("GET", f"{place}/files/{file}", None),
        ("GET", f"{place}/files/{file}/content", None),
        ("POST", f"{place}/files/{file}", {"attributes": {}}),
        ("DELETE", f"{place}/files/{file}", None),
    ]


async def test_another_users_files_batches_and_responses_are_not_there(eva: Eva) -> None:
    bob = await eva.house.key("admin", "bob")
    for method, path, body in attempts(eva):
        found = await eva.house.send(bob, method, f"/v1{path}", body)
        assert found.status_code == 404, (method, path, found.text)
        assert not told(found)
    listed = await eva.house.send(bob, "GET", "/v1/files")
    assert listed.json()["data"] == []


async def test_nothing_of_a_tenant_is_there_for_another(eva: Eva) -> None:
    stranger = await eva.house.key("admin", "eva", tenant="other")
    for method, path, body in (*attempts(eva), *store_attempts(eva)):
        found = await eva.house.send(stranger, method, f"/v1{path}", body)
        assert found.status_code == 404, (method, path, found.text)
        assert not told(found)
    for path in ("/v1/files", "/v1/vector_stores"):
        assert (await eva.house.send(stranger, "GET", path)).json()["data"] == []


async def test_a_key_of_other_collections_has_nothing_of_the_same_user(eva: Eva) -> None:
    limited = await eva.house.key("admin", "eva", ["manuals"])
    for method, path, body in (*attempts(eva), *store_attempts(eva)):
        found = await eva.house.send(limited, method, f"/v1{path}", body)
        assert found.status_code in (403, 404), (method, path, found.text)
        assert not told(found)
    assert (await eva.house.send(limited, "GET", "/v1/files")).json()["data"] == []
    another = await eva.house.send(limited, "POST", "/v1/vector_stores", {})
    assert another.status_code == 403


async def test_a_reader_changes_nothing(eva: Eva) -> None:
    reader = await eva.house.key("reader", "eva")
    writes = [item for item in (*attempts(eva), *store_attempts(eva)) if item[0] != "GET"]
    for method, path, body in writes:
        if path.endswith("/search") or path.startswith("/responses"):
            continue
        found = await eva.house.send(reader, method, f"/v1{path}", body)
        assert found.status_code == 403, (method, path, found.text)
    assert (await eva.house.send(reader, "GET", "/v1/files")).status_code == 403


async def test_strange_ids_and_values_are_refused_in_openais_form(eva: Eva) -> None:
    ids = ("...", "file-" + "g" * 32, "%00", "a" * 300, "\u202e", "resp_" + "0" * 65)
    places = (
        "/files/{}",
        "/files/{}/content",
        "/vector_stores/{}",
        "/vector_stores/evas/files/{}",
        "/vector_stores/evas/files/{}/content",
        "/vector_stores/evas/file_batches/{}",
        "/vector_stores/evas/file_batches/{}/files",
        "/responses/{}",
        "/responses/{}/input_items",
        "/models/{}",
    )
    for place, id in itertools.product(places, ids):
        found = await eva.house.send(eva.headers, "GET", f"/v1{place.format(id)}")
        assert found.status_code in (400, 404), (place, id, found.text)
        assert set(found.json()["error"]) == {"message", "type", "param", "code"}
    bodies: list[tuple[str, Any]] = [
        ("/vector_stores", {"metadata": {str(n): "" for n in range(17)}}),
        ("/vector_stores", {"expires_after": {"anchor": "last_active_at", "days": 10**9}}),
        ("/vector_stores", {"name": "\ud800"}),
        ("/vector_stores", {"name": "\u0000"}),
        ("/vector_stores/evas", {"metadata": None, "name": ["a"]}),
        ("/vector_stores/evas/files", {"file_id": eva.file, "attributes": {"a": 1e999}}),
        ("/vector_stores/evas/files", {"file_id": eva.file, "attributes": {"\u0000": "a"}}),
        ("/vector_stores/evas/file_batches", {"file_ids": ["a"] * 2001}),
        ("/vector_stores/evas/file_batches", {"files": [{"file_id": 5}]}),
        ("/completions", {"model": "ragstone", "prompt": [[1], [2]]}),
        ("/completions", {"model": "ragstone", "prompt": [10**30]}),
    ]
    for path, body in bodies:
        # Half characters and numbers out of range, which the client would not write.
        headers = {**eva.headers, "content-type": "application/json"}
        written = json.dumps(body).encode()
        found = await eva.house.send(headers, "POST", f"/v1{path}", content=written)
        assert found.status_code in (400, 404, 422), (path, body, found.text)
        assert found.json()["error"]["message"]


async def test_all_of_it_is_still_eva_s(eva: Eva) -> None:
    for method, path, _ in (*attempts(eva), *store_attempts(eva)):
        if method == "GET":
            found = await eva.house.send(eva.headers, method, f"/v1{path}")
            assert found.status_code == 200, (path, found.text)


async def test_the_files_of_a_user_who_is_forgotten_are_gone(eva: Eva) -> None:
    headers = await eva.house.key("admin", "gone")
    sent = {"file": ("pay.md", SECRET)}
    file = await eva.house.send(headers, "POST", "/v1/files", files=sent)
    assert file.status_code == 200

    forgotten = await eva.house.send(headers, "POST", "/api/v1/conversations/forget", {})

    assert forgotten.status_code == 200, forgotten.text
    headers = await eva.house.key("admin", "gone")
    assert (await eva.house.send(headers, "GET", "/v1/files")).json()["data"] == []
    assert (await eva.house.send(eva.headers, "GET", "/v1/files")).json()["data"]
