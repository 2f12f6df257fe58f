"""Which index a collection is in while collections move from one to another."""

from contextlib import aclosing
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection, Document
from ragstone.index.connect import MovingIndex, connect_all, index_place
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.evaluation.indexed import apart
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import home
from ragstone.settings import IndexSettings, Settings

POSTGRES = "postgresql://ann:s3cret@db/x"


async def test_given_two_addresses_then_a_collection_is_where_its_place_says(
    tmp_path: Path,
) -> None:
    connected = connect_all(IndexSettings(url=POSTGRES, from_url="embedded"), tmp_path)
    index = connected.index
    assert isinstance(index, MovingIndex)
    async with aclosing(index):
        old, new = connected.parts
        assert home(index) == index_place("postgresql://db/x")
        assert isinstance(index.find_index(Collection("t", "c", "m", "f", 3)), EdgeIndex)
        assert isinstance(
            index.find_index(Collection("t", "c", "m", "f", 3, place="what")), EdgeIndex
        )
        there = Collection("t", "c", "m", "f", 3, place=home(index))
        assert isinstance(index.find_index(there), PostgresIndex)
        here = Collection("t", "c", "m", "f", 3)
        await index.create(here)
        await index.upsert(collection=here, chunks=[])
        assert await index.count(collection=here) == await index.count(here) == 0
        assert (old, new) == index.both


async def test_given_a_key_of_the_old_index_then_only_that_is_asked_with_it(
    tmp_path: Path,
) -> None:
    settings = IndexSettings(url="postgresql://db/new", from_url="postgresql://:s3cret@db/old")
    connected = connect_all(settings, tmp_path)
    async with aclosing(connected.index):
        addresses = [vars(vars(part)["_database"])["_address"] for part in connected.parts]
    assert ["password=s3cret" in address for address in addresses] == [True, False]


async def test_given_another_index_than_an_earlier_move_went_to_then_its_place_is_forgotten(
    tmp_path: Path,
) -> None:
    settings = Settings(ragstone_data=tmp_path)
    async with build.open_adapters(settings) as (adapters, _, _):
        for name, place in (
            ("here", index_place("")),
            ("there", index_place(POSTGRES)),
            ("never", ""),
        ):
            one = Collection("t", name, "m", "f", 3, place=place)
            await adapters.index.create(one)
            await adapters.catalog.put_collection(one)
    async with build.open_adapters(settings) as (adapters, _, _):
        known = {
            collection.name: collection.place for collection in await adapters.catalog.collections()
        }
    assert known == {"here": index_place(""), "there": "", "never": ""}


async def test_given_an_index_without_what_was_moved_then_where_that_is_stays_known(
    tmp_path: Path,
) -> None:
    settings = Settings(ragstone_data=tmp_path)
    async with build.open_adapters(settings) as (adapters, _, _):
        one = Collection("t", "moved", "m", "f", 3, place=index_place(POSTGRES))
        await adapters.catalog.put_collection(one)
        document = Document("d", "t", one.id, "/d.txt", chunks=1)
        await adapters.catalog.publish(document, await adapters.catalog.begin(document))
    async with build.open_adapters(settings) as (adapters, _, _):
        known = await adapters.catalog.collections()
        assert [each.place for each in known] == [index_place(POSTGRES)]


async def test_given_one_address_then_no_place_is_said(tmp_path: Path) -> None:
    connected = connect_all(IndexSettings(), tmp_path)
    async with aclosing(connected.index) as index:
        assert connected.parts == (index,)
        assert home(index) == ""


@pytest.mark.parametrize(
    ("url", "from_url", "says"),
    [
        ("", "embedded", "are the same"),
        (POSTGRES, "postgresql://db/x", "are the same"),
        ("kdb+http://k", "embedded", "nothing can move"),
        (POSTGRES, "retrieval+http://r", "nothing can move"),
        (POSTGRES, "mysql://db", "mysql"),
    ],
)
def test_given_addresses_between_which_nothing_can_move_then_it_says_so(
    tmp_path: Path, url: str, from_url: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        connect_all(IndexSettings(url=url, from_url=from_url), tmp_path)


def test_an_address_is_the_same_place_for_every_user() -> None:
    same = {
        index_place(url)
        for url in ("postgresql://db:5432/x", "postgresql://ann:s3cret@DB:5432/x?sslmode=require")
    }
    assert len(same) == 1
    others = ("", "postgresql://db:5432/y", "postgresql://other:5432/x", "http://db:5432/x")
    assert len({index_place(url) for url in others} | same) == 5


def test_what_is_evaluated_is_never_written_where_collections_come_from(tmp_path: Path) -> None:
    settings = Settings(index={"from_url": POSTGRES})  # type: ignore[arg-type]
    assert apart(settings, tmp_path).index.from_url == ""
