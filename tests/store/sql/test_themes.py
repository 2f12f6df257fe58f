"""Themes and what a chat model read: for those who may read all that they are made of, as long as
that answers."""

from pathlib import Path

import pytest

from ragstone.plugins.graph.entities import (
    ChunkReading,
    EntityCount,
    EntityRelation,
    EntityTheme,
    ReadEntity,
    ReadRelation,
)
from ragstone.plugins.graph.mentions import SqlMentions
from ragstone.plugins.graph.model_readings import SqlModelReadings
from ragstone.plugins.graph.themes import SqlThemes
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.dump import SqlDump
from tests.databases import DatabaseOpener
from tests.store.sql.test_mentions import ALL, ONE, TWO, keep, named, published

READING = (
    "key",
    (ReadEntity("Ada", ("A.",)), ReadEntity("Oslo")),
    (ReadRelation("Ada", "Oslo", "left"),),
)


@pytest.fixture
async def catalog(state: Database) -> SqlCatalog:
    catalog = await SqlCatalog.open(state)
    for collection in (ONE, TWO):
        await catalog.put_collection(collection)
    return catalog


def theme(id: str, *revisions: str, audience: str = '["*"]') -> EntityTheme:
    passages = tuple((revision, 0) for revision in revisions)
    return EntityTheme(id, audience, id, (EntityCount("ada", "Ada", 2),), passages, revisions, "S.")


async def ids(themes: SqlThemes, readers: tuple[str, ...] = ALL) -> list[str]:
    return [item.id for item in await themes.readable(ONE, readers, 9)]


async def test_given_themes_then_they_are_for_who_may_read_all_of_their_documents(
    state: Database, catalog: SqlCatalog
) -> None:
    themes = SqlThemes(state)
    a, b = await published(catalog, "a"), await published(catalog, "b", allowed=("group:board",))
    whole = theme("both", a, b, audience="x")
    await themes.replace(ONE, "x", "1", [whole, theme("public", a, audience="x")])
    assert await ids(themes) == ["public"]
    assert sorted(await ids(themes, (*ALL, "group:board"))) == ["both", "public"]
    assert {item.id: item for item in await themes.every(ONE)}["both"] == whole
    assert await themes.every(TWO) == []


async def test_given_one_of_its_documents_changes_then_a_theme_is_gone_at_once(
    state: Database, catalog: SqlCatalog
) -> None:
    themes = SqlThemes(state)
    a, b = await published(catalog, "a"), await published(catalog, "b")
    await themes.replace(ONE, "x", "1", [theme("both", a, b), theme("one", a)])
    again = await published(catalog, "b")
    assert await ids(themes) == ["one"]
    await themes.replace(ONE, "x", "2", [theme("late", a, b, "gone@1"), theme("new", a, again)])
    assert await ids(themes) == ["new"], "what is made of a revision that is gone is left out"
    await themes.replace(ONE, "x", "", ())
    assert await ids(themes) == []


async def test_given_documents_then_their_audiences_are_told_with_who_has_read_them(
    state: Database, catalog: SqlCatalog
) -> None:
    themes, mentions, readings = SqlThemes(state), SqlMentions(state), SqlModelReadings(state)
    a, b = await published(catalog, "a"), await published(catalog, "b", allowed=("group:board",))
    await keep(mentions, ONE, named(a, 0, "ada"))
    assert await themes.audiences(ONE) == {'["*"]': ("", {a: ""})}
    await readings.keep(ONE, [ChunkReading(a, 0, *READING)], "r", whole=a)
    assert await themes.audiences(ONE) == {}, "it is to be read once more"
    await keep(mentions, ONE, named(a, 0, "ada") + named(b, 0, "ada"))
    await themes.replace(ONE, '["*"]', "made", ())
    assert await themes.audiences(ONE) == {
        '["*"]': ("made", {a: "r"}),
        '["group:board"]': ("", {b: ""}),
    }


async def test_given_readings_then_they_are_known_by_what_was_read_until_their_document_goes(
    state: Database, catalog: SqlCatalog
) -> None:
    readings = SqlModelReadings(state)
    a = await published(catalog, "a")
    one = ChunkReading(a, 0, *READING)
    await readings.keep(ONE, [one], "r")
    assert await readings.find_readings(ONE, ["key", "other"]) == {"key": one}
    assert await readings.find_readings(TWO, ["key"]) == {}
    assert await readings.list_lacking(ONE, "r") == [a]
    assert await readings.of_revisions(ONE, [a], "r") == {}, "it was not read to its end"
    await readings.keep(ONE, [], "r", whole=a)
    assert await readings.list_lacking(ONE, "r") == []
    assert await readings.of_revisions(ONE, [a], "r") == {(a, 0): one}
    await readings.keep(ONE, [ChunkReading("gone@1", 0, "k")], "r", whole="gone@1")
    await catalog.retire(["a"])
    await catalog.forget_revisions([a])
    assert await readings.find_readings(ONE, ["key"]) == {}


async def test_given_relations_then_they_are_of_who_may_read_them(
    state: Database, catalog: SqlCatalog
) -> None:
    mentions = SqlMentions(state)
    a = await published(catalog, "a", allowed=("group:board",))
    told = EntityRelation(a, 0, "ada", "oslo", "left")
    await mentions.begin(ONE, [a])
    await mentions.add(ONE, named(a, 0, "ada", "oslo"), [told, told])
    await mentions.finish(ONE, "1", [a])
    board = (*ALL, "group:board")
    for entity in ("ada", "oslo"):
        assert await mentions.find_entity_relations(ONE, board, [entity], 9) == [told]
    assert await mentions.find_relations(ONE, board, [(a, 0), (a, 1)]) == [told]
    assert await mentions.find_relations(ONE, ALL, [(a, 0)]) == []
    assert await mentions.find_entity_relations(ONE, ALL, ["ada"], 9) == []
    assert await mentions.of_revisions(ONE, [a]) == (named(a, 0, "ada", "oslo"), [told])


async def test_given_a_backup_then_it_holds_what_was_paid_for_and_no_themes(
    open_state: DatabaseOpener, tmp_path: Path
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with open_state(tmp_path / "here") as here:
        catalog = await SqlCatalog.open(here)
        await catalog.put_collection(ONE)
        a = await published(catalog, "a")
        one = ChunkReading(a, 0, *READING)
        await SqlModelReadings(here).keep(ONE, [one], "r", whole=a)
        await SqlThemes(here).replace(ONE, "x", "1", [theme("one", a)])
        async with SqlDump(here, catalog).snapshot() as tables:
            rows = [table async for table in tables]
    async with open_state(tmp_path / "there") as there:
        catalog = await SqlCatalog.open(there)
        await SqlDump(there, catalog).replace(SqlDump.schema, rows, [ONE])
        assert await SqlModelReadings(there).of_revisions(ONE, [a], "r") == {(a, 0): one}
        assert await ids(SqlThemes(there)) == []
