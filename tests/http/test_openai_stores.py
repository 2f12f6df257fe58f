"""Files, vector stores and tokens as the official client speaks of them."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from ragstone.core.turn import Principal
from ragstone.local import Ragstone
from ragstone.plugins.responses import disposal
from ragstone.plugins.responses.contract import VECTOR_STORES
from tests.http.open_documents import OpenDocuments, opened
from tests.in_turn import in_turn
from tests.patience import PATIENCE

TEXT = b"# Ferry\n\nThe ferry to Ost leaves at 9:40 every morning from pier 7.\n"


@pytest.fixture
async def documents(tmp_path: Path, indexed_documents: Path) -> AsyncIterator[OpenDocuments]:
    async with opened(indexed_documents, tmp_path) as documents:
        yield documents


async def test_a_program_for_file_search_runs_unchanged(documents: OpenDocuments) -> None:
    client = documents.openai
    store = await client.vector_stores.create(name="ferries")
    file = await client.files.create(file=("ferry.md", TEXT), purpose="assistants")
    assert (file.bytes, file.filename) == (len(TEXT), "ferry.md")

    put = await client.vector_stores.files.create_and_poll(
        vector_store_id=store.id, file_id=file.id, attributes={"year": 2024}
    )
    assert (put.status, put.id, put.attributes) == ("completed", file.id, {"year": 2024})
    assert [item.id async for item in client.vector_stores.files.list(store.id)] == [file.id]
    assert (await client.vector_stores.retrieve(store.id)).file_counts.completed == 1

    found = await client.vector_stores.search(
        store.id,
        query="When does the ferry leave?",
        filters={"type": "gte", "key": "year", "value": 2024},
    )
    assert found.data[0].file_id == file.id
    assert "9:40" in found.data[0].content[0].text
    none = {"type": "lt", "key": "year", "value": 2024}
    assert not (await client.vector_stores.search(store.id, query="ferry", filters=none)).data
    response = await client.responses.create(
        model="ragstone",
        input="When does the ferry to Ost leave?",
        tools=[{"type": "file_search", "vector_store_ids": [store.id]}],
    )
    assert "9:40" in response.output_text
    assert response.output[1].content[0].annotations[-1].file_id == file.id

    await client.vector_stores.delete(store.id)
    with pytest.raises(openai.NotFoundError):
        await client.vector_stores.retrieve(store.id)


async def test_a_file_stays_a_file_until_it_is_deleted_and_then_is_nowhere(
    documents: OpenDocuments,
) -> None:
    client = documents.openai
    file = await client.files.create(file=("ferry.md", TEXT), purpose="assistants")
    stores = [await client.vector_stores.create(name=name) for name in ("one", "two")]
    files = client.vector_stores.files
    for store in stores:
        await files.create_and_poll(vector_store_id=store.id, file_id=file.id)

    await files.delete(file.id, vector_store_id="one")

    assert (await client.files.content(file.id)).read() == TEXT
    assert [item.id async for item in client.files.list()] == [file.id]
    assert [item.id async for item in files.list("one")] == []
    with pytest.raises(openai.NotFoundError):
        await files.retrieve(file.id, vector_store_id="one")

    await files.create_and_poll(vector_store_id="one", file_id=file.id)
    deleted = await client.files.delete(file.id)

    assert (deleted.id, deleted.deleted) == (file.id, True)
    assert [item.id async for item in client.files.list()] == []
    for store in stores:
        assert [item.id async for item in files.list(store.id)] == []
        assert not (await client.vector_stores.search(store.id, query="ferry")).data
    with pytest.raises(openai.NotFoundError):
        await client.files.content(file.id)


async def test_files_are_listed_in_pages_by_purpose_and_time(documents: OpenDocuments) -> None:
    files = documents.openai.files
    made = [
        await files.create(file=("a.md", TEXT), purpose=purpose)
        for purpose in ("assistants", "user_data", "assistants")
    ]
    ids = [item.id for item in made]

    assert [item.id async for item in files.list()] == ids[::-1]
    assert [item.id async for item in files.list(order="asc", limit=1)] == ids
    assert [item.id async for item in files.list(purpose="user_data")] == [ids[1]]
    page = await files.list(order="asc", limit=1, after=ids[0])
    assert ([item.id for item in page.data], page.has_more) == ([ids[1]], True)
    assert (page.model_extra or {})["first_id"] == ids[1]
    assert abs(made[0].created_at - time.time()) < 60


async def test_a_list_can_be_emptied_while_it_is_read(documents: OpenDocuments) -> None:
    client = documents.openai
    for n in range(5):
        await client.files.create(file=(f"{n}.md", TEXT), purpose="assistants")
        await client.vector_stores.create()

    async for file in client.files.list(limit=2):
        await client.files.delete(file.id)
    async for store in client.vector_stores.list(limit=2):
        await client.vector_stores.delete(store.id)

    assert [item async for item in client.files.list()] == []
    assert [item async for item in client.vector_stores.list()] == []


async def test_a_store_is_there_at_once_and_keeps_what_is_said_of_it(
    documents: OpenDocuments,
) -> None:
    stores = documents.openai.vector_stores
    made = await stores.create(
        name="ferries",
        metadata={"team": "ost"},
        description="Of the harbour.",
        expires_after={"anchor": "last_active_at", "days": 7},
    )

    found = await stores.retrieve(made.id)
    assert found == made
    assert (found.metadata, found.expires_after.days) == ({"team": "ost"}, 7)
    assert abs(found.created_at - time.time()) < 60
    assert found.expires_at == found.last_active_at + 7 * 86_400
    assert found.id in [item.id async for item in stores.list()]
    assert not (await stores.search(made.id, query="ferry")).data

    changed = await stores.update(made.id, name="Ferries of Ost", metadata={"team": "west"})
    assert (changed.id, changed.name) == ("ferries", "Ferries of Ost")
    assert changed.metadata == {"team": "west"}
    assert (changed.created_at, changed.expires_after.days) == (made.created_at, 7)
    assert (await stores.update(made.id, expires_after=None)).expires_at is None


async def test_stores_need_no_name_and_may_share_one(documents: OpenDocuments) -> None:
    stores = documents.openai.vector_stores
    made = [await stores.create(), await stores.create(name="a"), await stores.create(name="a")]
    await stores.files.upload_and_poll(vector_store_id=made[2].id, file=("ferry.md", TEXT))

    assert len({item.id for item in made}) == 3
    assert [item.name for item in made] == [made[0].id, "a", "a"]
    counts = [(await stores.retrieve(item.id)).file_counts.total for item in made]
    assert counts == [0, 0, 1]
    listed = [item.id async for item in stores.list(order="asc", limit=1)]
    assert listed[0] == "default"
    assert sorted(listed[1:]) == sorted(item.id for item in made)


async def test_a_store_and_a_file_that_expired_are_deleted(
    documents: OpenDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disposal, "EXPIRY_SECONDS", 0.01)
    client = documents.openai
    service = VECTOR_STORES.of(documents.service)
    file = await client.files.create(
        file=("ferry.md", TEXT),
        purpose="assistants",
        expires_after={"anchor": "created_at", "seconds": 3600},
    )
    assert file.expires_at == file.created_at + 3600
    after = {"anchor": "last_active_at", "days": 1}
    store = await client.vector_stores.create(name="short", expires_after=after)
    await client.vector_stores.create(name="long")
    for name in ("short", "long"):
        await client.vector_stores.files.create_and_poll(file.id, vector_store_id=name)
    about = next((documents.data / "files").glob("*/*/about.json"))
    about.write_text(about.read_text().replace('"expires_at": ', '"expires_at": -'))
    kept = await service.find(Principal(), "short")
    assert kept is not None
    await service.put(replace(kept, active_at=1.0))

    assert (await client.vector_stores.retrieve(store.id)).status == "expired"
    with pytest.raises(openai.NotFoundError):
        await client.files.retrieve(file.id)
    assert isinstance(documents.service, Ragstone)
    await documents.service.start_jobs()
    async with asyncio.timeout(PATIENCE):
        while about.exists():
            await asyncio.sleep(0.01)

    with pytest.raises(openai.NotFoundError):
        await client.vector_stores.retrieve(store.id)
    assert not (await client.vector_stores.search("long", query="ferry")).data


async def test_files_are_put_into_a_store_in_batches(documents: OpenDocuments) -> None:
    client = documents.openai
    batches = client.vector_stores.file_batches
    store = await client.vector_stores.create()
    uploads = [(f"{n}.md", TEXT.replace(b"9:40", b"%d:40" % n)) for n in range(3)]
    uploads.append(("broken.pdf", b"%PDF-1.4 x"))

    batch = await batches.upload_and_poll(store.id, files=uploads, poll_interval_ms=100)

    assert (batch.status, batch.vector_store_id) == ("completed", store.id)
    counts = batch.file_counts
    assert (counts.completed, counts.failed, counts.total) == (3, 1, 4)
    where: Any = {"vector_store_id": store.id}
    failed = [item async for item in batches.list_files(batch.id, **where, filter="failed")]
    assert [item.last_error.code for item in failed] == ["invalid_file"]
    listed = [item.id async for item in batches.list_files(batch.id, **where, limit=1)]
    assert len(listed) == len(set(listed)) == 4
    file = await client.files.create(file=("4.md", TEXT), purpose="assistants")
    given: Any = [{"file_id": file.id, "attributes": {"year": 2024}}]
    second = await batches.create_and_poll(store.id, files=given, poll_interval_ms=100)
    assert second.file_counts.total == 1
    known = await client.vector_stores.files.retrieve(file.id, **where)
    assert known.attributes == {"year": 2024}
    assert (await batches.cancel(second.id, **where)).status == "completed"


async def test_a_batch_that_waits_can_be_cancelled(documents: OpenDocuments) -> None:
    client = documents.openai
    store = await client.vector_stores.create()
    file = await client.files.create(file=("ferry.md", TEXT), purpose="assistants")
    await documents.service.jobs.pause_kind("ingest")
    batches = client.vector_stores.file_batches
    batch = await batches.create(store.id, file_ids=[file.id])
    assert (batch.status, batch.file_counts.in_progress) == ("in_progress", 1)
    waiting = await client.vector_stores.retrieve(store.id)
    assert (waiting.status, waiting.file_counts.in_progress) == ("in_progress", 1)
    with pytest.raises(openai.ConflictError, match="being indexed"):
        await client.files.delete(file.id)

    ended = await batches.cancel(batch.id, vector_store_id=store.id)

    assert (ended.status, ended.file_counts.cancelled) == ("cancelled", 1)
    one = await client.vector_stores.files.retrieve(file.id, vector_store_id=store.id)
    assert one.status == "cancelled"
    await client.files.delete(file.id)


async def test_the_text_and_attributes_of_a_file_in_a_store(documents: OpenDocuments) -> None:
    client = documents.openai
    files = client.vector_stores.files
    store = await client.vector_stores.create()
    put = await files.upload_and_poll(vector_store_id=store.id, file=("ferry.md", TEXT))
    assert put.attributes == {}

    content = await files.content(put.id, vector_store_id=store.id)
    assert "The ferry to Ost leaves at 9:40" in content.data[0].text
    said: dict[str, str | float | bool] = {"year": 2024, "open": True, "pier": "seven", "fare": 2.5}
    changed = await files.update(put.id, vector_store_id=store.id, attributes=said)

    assert changed.attributes == said
    only: Any = {"type": "eq", "key": "pier", "value": "seven"}
    found = await client.vector_stores.search(store.id, query="ferry", filters=only)
    assert [item.attributes for item in found.data] == [said]


async def test_two_files_of_one_name_stay_two_files(documents: OpenDocuments) -> None:
    stores = documents.openai.vector_stores
    await stores.create(name="trips")
    texts = (TEXT, b"# Bus\n\nThe bus to Ost leaves at 8:15 every morning from the square.\n")
    put = [
        await stores.files.upload_and_poll(
            vector_store_id="trips", file=("a.md", text), attributes={"file_id": "another"}
        )
        for text in texts
    ]
    assert [item.status for item in put] == ["completed", "completed"]
    assert {item.id async for item in stores.files.list("trips")} == {item.id for item in put}
    for item, leaving in zip(put, ("9:40", "8:15"), strict=True):
        kept = await stores.files.retrieve(item.id, vector_store_id="trips")
        assert (kept.id, kept.attributes) == (item.id, {"file_id": "another"})
        found = await stores.search("trips", query=f"leaves at {leaving}")
        assert found.data[0].file_id == item.id
        assert found.data[0].filename == "a.md"


async def test_a_store_is_called_as_a_collection_may_be(documents: OpenDocuments) -> None:
    stores = documents.openai.vector_stores
    await stores.create(name="trips/2024")
    put = await stores.files.upload_and_poll(vector_store_id="trips/2024", file=("a.md", TEXT))
    assert (await stores.files.retrieve(put.id, vector_store_id="trips/2024")).id == put.id
    assert (await stores.files.content(put.id, vector_store_id="trips/2024")).data
    assert (await stores.retrieve("trips/2024")).name == "trips/2024"
    assert (await stores.search("trips/2024", query="ferry")).data
    for name in (" ", "a\u202eb"):
        with pytest.raises(openai.BadRequestError, match="name of a collection"):
            await stores.create(name=name)


@in_turn(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/files/file-none", None, 404),
        ("DELETE", "/v1/files/file-" + "0" * 32, None, 404),
        ("GET", "/v1/vector_stores/nowhere", None, 404),
        ("GET", "/v1/vector_stores/nowhere/files", None, 404),
        ("GET", "/v1/vector_stores/default/files/none", None, 404),
        ("DELETE", "/v1/vector_stores/default/files/none", None, 404),
        ("GET", "/v1/files/file-none/content", None, 404),
        ("GET", "/v1/files?limit=0", None, 400),
        ("GET", "/v1/files?order=up", None, 400),
        ("GET", "/v1/vector_stores/default/files/none/content", None, 404),
        ("POST", "/v1/vector_stores/default/files/none", {"attributes": {}}, 404),
        ("GET", "/v1/vector_stores/default/files?filter=gone", None, 400),
        ("GET", "/v1/vector_stores/nowhere/file_batches/vsfb_none", None, 404),
        ("GET", "/v1/vector_stores/default/file_batches/vsfb_none", None, 404),
        ("GET", "/v1/vector_stores/default/file_batches/vsfb_none/files", None, 404),
        ("POST", "/v1/vector_stores/default/file_batches/vsfb_none/cancel", None, 404),
        ("POST", "/v1/vector_stores/default/file_batches", {}, 400),
        ("POST", "/v1/vector_stores/default/file_batches", {"file_ids": ["file-none"]}, 404),
        ("POST", "/v1/vector_stores/nowhere/files", {"file_id": "file-none"}, 404),
        ("POST", "/v1/vector_stores/nowhere", {"name": "a"}, 404),
        ("POST", "/v1/vector_stores", {"metadata": {"a": 1}}, 400),
        ("POST", "/v1/vector_stores", {"metadata": {"a" * 65: "b"}}, 400),
        ("POST", "/v1/vector_stores", {"expires_after": {"anchor": "now", "days": 1}}, 400),
        ("POST", "/v1/vector_stores/a/files", {"file_id": "x", "attributes": {"a": []}}, 400),
        ("POST", "/v1/vector_stores/a/files", {"file_id": "x", "chunking_strategy": "auto"}, 400),
        ("POST", "/v1/vector_stores", {"name": "a", "file_ids": ["file-none"]}, 404),
        ("POST", "/v1/vector_stores/default/files", {"file_id": "file-none"}, 404),
        ("POST", "/v1/vector_stores/default/search", {"query": " "}, 400),
        ("POST", "/v1/vector_stores/default/search", {"query": "a", "max_num_results": 0}, 400),
        ("POST", "/v1/vector_stores/default/search", {"query": "a", "filters": {"a": 1}}, 400),
        ("GET", "/v1/vector_stores?limit=0", None, 400),
        ("POST", "/v1/files", {"purpose": "x"}, 400),
    ],
)
async def test_bad_requests(
    documents: OpenDocuments, method: str, path: str, body: Any, status: int
) -> None:
    response = await documents.http.request(method, path, json=body)
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


async def test_files_that_cannot_be_read_are_refused(documents: OpenDocuments) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="exe"):
        await documents.openai.files.create(file=("a.exe", b"MZ"), purpose="assistants")


async def test_tokens_are_the_texts_that_they_spell(documents: OpenDocuments) -> None:
    create = documents.openai.embeddings.create
    model = "all-MiniLM-L6-v2"
    text = await create(model=model, input=["Hello wörld 北京", "Hello wörld 北京"])
    tokens = [9906, 289, 9603, 509, 95405, 245, 47653]
    both = await create(model=model, input=[tokens, tokens])
    one = await create(model=model, input=tokens)
    assert [each.embedding for each in both.data] == [each.embedding for each in text.data]
    assert one.data[0].embedding == text.data[0].embedding
    for bad in ([-1], [2**70], [[1], ["a"]], [[]], [999_999], [1, "a"], [True]):
        with pytest.raises(openai.BadRequestError):
            await create(model=model, input=bad)
