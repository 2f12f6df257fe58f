"""Files, vector stores and tokens as the official client speaks of them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.http.open_documents import OpenDocuments, opened

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
    assert (await client.files.content(file.id)).read() == TEXT
    put = await client.vector_stores.files.create_and_poll(
        vector_store_id=store.id, file_id=file.id, attributes={"year": 2024}
    )
    assert (put.status, put.id, put.attributes) == ("completed", file.id, {"year": 2024})
    listed = [one.id async for one in client.vector_stores.files.list(store.id)]
    assert listed == [file.id]
    assert (await client.vector_stores.retrieve(store.id)).file_counts.completed == 1
    names = [one.name async for one in client.vector_stores.list(limit=1)]
    assert names == ["ferries", "default"]

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

    await client.vector_stores.files.delete(file.id, vector_store_id=store.id)
    with pytest.raises(openai.NotFoundError):
        await client.vector_stores.files.retrieve(file.id, vector_store_id=store.id)
    await client.vector_stores.delete(store.id)
    with pytest.raises(openai.NotFoundError):
        await client.vector_stores.retrieve(store.id)


async def test_two_files_of_one_name_stay_two_files(documents: OpenDocuments) -> None:
    files = documents.openai.vector_stores.files
    texts = (TEXT, b"# Bus\n\nThe bus to Ost leaves at 8:15 every morning from the square.\n")
    put = [
        await files.upload_and_poll(
            vector_store_id="trips", file=("a.md", text), attributes={"file_id": "another"}
        )
        for text in texts
    ]
    assert [one.status for one in put] == ["completed", "completed"]
    listed = {one.id async for one in files.list("trips")}
    assert listed == {one.id for one in put}
    for one, time in zip(put, ("9:40", "8:15"), strict=True):
        kept = await files.retrieve(one.id, vector_store_id="trips")
        assert (kept.id, kept.attributes) == (one.id, {"file_id": "another"})
        found = await documents.openai.vector_stores.search("trips", query=f"leaves at {time}")
        assert found.data[0].file_id == one.id
        assert found.data[0].filename == "a.md"
    await files.delete(put[0].id, vector_store_id="trips")
    assert [one.id async for one in files.list("trips")] == [put[1].id]


async def test_a_store_is_called_as_a_collection_may_be(documents: OpenDocuments) -> None:
    stores = documents.openai.vector_stores
    put = await stores.files.upload_and_poll(vector_store_id="trips/2024", file=("a.md", TEXT))
    assert (await stores.files.retrieve(put.id, vector_store_id="trips/2024")).id == put.id
    assert (await stores.retrieve("trips/2024")).name == "trips/2024"
    assert (await stores.search("trips/2024", query="ferry")).data
    for name in (" ", "a\u202eb"):
        with pytest.raises(openai.BadRequestError, match="name of a collection"):
            await stores.create(name=name)
        file = await documents.openai.files.create(file=("a.md", TEXT), purpose="assistants")
        refused = await stores.files.create(vector_store_id=name, file_id=file.id)
        assert refused.last_error
        assert "name of a collection" in refused.last_error.message


async def test_upload_and_poll(documents: OpenDocuments) -> None:
    files = documents.openai.vector_stores.files
    put = await files.upload_and_poll(vector_store_id="ferries", file=("ferry.md", TEXT))
    assert put.status == "completed"
    broken = await files.upload_and_poll(vector_store_id="ferries", file=("a.pdf", b"%PDF-1.4 x"))
    assert broken.status == "failed"
    assert broken.last_error.message


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/files/file-none", None, 404),
        ("DELETE", "/v1/files/file-" + "0" * 32, None, 404),
        ("GET", "/v1/vector_stores/nowhere", None, 404),
        ("GET", "/v1/vector_stores/nowhere/files", None, 404),
        ("GET", "/v1/vector_stores/default/files/none", None, 404),
        ("DELETE", "/v1/vector_stores/default/files/none", None, 404),
        ("POST", "/v1/vector_stores", {}, 400),
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
