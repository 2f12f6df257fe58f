"""Who may read what after any history of ingests, rules, changes of readers, deletions and crashes:
just whom a plain model lets in, on the real index and the real catalog."""

import asyncio
import json
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.filters import And, exclude_hidden, reader_filter
from ragstone.core.readers import FolderReaders
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.service import Handed, IngestRequest
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from tests.hashing import OneEmbedder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NAMES = ("user:ada", "user:bob", "group:hr", "group:board")
UNIVERSE = frozenset({*NAMES, "*"})
FOLDERS = ("", "/docs", "/docs/a", "/docs/a/b", "/docs/c")
FILES = ("/docs/x.txt", "/docs/a/x.txt", "/docs/a/y.txt", "/docs/a/b/x.txt", "/docs/c/x.txt")
WHO = (
    Principal(user="ada"),
    Principal(user="bob", groups=("hr",)),
    Principal(user="eve", groups=("board", "hr")),
    Principal(user="guest"),
)


def let_in(readers: Iterable[str]) -> frozenset[str]:
    named = frozenset(readers)
    return UNIVERSE if "*" in named else named


@dataclass
class Model:
    """What should be so, in sets of names."""

    own: dict[str, tuple[frozenset[str], bool]] = field(default_factory=dict)
    files: dict[str, frozenset[str]] = field(default_factory=dict)
    set: dict[str, frozenset[str]] = field(default_factory=dict)

    def allowed(self, path: str, own: frozenset[str], fixed: bool) -> frozenset[str]:
        if fixed:
            return own
        scope = None
        parts = path.split("/")
        for folder in ("/".join(parts[:n]) for n in range(2, len(parts) + 1)):
            if folder in self.set:
                scope = self.set[folder]
            elif folder in self.files:
                scope = self.files[folder] & (UNIVERSE if scope is None else scope)
        if own:
            return own if scope is None else own & scope
        return self.set.get("", UNIVERSE) if scope is None else scope

    def now(self, path: str) -> frozenset[str]:
        return self.allowed(path, *self.own[path])

    def comes(self, path: str, told: frozenset[str], by: Principal | None = None) -> None:
        """A document is handed over or found."""
        own, fixed = self.own.get(path, (frozenset(), False))
        if by and path in self.own and not self.now(path) & set(by.names):
            return
        mine = own if fixed or not told else told
        if not self.allowed(path, mine, fixed):
            return
        if by and path in self.own and told and not fixed and not told <= self.now(path):
            return
        self.own[path] = mine, fixed

    def readable(self, who: Principal) -> list[str]:
        return sorted(path for path in self.own if self.now(path) & set(who.names))


@dataclass
class World:
    """A pipeline with what it works on, and the model beside it."""

    index: EdgeIndex
    catalog: SqlCatalog
    pipeline: Pipeline
    folder: Path
    model: Model

    async def collection(self) -> Any:
        found = await self.catalog.collection("default", "default")
        assert found
        return found

    def write(self, path: str, text: str) -> None:
        file = self.folder / path.strip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    async def run(self, request: IngestRequest) -> None:
        await self.pipeline.ingest("job", request, lambda progress: None)

    async def found(self, who: Principal) -> list[str]:
        """The documents of which a principal finds chunks."""
        collection = await self.collection()
        async with self.catalog.snapshot(collection) as hidden:
            where = And((reader_filter(who), exclude_hidden(hidden)))
            scan = self.index.scan(collection, where)
            return sorted({chunk.path async for batch in scan for chunk in batch})

    async def listed(self, who: Principal) -> list[str]:
        collection = await self.collection()
        shown = await self.catalog.documents("default", collection.id, readers=who.names)
        return sorted(item.path for item in shown if item.version)

    async def check(self) -> None:
        for who in WHO:
            expected = self.model.readable(who)
            assert await self.found(who) == expected
            assert await self.listed(who) == expected


@asynccontextmanager
async def opened(place: Path, model: Model) -> AsyncIterator[World]:
    place.mkdir(parents=True, exist_ok=True)
    async with open_database(place / "state.sqlite") as database:
        catalog = await SqlCatalog.open(database)
        index = EdgeIndex(place / "index")
        pipeline = Pipeline(index, catalog, OneEmbedder(), IngestSettings(), data=place)
        yield World(index, catalog, pipeline, place / "files", model)
        await pipeline.aclose()
        await index.aclose()


def some_names(draw: random.Random) -> tuple[str, ...]:
    return ("*",) if draw.random() < 0.2 else tuple(draw.sample(NAMES, draw.randint(1, 3)))


async def ingest(world: World, draw: random.Random) -> None:
    """Files and folders' rules change on the disk, and then all of it is ingested."""
    for path in FILES:
        if draw.random() < 0.4:
            world.write(path, f"Text number {draw.randint(0, 5)} of {path}.")
    for folder in FOLDERS[1:]:
        if draw.random() < 0.3:
            world.write(
                f"{folder}/ragstone.yaml", f"readers: {list(some_names(draw))}".replace("'", '"')
            )
    told = some_names(draw) if draw.random() < 0.3 else ()
    root = world.folder / "docs"
    present = [path for path in FILES if (world.folder / path.strip("/")).exists()]
    for folder in FOLDERS[1:]:
        rule = world.folder / folder.strip("/") / "ragstone.yaml"
        # A folder in which nothing is has nothing to say.
        if rule.exists() and any(path.startswith(f"{folder}/") for path in present):
            world.model.files[folder] = let_in(
                json.loads(rule.read_text().removeprefix("readers: "))
            )
    for path in present:
        world.model.comes(path, let_in(told) if told else frozenset())
    await world.run(IngestRequest((str(root),), allowed=told))


async def upload(world: World, draw: random.Random) -> None:
    path = draw.choice([*FILES, "/docs/a/up.txt", "/up.txt"])
    told = some_names(draw) if draw.random() < 0.6 else ()
    by = draw.choice([None, *WHO])
    world.folder.mkdir(exist_ok=True)
    file = world.folder / "upload.txt"
    file.write_text(f"Uploaded {draw.random()}.")
    known = path in world.model.own and (world.folder / path.strip("/")).exists()
    handed = Handed(str(file), path, f"upload:{path}", allowed=told)
    if not known:  # The path of a file that is there is that one's.
        world.model.comes(path, let_in(told) if told else frozenset(), by)
        await world.run(IngestRequest(handed=(handed,), by=by))


async def give(world: World, draw: random.Random) -> None:
    if not world.model.own:
        return
    paths = draw.sample(sorted(world.model.own), draw.randint(1, len(world.model.own)))
    names = some_names(draw) if draw.random() < 0.7 else ()
    collection = await world.collection()
    documents = await world.catalog.documents("default", collection.id, named=paths)
    for path in paths:
        world.model.own[path] = (let_in(names) if names else frozenset()), bool(names)
    await world.pipeline.give_readers(collection, [document.id for document in documents], names)


async def set_folder(world: World, draw: random.Random) -> None:
    folder, names = draw.choice(FOLDERS), some_names(draw) if draw.random() < 0.7 else ()
    if names:
        world.model.set[folder] = let_in(names)
    else:
        world.model.set.pop(folder, None)
    await world.pipeline.put_folder_readers(
        await world.collection(), [FolderReaders(folder, names)]
    )


async def delete(world: World, draw: random.Random) -> None:
    if world.model.own:
        path = draw.choice(sorted(world.model.own))
        del world.model.own[path]
        collection = await world.collection()
        [document] = await world.catalog.documents("default", collection.id, named=[path])
        await world.pipeline.forget(collection, [document.id])
        await world.pipeline.purge()
        (world.folder / path.strip("/")).unlink(missing_ok=True)


async def rebuild(world: World, draw: random.Random) -> None:
    await world.pipeline.rebuild("job", await world.collection(), lambda progress: None)


STEPS = [ingest, ingest, upload, upload, give, give, set_folder, set_folder, delete, rebuild]


@pytest.mark.parametrize("seed", range(12))
async def test_after_any_history_just_whom_the_model_lets_in_finds_a_document(
    tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/x.txt", "The first one.")
        await ingest(world, draw)
        for _ in range(14):
            await draw.choice(STEPS)(world, draw)
            await world.check()


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("seed", range(8))
async def test_after_a_crash_in_a_change_nobody_finds_what_neither_state_lets_in(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    model = Model()
    async with opened(tmp_path, model) as world:
        for path in FILES:
            world.write(path, f"Text of {path}.")
        await ingest(world, draw)
        if draw.random() < 0.5:
            await set_folder(world, draw)
        before = {who.user: model.readable(who) for who in WHO}
        calls = draw.randint(0, 4)
        write, grant = world.index.upsert, world.catalog.grant

        def dying(method: Any) -> Any:
            async def call(*arguments: Any, **named: Any) -> Any:
                nonlocal calls
                calls -= 1
                if calls < 0:
                    raise Killed
                return await method(*arguments, **named)

            return call

        monkeypatch.setattr(world.index, "upsert", dying(write))
        monkeypatch.setattr(world.catalog, "grant", dying(grant))
        monkeypatch.setattr("ragstone.ingest.readers.AT_ONCE", 2)
        with suppress(Killed):
            await draw.choice([set_folder, give])(world, draw)
        monkeypatch.undo()
        for who in WHO:
            allowed = {*before[who.user], *model.readable(who)}
            assert allowed.issuperset(await world.found(who))
    async with opened(tmp_path, model) as world:
        await world.pipeline.finish_readers()
        for who in WHO:
            allowed = {*before[who.user], *model.readable(who)}
            assert allowed.issuperset(found := await world.found(who))
            assert found == await world.listed(who)
        assert not await world.catalog.list_withheld(1)


@pytest.mark.parametrize("known", [False, True])
async def test_readers_that_change_while_a_file_is_read_hold_for_what_was_read(
    tmp_path: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/other.txt", "Another one.")
        if known:
            world.write("/docs/a/x.txt", "Former text.")
        await world.run(IngestRequest((str(world.folder / "docs"),)))
        world.write("/docs/a/x.txt", "The text.")
        publish = world.catalog.publish_all

        async def slow(documents: Any) -> None:
            monkeypatch.undo()
            collection = await world.collection()
            rule = FolderReaders("/docs/a", ("group:hr",))
            await world.pipeline.put_folder_readers(collection, [rule])
            await publish(documents)

        monkeypatch.setattr(world.catalog, "publish_all", slow)
        await world.run(IngestRequest((str(world.folder / "docs"),)))

        assert "/docs/a/x.txt" not in await world.found(Principal(user="guest"))
        assert "/docs/a/x.txt" in await world.found(Principal(groups=("hr",)))


async def test_a_document_of_a_file_that_is_not_read_again_keeps_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/a/x.txt", "The text.")
        await world.run(IngestRequest((str(world.folder / "docs"),)))
        shutil.rmtree(world.folder)
        collection = await world.collection()
        [document] = await world.catalog.documents("default", collection.id)

        await world.pipeline.give_readers(collection, [document.id], ("group:hr",))

        [now] = await world.catalog.documents("default", collection.id)
        assert (now.version, now.status, now.allowed) == (1, "ready", ("group:hr",))
        assert await world.index.count_without_vectors(collection) == 0
        assert await world.found(Principal(groups=("hr",))) == ["/docs/a/x.txt"]


async def test_a_rule_that_cannot_be_read_closes_its_folder_for_new_files(tmp_path: Path) -> None:
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/open.txt", "For everyone.")
        world.write("/docs/a/x.txt", "Not for everyone.")
        world.write("/docs/a/ragstone.yaml", "readers: [hr\n")

        last = await world.pipeline.ingest(
            "job", IngestRequest((str(world.folder / "docs"),)), lambda progress: None
        )

        assert await world.found(WHO[0]) == ["/docs/open.txt"]
        assert "not known who may read" in "".join(item.reason for item in last.failed)


async def test_a_rule_above_a_file_that_is_given_alone_holds_for_it(tmp_path: Path) -> None:
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/a/b/x.txt", "Not for everyone.")
        world.write("/docs/a/ragstone.yaml", "readers: group:hr\n")
        await world.run(IngestRequest((str(world.folder / "docs/a/b/x.txt"),)))
        assert await world.found(Principal(user="guest")) == []
        assert await world.found(Principal(groups=("hr",))) == ["/x.txt"]


async def test_a_rule_whose_file_is_gone_stays_until_somebody_ends_it(tmp_path: Path) -> None:
    async with opened(tmp_path, Model()) as world:
        world.write("/docs/a/x.txt", "Not for everyone.")
        world.write("/docs/a/ragstone.yaml", "readers: group:hr\n")
        request = IngestRequest((str(world.folder / "docs"),))
        await world.run(request)
        (world.folder / "docs/a/ragstone.yaml").unlink()
        world.write("/docs/a/new.txt", "Neither.")

        last = await world.pipeline.ingest("job", request, lambda progress: None)

        assert await world.found(Principal(user="guest")) == []
        assert any("stays" in note for note in last.notes)


async def test_readers_that_change_during_a_rebuild_hold_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, Model()) as world:
        for path in FILES:
            world.write(path, f"Text of {path}.")
        await world.run(IngestRequest((str(world.folder / "docs"),)))
        collection = await world.collection()
        optimize = world.index.optimize

        async def changing(new: Any) -> None:
            monkeypatch.undo()
            rule = FolderReaders("/docs/a", ("group:hr",))
            await world.pipeline.put_folder_readers(collection, [rule])
            await optimize(new)

        monkeypatch.setattr(world.index, "optimize", changing)
        await rebuild(world, random.Random(1))

        assert (await world.collection()).build > collection.build
        for who in (Principal(user="guest"), Principal(groups=("hr",))):
            assert await world.found(who) == await world.listed(who)
        assert await world.found(Principal(user="guest")) == ["/docs/c/x.txt", "/docs/x.txt"]


DYING = """
import asyncio, sys
from pathlib import Path
from ragstone.ingest import readers
from tests.ingest.test_readers import Model, opened
readers.AT_ONCE = 5
async def main():
    async with opened(Path(sys.argv[1]), Model()) as world:
        collection = await world.collection()
        ids = await world.catalog.ids("default", collection.id, None)
        print("begun", flush=True)
        await world.pipeline.give_readers(collection, ids, ("group:hr",))
        print("done", flush=True)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
async def test_after_kill_9_in_a_change_of_many_documents_each_is_as_before_or_as_intended(
    tmp_path: Path,
) -> None:
    draw = random.Random(9)
    async with opened(tmp_path / "first", Model()) as world:
        for number in range(60):
            world.write(f"/docs/{number}.txt", f"Text number {number}.")
        await world.run(IngestRequest((str(world.folder / "docs"),), allowed=("user:bob",)))
    for number in range(6):
        place = tmp_path / str(number)
        shutil.copytree(tmp_path / "first", place)
        command = [sys.executable, "-c", DYING, str(place)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            await asyncio.sleep(draw.uniform(0, 0.3))
            process.kill()
        async with opened(place, Model()) as world:
            for _ in range(2):
                bob, hr = Principal(user="bob"), Principal(groups=("hr",))
                ada, both = Principal(user="ada"), Principal(user="bob", groups=("hr",))
                found, theirs = await world.found(bob), await world.found(hr)
                assert await world.found(ada) == []
                assert not set(found) & set(theirs)
                assert len(await world.listed(both)) == 60
                await world.pipeline.finish_readers()
            assert len(found) + len(theirs) == 60
