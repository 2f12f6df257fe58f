"""A collection follows files of real WebDAV, S3 and SFTP servers."""

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.core.sync import SourceRun
from ragstone.plugins.sources import item_run
from tests import samba
from tests.ingest.sources.file_servers import PASSWORD, RCLONE, VARIABLE, FileServer
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

pytestmark = pytest.mark.real


@pytest.fixture(params=["webdav", "s3", "sftp", "smb"], scope="module")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FileServer | samba.Samba]:
    folder = tmp_path_factory.mktemp("served")
    server: FileServer | samba.Samba = FileServer(request.param, folder)
    if request.param == "smb":
        samba.require_samba()
        server = samba.Samba(folder)
    elif RCLONE is None:
        pytest.skip("needs rclone")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(running: FileServer, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """A server that runs, with two files."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    if running.process is None:
        running.start()
    shutil.rmtree(running.folder, ignore_errors=True)
    write(running.folder / "menu.txt", "There is soup.")
    write(running.folder / "pay" / "salaries.txt", "The director earns 9,000 euros.")
    return running


@pytest.fixture
async def synced(tmp_path: Path, server: FileServer) -> AsyncIterator[SyncedCollection]:
    kind, options = server.kind, server.options
    async with opened_collection(tmp_path, kind=kind, options=options) as collection:
        yield collection


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, removed, unchanged, failed."""
    return run.added, run.changed, run.removed, run.unchanged, run.failed


async def test_files_are_added_changed_renamed_and_removed(
    synced: SyncedCollection, server: FileServer
) -> None:
    first = await synced.sync()
    second = await synced.sync()
    write(server.folder / "menu.txt", "There is now a fish.")
    write(server.folder / "new.txt", "New.")
    (server.folder / "pay" / "salaries.txt").rename(server.folder / "pay" / "wages.txt")
    dry = await synced.sync(dry=True)
    third = await synced.sync()

    assert (first.state, first.error, counts(first)) == ("done", "", (2, 0, 0, 0, 0))
    assert counts(second) == (0, 0, 0, 2, 0)
    assert counts(dry) == counts(third) == (2, 1, 1, 0, 0)
    assert set(await synced.documents()) == {
        "/house/menu.txt",
        "/house/new.txt",
        "/house/pay/wages.txt",
    }
    assert await synced.texts() == {
        "There is now a fish.",
        "New.",
        "The director earns 9,000 euros.",
    }


async def test_readers_of_the_source_alone_find_its_files(
    tmp_path: Path, server: FileServer
) -> None:
    options = {"kind": server.kind, "options": server.options, "readers": ("group:hr",)}
    async with opened_collection(tmp_path, **options) as synced:
        await synced.sync()

        assert await synced.texts() == set()
        assert len(await synced.texts("group:hr")) == 2


async def test_a_wrong_password_fails_the_run_and_is_not_shown(
    synced: SyncedCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await synced.sync()
    monkeypatch.setenv(VARIABLE, "wrong-4711")

    run = await synced.sync()

    assert run.state == "failed"
    assert "cannot be read: it refuses" in run.error
    assert "4711" not in run.error
    assert len(await synced.documents()) == 2


async def test_a_folder_that_is_gone_removes_nothing(
    synced: SyncedCollection, server: FileServer
) -> None:
    await synced.sync()
    shutil.rmtree(server.folder)

    run = await synced.sync()

    assert (run.removed, len(await synced.documents())) == (0, 2)
    # In a bucket there are no folders, but names that begin alike.
    if server.kind == "s3":
        assert run.held == 2
    else:
        assert "cannot be read: it is not there" in run.error


async def test_a_server_that_is_gone_removes_nothing(
    synced: SyncedCollection, server: FileServer
) -> None:
    await synced.sync()
    server.stop()

    run = await synced.sync()

    assert "cannot be read: nothing answers there." in run.error
    assert len(await synced.documents()) == 2


async def test_a_server_that_stops_in_the_middle_removes_nothing_and_is_gone_on_with(
    synced: SyncedCollection, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_run, "PAGE", 3)
    for number in range(9):
        write(server.folder / f"{number}.txt", f"Text {number}.")
    await synced.sync()
    for number in range(9):
        write(server.folder / f"{number}.txt", f"Text {number}, changed.")
    stopped = synced.parts.pipeline.ingest

    async def stop_after_a_page(*arguments: object, **more: object) -> object:
        server.stop()
        return await stopped(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(synced.parts.pipeline, "ingest", stop_after_a_page)
    broken = await synced.sync()
    monkeypatch.setattr(synced.parts.pipeline, "ingest", stopped)
    server.start()
    whole = await synced.sync()

    assert (broken.state, broken.removed) == ("failed", 0)
    assert 0 < broken.changed < 9
    assert (whole.state, whole.changed) == ("done", 9 - broken.changed)
    assert len(await synced.documents()) == 11


async def test_names_of_any_kind_are_read_as_they_are(
    synced: SyncedCollection, server: FileServer
) -> None:
    names = [
        *("C# notes.txt", "what?.txt", "a%41.txt", "aA.txt", "100%.txt", "a+b.txt", " lead.txt"),
        *("semi;colon.txt", "a&b.txt", 'quo"te.txt', "[x].txt", "back\\slash.txt", "ü.txt"),
        *("menü.txt", "日本.txt", "dir#1/x?.txt", "dir%20/y.txt", ".hidden/z.txt", ".z.txt"),
        *("~x.txt", "x=y.txt", "a:b.txt", "sum.pdf.txt", "https:/x.txt"),
    ]
    if server.kind == "smb":
        names = [name for name in names if not set(name) & set('\\:?"')]
    shutil.rmtree(server.folder)
    for name in names:
        write(server.folder / name, f"This is {name!r}.")

    run = await synced.sync()

    shown = [name for name in names if not name.startswith(".")]
    assert (run.state, run.failures, run.added) == ("done", (), len(shown))
    assert await synced.texts() == {f"This is {name!r}." for name in shown}


async def test_a_file_that_is_too_large_fails_alone(
    synced: SyncedCollection, server: FileServer
) -> None:
    settings = synced.parts.settings.model_copy(update={"max_file_mb": 1})
    synced.parts = replace(synced.parts, settings=settings)
    write(server.folder / "large.txt", "x" * 3 * 2**20)

    run = await synced.sync()

    assert counts(run) == (2, 0, 0, 0, 1)
    assert "more than the 1 MB" in run.failures[0].reason
