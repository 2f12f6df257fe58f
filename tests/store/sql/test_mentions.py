"""What chunks name, kept with their revisions and given to whoever may read these."""

from pathlib import Path

import pytest

from ragstone.core.records import Collection, Document
from ragstone.plugins.graph.entities import EntityCount, EntityMention
from ragstone.plugins.graph.mentions import SqlMentions
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.dump import SqlDump
from tests.databases import DatabaseOpener

ONE = Collection("default", "one", "m", "m/1", 3, "en", id="c1")
TWO = Collection("other", "two", "m", "m/1", 3, "en", id="c1")
ALL = ("*", "user:eva")


@pytest.fixture
async def catalog(state: Database) -> SqlCatalog:
    catalog = await SqlCatalog.open(state)
    for collection in (ONE, TWO):
        await catalog.put_collection(collection)
    return catalog


@pytest.fixture
def mentions(state: Database) -> SqlMentions:
    return SqlMentions(state)


async def published(
    catalog: SqlCatalog, id: str, collection: Collection = ONE, allowed: tuple[str, ...] = ("*",)
) -> str:
    document = Document(
        id=id,
        tenant=collection.tenant,
        collection=collection.id,
        path=f"/{id}",
        source=f"/{id}",
        allowed=allowed,
        own_readers=allowed,
    )
    version = await catalog.begin(document)
    await catalog.publish(document, version)
    return f"{id}@{version}"


def named(revision: str, chunk: int, *entities: str) -> list[EntityMention]:
    return [EntityMention(revision, chunk, entity, entity.title(), "name") for entity in entities]


async def keep(
    mentions: SqlMentions, collection: Collection, found: list[EntityMention], *, reading: str = "1"
) -> None:
    revisions = sorted({mention.revision for mention in found})
    await mentions.begin(collection, revisions)
    await mentions.add(collection, found)
    await mentions.finish(collection, reading, revisions)


async def test_given_mentions_then_they_are_found_by_entity_and_by_chunk(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    a = await published(catalog, "a")
    found = named(a, 0, "meridian", "glasgow") + named(a, 1, "meridian")
    await keep(mentions, ONE, found)
    assert await mentions.filter_known(ONE, ALL, ["meridian", "oslo"]) == {"meridian"}
    assert await mentions.like(ONE, ALL, "mer", 10) == ["meridian"]
    assert await mentions.like(ONE, ALL, "oslo", 10) == []
    assert await mentions.of_entities(ONE, ALL, ["meridian", "oslo"], 10) == {
        "meridian": [found[0], found[2]]
    }
    assert await mentions.of_entities(ONE, ALL, ["meridian"], 1) == {"meridian": [found[0]]}
    assert (await mentions.of_rare(ONE, ALL, ["meridian", "glasgow"], 1)).keys() == {"glasgow"}
    inside = await mentions.of_chunks(ONE, ALL, [(a, 0), (a, 7), ("b@1", 0)])
    assert set(inside) == set(found[:2])
    assert await mentions.most_named(ONE, ALL, 1) == [EntityCount("meridian", "Meridian", 2)]


async def test_given_two_tenants_whose_collections_have_one_id_then_each_has_its_own(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    await keep(mentions, ONE, named(await published(catalog, "a"), 0, "meridian"))
    await keep(mentions, TWO, named(await published(catalog, "b", TWO), 0, "oslo"))
    entities = ["meridian", "oslo"]
    assert await mentions.filter_known(ONE, ALL, entities) == {"meridian"}
    assert await mentions.filter_known(TWO, ALL, entities) == {"oslo"}
    assert [item.entity for item in await mentions.most_named(TWO, ALL, 9)] == ["oslo"]
    await mentions.forget(TWO)
    assert await mentions.filter_known(ONE, ALL, entities) == {"meridian"}
    assert await mentions.filter_known(TWO, ALL, entities) == frozenset()


async def test_given_what_others_may_read_then_nothing_of_it_is_given_or_counted(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    a = await published(catalog, "a", allowed=("group:board",))
    b = await published(catalog, "b")
    await keep(mentions, ONE, named(a, 0, "meridian", "secret") + named(b, 0, "meridian"))
    assert await mentions.filter_known(ONE, ALL, ["secret", "meridian"]) == {"meridian"}
    assert await mentions.like(ONE, ALL, "se", 9) == []
    found = await mentions.of_entities(ONE, ALL, ["meridian"], 9)
    assert [item.revision for item in found["meridian"]] == [b]
    assert await mentions.of_chunks(ONE, ALL, [(a, 0)]) == []
    assert await mentions.most_named(ONE, ALL, 9) == [EntityCount("meridian", "Meridian", 1)]
    assert (await mentions.of_rare(ONE, ALL, ["meridian"], 1)).keys() == {"meridian"}
    board = ("*", "group:board")
    assert (await mentions.most_named(ONE, board, 1))[0].chunks == 2
    assert await mentions.filter_known(ONE, (), ["meridian"]) == frozenset()


async def test_given_a_new_version_or_a_deletion_then_what_was_before_goes_exactly(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    first = await published(catalog, "a")
    await keep(mentions, ONE, named(first, 0, "meridian"))
    second = await published(catalog, "a")
    assert await mentions.filter_known(ONE, ALL, ["meridian"]) == frozenset()
    assert await mentions.unread(ONE, "1") == [second]
    await keep(mentions, ONE, named(second, 0, "oslo"))
    await catalog.forget_revisions([first])
    assert await mentions.filter_known(ONE, ALL, ["meridian", "oslo"]) == {"oslo"}
    await catalog.retire(["a"])
    assert await mentions.filter_known(ONE, ALL, ["oslo"]) == frozenset()
    await catalog.forget_revisions([second])
    assert await mentions.unread(ONE, "1") == []


async def test_given_a_revision_that_went_while_it_was_read_then_nothing_of_it_is_kept(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    a = await published(catalog, "a")
    await mentions.begin(ONE, [a, "gone@1"])
    await catalog.retire(["a"])
    await catalog.forget_revisions([a])
    await mentions.add(ONE, named(a, 0, "meridian") + named("gone@1", 0, "oslo"))
    await mentions.finish(ONE, "1", [a, "gone@1"])
    assert await mentions.most_named(ONE, ALL, 9) == []


async def test_given_documents_then_those_not_read_by_these_rules_are_unread(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    a, b = await published(catalog, "a"), await published(catalog, "b", allowed=("group:x",))
    assert set(await mentions.unread(ONE, "1")) == {a, b}
    assert await mentions.count_waiting(ONE, ALL, "1") == 1
    await mentions.begin(ONE, [a])
    assert set(await mentions.unread(ONE, "1")) == {a, b}
    await mentions.finish(ONE, "1", [a])
    assert await mentions.unread(ONE, "1") == [b]
    assert await mentions.count_waiting(ONE, ALL, "1") == 0
    assert set(await mentions.unread(ONE, "2")) == {a, b}


async def test_given_one_read_twice_at_once_then_each_mention_is_kept_once(
    catalog: SqlCatalog, mentions: SqlMentions
) -> None:
    found = named(await published(catalog, "a"), 0, "meridian")
    await keep(mentions, ONE, found)
    await mentions.add(ONE, found)
    assert await mentions.most_named(ONE, ALL, 9) == [EntityCount("meridian", "Meridian", 1)]


async def test_given_a_backup_then_it_holds_what_is_named_by_documents_that_answer(
    open_state: DatabaseOpener, tmp_path: Path
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with open_state(tmp_path / "here") as here:
        catalog, mentions = await SqlCatalog.open(here), SqlMentions(here)
        await catalog.put_collection(ONE)
        old = await published(catalog, "a")
        await keep(mentions, ONE, named(old, 0, "meridian"))
        new = await published(catalog, "a")
        await keep(mentions, ONE, named(new, 0, "oslo"))
        async with SqlDump(here, catalog).snapshot() as tables:
            rows = [table async for table in tables]
    async with open_state(tmp_path / "there") as there:
        catalog, mentions = await SqlCatalog.open(there), SqlMentions(there)
        await SqlDump(there, catalog).replace(SqlDump.schema, rows, [ONE])
        assert await mentions.filter_known(ONE, ALL, ["meridian", "oslo"]) == {"oslo"}
        assert await mentions.unread(ONE, "1") == []
