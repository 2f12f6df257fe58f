"""Collections move to another index while they are searched, written, deleted and built anew."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.filters import Filter
from ragstone.core.records import Collection
from ragstone.index.connect import MovingIndex
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest import move as moving
from ragstone.ingest.move import move, move_all
from ragstone.ports import Search, Vectors
from ragstone.retrieve.searching import exclude_hidden
from tests.backup.house import House, opened
from tests.patience import PATIENCE

HOME = "there"

Meanwhile = Callable[[], Awaitable[object]]


class Target(EdgeIndex):
    """An index beside whose work something else is done."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.meanwhile: list[Meanwhile] = []
        """What happens in turn when its search structures are built."""
        self.written: list[str] = []

    async def optimize(self, collection: Collection) -> None:
        if self.meanwhile:
            await self.meanwhile.pop(0)()
        await super().optimize(collection)

    async def upsert(
        self,
        collection: Collection,
        chunks: "list[Chunk]",  # type: ignore[override]
        vectors: Vectors | None = None,
        tokens: "list[bytes] | None" = None,  # type: ignore[override]
    ) -> None:
        self.written += [chunk.text for chunk in chunks]
        await super().upsert(collection, chunks, vectors, tokens)


class Source(EdgeIndex):
    """An index whose deletions may be made to wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.deleting, self.may_delete = asyncio.Event(), asyncio.Event()
        self.may_delete.set()

    async def delete(self, collection: Collection, where: Filter) -> None:
        self.deleting.set()
        await self.may_delete.wait()
        await super().delete(collection, where)


@pytest.fixture
async def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "source")


@pytest.fixture
async def target(tmp_path: Path) -> Target:
    return Target(tmp_path / "target")


@pytest.fixture
async def house(tmp_path: Path, source: Source, target: Target) -> AsyncIterator[House]:
    """With a collection of three documents, which is not yet where others are to be."""
    (tmp_path / "data").mkdir()
    async with opened(tmp_path / "data", an_index=EdgeIndex(tmp_path / "source")) as house:
        for name in ("hours", "rules", "rooms"):
            house.write(f"{name}.txt", f"Of {name} there is much to say. " * 40)
        await house.ingest()
    index = MovingIndex(source, target, HOME)
    async with opened(tmp_path / "data", an_index=index) as house:
        yield house


async def shown(house: House) -> set[str]:
    """The texts that a search finds."""
    collection = await house.collection()
    async with house.catalog.snapshot(collection) as hidden:
        found = await house.index.search(
            collection, [Search("much to say")], exclude_hidden(hidden), 1_000
        )
        ids = [item.chunk_id for item in found[0].found]
        return {chunk.text for chunk in (await house.index.fetch(collection, ids)).values()}


async def move_it(house: House) -> None:
    async with asyncio.timeout(PATIENCE):
        await move(house.index, house.catalog, await house.collection())


async def nothing() -> None:
    """What happens where nothing does."""


async def is_without_hours(house: House) -> None:
    """One of three documents is gone for good."""
    await house.pipeline.purge()
    texts = await shown(house)
    assert texts
    assert not [text for text in texts if "hours" in text]
    assert len(await house.catalog.documents("default")) == 2
    assert await house.examine() == ()


async def forget(house: House, name: str) -> None:
    """Delete a document as a server does."""
    [gone] = [
        document for document in await house.catalog.documents("default") if name in document.path
    ]
    await house.catalog.retire([gone.id])
    await house.pipeline.purge()


async def test_given_a_move_then_all_is_there_with_its_vectors_and_gone_from_here(
    house: House,
) -> None:
    old, before = await house.collection(), await house.chunks()
    vectors = await house.index.vectors(old, list(before))
    [found] = await house.examine(mend=False)
    assert "still at INDEX__FROM_URL" in found
    await move_all(house.index, house.catalog)
    new = await house.collection()
    assert (new.place, new.build) == (HOME, old.build + 1)
    assert await house.chunks() == before
    after = await house.index.vectors(new, list(before))
    assert {id: list(item) for id, item in after.items()} == {
        id: list(vector) for id, vector in vectors.items()
    }
    assert await house.index.count(old) == 0
    assert await house.catalog.list_unused() == []
    assert await house.examine() == ()
    await house.ingest("another")
    assert (await house.collection("another")).place == HOME


async def test_given_writes_and_deletes_meanwhile_then_they_are_in_it_and_deletes_do_not_wait(
    house: House, target: Target
) -> None:
    async def while_it_is_copied() -> None:
        house.write("hours.txt", "Of hours there is nothing to say.")
        house.write("new.txt", "Of bridges there is much to say.")
        await house.ingest()
        (house.documents / "rules.txt").unlink()
        await forget(house, "rules")
        assert not [text for text in await shown(house) if "rules" in text]

    async def while_nobody_writes() -> None:
        (house.documents / "rooms.txt").unlink()
        await forget(house, "rooms")
        assert await shown(house) == expected
        later.append(asyncio.create_task(house.ingest()))

    expected = {"Of hours there is nothing to say.", "Of bridges there is much to say."}
    later: list[asyncio.Task[None]] = []
    target.meanwhile = [while_it_is_copied, while_nobody_writes]
    await move_it(house)
    assert (await house.collection()).place == HOME
    assert await shown(house) == expected
    await later[0]
    await house.pipeline.purge()
    assert await shown(house) == expected
    assert {chunk.text for chunk in (await house.chunks()).values()} == expected
    assert await house.examine() == ()


async def test_given_a_move_that_was_cut_off_then_it_goes_on(
    house: House, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "BATCH", 2)
    before = await house.chunks()

    async def cut_off() -> None:
        raise asyncio.CancelledError

    target.meanwhile = [cut_off]
    with pytest.raises(asyncio.CancelledError):
        await move_it(house)
    assert (await house.collection()).place == ""
    assert sorted(target.written) == sorted(chunk.text for chunk in before.values())
    target.written.clear()
    house.write("rooms.txt", "Of rooms there is nothing to say.")
    await house.ingest()
    await move_it(house)
    assert target.written == ["Of rooms there is nothing to say."]
    assert not [text for text in await shown(house) if "rooms there is much" in text]
    assert await house.examine() == ()


async def test_given_a_purge_that_began_before_the_switch_then_it_deletes_there(
    house: House, target: Target
) -> None:
    """It has read what to delete, and waits for a search; meanwhile the collection is there."""
    purging: list[asyncio.Task[bool]] = []

    async def delete_while_nobody_writes() -> None:
        [gone] = [
            document
            for document in await house.catalog.documents("default")
            if "hours" in document.path
        ]
        await house.catalog.retire([gone.id])
        purging.append(asyncio.create_task(house.pipeline.purge()))
        await asyncio.sleep(0.1)

    target.meanwhile = [nothing, delete_while_nobody_writes]
    async with house.catalog.snapshot(await house.collection()):
        working = asyncio.create_task(move_it(house))
        async with asyncio.timeout(PATIENCE):
            while (await house.collection()).place != HOME:
                await asyncio.sleep(0.01)
    await asyncio.gather(working, *purging)
    await is_without_hours(house)


@pytest.mark.parametrize("way", ["move", "rebuild"])
async def test_given_a_purge_that_deletes_during_the_switch_then_what_is_deleted_stays_away(
    house: House, source: Source, way: str
) -> None:
    """It is forgotten by the state only when the new index has been filled."""
    source.may_delete.clear()
    deleting = asyncio.create_task(forget(house, "hours"))
    await source.deleting.wait()
    await (move_it(house) if way == "move" else house.rebuild("default"))
    assert (await house.collection()).place == HOME
    source.may_delete.set()
    await deleting
    await is_without_hours(house)


@pytest.mark.parametrize("way", ["move", "rebuild"])
async def test_given_a_delete_after_it_was_copied_then_it_does_not_answer_again(
    house: House, target: Target, way: str
) -> None:
    target.meanwhile = [lambda: forget(house, "hours")]
    await (move_it(house) if way == "move" else house.rebuild("default"))
    assert (await house.collection()).place == HOME
    await is_without_hours(house)


@pytest.mark.parametrize("before", [0, 1])
async def test_given_a_collection_that_is_dropped_meanwhile_then_it_does_not_come_back(
    house: House, target: Target, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.move.AGAIN_SECONDS", 0.1)
    collection = await house.collection()

    async def drop() -> None:
        await house.catalog.drop_collection("default", collection.id)
        await house.pipeline.purge()

    target.meanwhile = [*[nothing] * before, drop]
    async with asyncio.timeout(PATIENCE):
        await move_all(house.index, house.catalog)
    assert await house.catalog.collections() == []


async def test_given_a_backup_meanwhile_then_it_has_everything(
    house: House, tmp_path: Path
) -> None:
    from ragstone.backup.back_up import write_backup

    before = await house.chunks()
    steps = house.steps(write_backup, tmp_path / "backup.zip")
    await anext(steps)
    await move_it(house)
    old = await house.catalog.list_unused()
    assert [item.place for item in old] == [""]
    async for _ in steps:
        pass
    await house.pipeline.purge()
    assert await house.catalog.list_unused() == []
    await house.restore(tmp_path / "backup.zip")
    assert await house.chunks() == before
    assert (await house.collection()).place == HOME
