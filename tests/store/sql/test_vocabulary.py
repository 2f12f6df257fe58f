"""The words of collections: what was read stays known until enough of it has gone."""

import pytest

from ragstone.core.records import Collection, Document
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.vocabulary import SqlVocabulary

ONE = Collection("default", "one", "m", "m/1", 3, "en", id="c1")
TWO = Collection("default", "two", "m", "m/1", 3, "en", id="c2")


@pytest.fixture
def database(state: Database) -> Database:
    return state


@pytest.fixture
async def catalog(database: Database) -> SqlCatalog:
    catalog = await SqlCatalog.open(database)
    for collection in (ONE, TWO):
        await catalog.put_collection(collection)
    return catalog


async def published(catalog: SqlCatalog, id: str, collection: Collection = ONE) -> None:
    document = Document(
        id=id, tenant=collection.tenant, collection=collection.id, path=f"/{id}", source=f"/{id}"
    )
    await catalog.publish(document, await catalog.begin(document))


async def test_given_words_of_two_collections_then_each_knows_its_own(
    database: Database, catalog: SqlCatalog
) -> None:
    vocabulary = SqlVocabulary(database)
    await vocabulary.add(ONE, {"whale", "ship"})
    await vocabulary.add(ONE, {"whale", "krill"})
    await vocabulary.add(TWO, {"cat"})
    many = {f"w{number}" for number in range(1200)}
    assert await vocabulary.find_words(ONE, {"whale", "krill", "cat", *many}) == {"whale", "krill"}
    assert await vocabulary.find_words(TWO, {"whale", "cat"}) == {"cat"}


async def test_given_new_documents_then_they_are_unread_until_they_were_read(
    database: Database, catalog: SqlCatalog
) -> None:
    vocabulary = SqlVocabulary(database)
    await published(catalog, "a")
    await published(catalog, "b")
    await published(catalog, "c", TWO)
    unread = await vocabulary.unread(ONE)
    assert len(unread) == 2
    await vocabulary.add(ONE, {"whale"}, unread[:1])
    assert await vocabulary.unread(ONE) == unread[1:]
    await vocabulary.add(ONE, (), unread)
    assert await vocabulary.unread(ONE) == []
    await published(catalog, "d")
    assert await vocabulary.unread(ONE) == ["d@1"]


async def test_given_over_a_tenth_gone_then_all_is_forgotten_and_unread(
    database: Database, catalog: SqlCatalog
) -> None:
    vocabulary = SqlVocabulary(database)
    for number in range(20):
        await published(catalog, f"d{number}")
    await vocabulary.add(ONE, {"whale"}, await vocabulary.unread(ONE))
    await vocabulary.add(TWO, {"whale"})
    await catalog.retire(["d0", "d1"])
    assert await vocabulary.unread(ONE) == []
    assert await vocabulary.find_words(ONE, {"whale"})
    await catalog.retire(["d2"])
    assert len(await vocabulary.unread(ONE)) == 17
    assert not await vocabulary.find_words(ONE, {"whale"})
    assert await vocabulary.find_words(TWO, {"whale"})


async def test_given_a_dropped_collection_then_its_words_go_and_late_ones_stay_out(
    database: Database, catalog: SqlCatalog
) -> None:
    vocabulary = SqlVocabulary(database)
    await published(catalog, "a")
    unread = await vocabulary.unread(ONE)
    await vocabulary.add(ONE, {"whale"}, unread)
    await catalog.drop_collection(ONE.tenant, ONE.id)
    await vocabulary.add(ONE, {"krill"}, unread)
    assert not await vocabulary.find_words(ONE, {"whale", "krill"})
