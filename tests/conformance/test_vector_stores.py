"""Every store keeps what is said of vector stores, and forgets it with the collection."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from ragstone.core.records import Collection, Document
from ragstone.plugins.responses.contract import StoreFile, VectorStore
from ragstone.plugins.responses.store import SqlVectorStores
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database

STORE = VectorStore("acme", "c1", "Law 😀", 5.5, 6.5, "Of Oslo", {"team": "ost"}, 7)
FILE = StoreFile("acme", "c1", "file-1", "/file-1/a.md", "eva", "job1", 5.5)


@dataclass
class Kept:
    """The two ports on one database."""

    stores: SqlVectorStores
    catalog: SqlCatalog


@pytest.fixture
async def kept(state: Database) -> Kept:
    return Kept(SqlVectorStores(state), await SqlCatalog.open(state))


async def test_a_store_comes_back_as_it_was_put(kept: Kept) -> None:
    await kept.stores.put(STORE)
    await kept.stores.put(replace(STORE, tenant="other", days=None))

    assert await kept.stores.list_all("acme") == [STORE]
    assert await kept.stores.list_all("acme", "c2") == []
    assert len(await kept.stores.list_all()) == 2
    changed = replace(STORE, title="", metadata={}, days=None)
    await kept.stores.put(changed)
    assert await kept.stores.list_all("acme", "c1") == [changed]


async def test_files_are_found_by_store_file_and_job(kept: Kept) -> None:
    second = replace(FILE, collection="c2", job="job2")
    third = replace(FILE, file="file-2")
    await kept.stores.put_files([FILE, second, third, replace(FILE, tenant="other")])

    assert await kept.stores.files("acme", collection="c1") == [FILE, third]
    assert await kept.stores.files("acme", file="file-1") == [FILE, second]
    assert await kept.stores.files("acme", job="job2") == [second]
    again = replace(FILE, job="job3", created_at=9.0)
    await kept.stores.put_files([again])
    assert await kept.stores.files("acme", collection="c1", file="file-1") == [again]
    await kept.stores.remove_file("acme", "c1", "file-1")
    assert await kept.stores.files("acme", file="file-1") == [second]


async def test_a_store_goes_with_its_collection_whether_that_came_or_not(kept: Kept) -> None:
    await kept.catalog.put_collection(Collection("acme", "law", "m", "f", 3, id="c1"))
    for id in ("c1", "c2", "c3"):
        await kept.stores.put(replace(STORE, collection=id))
        await kept.stores.put_files([replace(FILE, collection=id)])

    for id in ("c1", "c2"):
        await kept.catalog.drop_collection("acme", id)

    assert [item.collection for item in await kept.stores.list_all("acme")] == ["c3"]
    assert [file.collection for file in await kept.stores.files("acme")] == ["c3"]


async def test_a_collection_has_its_id_and_name_while_it_comes(kept: Kept) -> None:
    for number in range(20):
        name = f"law{number}"
        id = await kept.catalog.identity("acme", name)
        coming = asyncio.create_task(
            kept.catalog.put_collection(Collection("acme", name, "m", "f", 3, id=id))
        )
        while not coming.done():
            assert await kept.catalog.identity("acme", name, make=False) == id
            assert await kept.catalog.names("acme", {id}) == {id: name}
            await asyncio.sleep(0)
        await coming


def test_a_file_is_settled_by_the_document_made_of_it_last() -> None:
    document = Document(
        id="d1", tenant="acme", collection="c1", path=FILE.path, status="ready", modified=5.5
    )

    assert FILE.is_settled(document)
    assert FILE.is_settled(replace(document, status="failed"))
    assert not FILE.is_settled(replace(document, modified=5.0))
    assert not FILE.is_settled(replace(document, status="text"))
    assert not FILE.is_settled(None)
