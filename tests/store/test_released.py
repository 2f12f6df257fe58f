"""Data directories as versions before this one and the first release wrote them: documents, a
conversation, a topic, a key and settings, of a collection that is there and of one to come."""

import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ragstone import build
from ragstone.core.errors import StateUnavailable, StorageFull
from ragstone.core.turn import Ask, Principal
from ragstone.settings import CacheSettings, Settings
from ragstone.store.sql import migrations
from tests.store.sql.next_schema import NEXT, next_schema

PACKED = Path(__file__).parent.parent / "released"
OLDER, RELEASED = "0100", "0102"
"""The schemas of the directories that are kept: before the first release, and of it."""

ASK = Ask("How long does the battery of the Lantern 3 last?", cache=False)
ME = Principal()


@pytest.fixture(params=[OLDER, RELEASED])
def schema(request: pytest.FixtureRequest) -> str:
    """That of the directory."""
    return str(request.param)


@pytest.fixture
def data(tmp_path: Path, schema: str) -> Path:
    with tarfile.open(PACKED / f"data-{schema}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "data"


@pytest.fixture
def of_next_version(tmp_path: Path) -> Iterator[None]:
    """The program is the one after the release."""
    with next_schema(tmp_path):
        yield


def settings(data: Path) -> Settings:
    return Settings(ragstone_data=data, cache=CacheSettings(enabled=True))


def dump(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def created(lines: list[str]) -> set[str]:
    """The tables and indexes."""
    return {line.partition("(")[0] for line in lines if line.startswith("CREATE")}


def shards(data: Path) -> set[str]:
    return {str(file.relative_to(data)) for file in data.glob("index/*/*/*")}


@pytest.mark.parametrize("schema", [OLDER])
async def test_this_version_adds_what_it_lacks_and_keeps_it_as_it_was(
    data: Path, schema: str
) -> None:
    before = dump(data / "state.sqlite")
    async with build.open(settings(data)) as ragstone:
        assert {collection.collection.name for collection in await ragstone.collections(ME)} == {
            "default",
            "minutes",
        }
    assert dump(data / f"state-{schema}.sqlite") == before
    assert created(before) < created(dump(data / "state.sqlite"))


@pytest.mark.usefixtures("of_next_version")
async def test_the_next_version_keeps_a_backup_and_answers_as_before(
    data: Path, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    before, places = dump(data / "state.sqlite"), shards(data)
    async with build.open(settings(data)) as ragstone:
        turn = [event async for event in ragstone.ask(ASK)][-1].turn  # type: ignore[union-attr]
        assert turn.answer is not None
        assert "31 days without sun" in turn.answer.text
        assert turn.passages[0].hit.chunk.path == "/documents/lantern-3-manual.md"
        known = await ragstone.collections(ME)
        assert [(item.collection.name, item.documents, item.chunks) for item in known] == [
            ("default", 5, 13),
            ("minutes", 1, 1),
        ]
        assert [topic.term for topic in await ragstone.topics("default")] == ["merger"]
        [room] = (await ragstone.conversations.rooms(ME, None, 10)).rooms
        assert room.room == "kitchen"
        [key] = await ragstone.keys.list_all("default")
        assert key.collections == ("default", "reports")
        for name, value in (("default", 4), ("reports", 3), ("minutes", 10)):
            assert (await ragstone.settings.get("rag.top_k", "default", name)).value == value
        assert [note async for note in ragstone.maintenance.examine(False)][-1].notes == ()
        ids = {document.id for document in await ragstone.documents(ME, "default")}
        # What it has goes with it to another name, and nothing of it is moved.
        await ragstone.rename_collection(ME, "default", "handbook")
        assert (await ragstone.settings.get("rag.top_k", "default", "handbook")).value == 4
        assert (await ragstone.settings.get("rag.top_k", "default", "default")).value == 10
        assert (await ragstone.keys.list_all("default"))[0].collections == ("handbook", "reports")
        assert {document.id for document in await ragstone.documents(ME, "handbook")} == ids
    kept = data / f"state-{schema}.sqlite"
    assert dump(kept) == before
    assert f"from schema {schema} to {NEXT}" in caplog.text
    assert str(kept) in caplog.text
    assert shards(data) == places
    kept.unlink()
    async with build.open(settings(data)) as ragstone:
        names = [collection.collection.name for collection in await ragstone.collections(ME)]
        assert names == ["handbook", "minutes"]
    assert not kept.exists()


def refused(data: Path) -> list[str]:
    """The lines of a command that fails."""
    command = [sys.executable, "-c", "from ragstone.cli import main; main()", "--data", str(data)]
    run = subprocess.run([*command, "collections"], capture_output=True, text=True, check=False)
    assert run.returncode
    assert not run.stdout
    return run.stderr.splitlines()


@pytest.mark.usefixtures("of_next_version")
async def test_a_backup_that_cannot_be_written_stops_it_and_nothing_has_changed(
    data: Path, schema: str
) -> None:
    before = dump(data / "state.sqlite")
    (data / f"state-{schema}.sqlite").mkdir()
    with pytest.raises(
        StateUnavailable, match=f"state-{schema}.sqlite, cannot be written.*Nothing has"
    ):
        async with build.open(settings(data)):
            pass
    assert dump(data / "state.sqlite") == before
    assert not list(data.glob(".state*"))


@pytest.mark.usefixtures("of_next_version")
async def test_a_full_disk_stops_it_too(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(StorageFull, match="full"):
            async with build.open(settings(data)):
                pass
    async with build.open(settings(data)) as ragstone:
        assert len(await ragstone.collections(ME)) == 2


@pytest.mark.usefixtures("of_next_version")
async def test_a_migration_that_breaks_leaves_both(
    data: Path, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(data / "state.sqlite")

    def broken(connection: Connection, schema: str = "head") -> None:
        connection.exec_driver_sql("DROP TABLE traces")
        raise RuntimeError("power cut")

    monkeypatch.setattr(migrations, "migrate", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        async with build.open(settings(data)):
            pass
    assert dump(data / "state.sqlite") == before == dump(data / f"state-{schema}.sqlite")


def test_a_newer_one_is_refused_in_one_line(data: Path) -> None:
    connection = sqlite3.connect(data / "state.sqlite")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    *_, line = refused(data)  # A warning that the directory is a copy comes first.
    assert line.startswith("ragstone: The data was written by a newer Ragstone (schema 9999")
    assert not list(data.glob("state-*"))
