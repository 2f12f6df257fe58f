"""A folder of this machine is followed with all that stands beside its files."""

import os
import shutil
import threading
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ragstone.core.sync import SourceRun
from ragstone.ingest.places import find_archive, resolve_links
from ragstone.plugins.sources import folder_run
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

pytestmark = pytest.mark.slow


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    write(folder / "menu.txt", "On Monday there is soup.")
    write(folder / "pay" / "salaries.txt", "The director earns 9,000 euros.")
    return folder


@pytest.fixture
async def synced(tmp_path: Path, house: Path) -> AsyncIterator[SyncedCollection]:
    options = {"path": str(house)}
    async with opened_collection(tmp_path, kind="folder", options=options) as collection:
        yield collection


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    # Files of this moment are hashed again the next time.
    os.utime(file, (1_700_000_000, 1_700_000_000 + len(text)))


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, rights, removed, unchanged, failed."""
    return run.added, run.changed, run.rights, run.removed, run.unchanged, run.failed


async def test_files_are_added_changed_and_removed(synced: SyncedCollection, house: Path) -> None:
    first = await synced.sync()
    write(house / "menu.txt", "On Monday there is a fish.")
    (house / "pay" / "salaries.txt").unlink()
    write(house / "new.txt", "New.")
    dry = await synced.sync(dry=True)
    second = await synced.sync()

    assert counts(first) == (2, 0, 0, 0, 0, 0)
    assert counts(dry) == counts(second) == (1, 1, 0, 1, 0, 0)
    assert await synced.texts() == {"On Monday there is a fish.", "New."}


async def test_a_file_that_closes_a_folder_is_a_change_of_rights_alone(
    synced: SyncedCollection, house: Path
) -> None:
    await synced.sync()

    write(house / "pay" / "ragstone.yaml", "readers: [group:hr]")
    await synced.sync()

    assert await synced.texts() == {"On Monday there is soup."}
    assert "The director earns 9,000 euros." in await synced.texts("group:hr")


async def test_a_folder_that_is_not_there_fails_the_run_and_its_documents_stay(
    synced: SyncedCollection, house: Path
) -> None:
    await synced.sync()

    house.rename(house.with_name("elsewhere"))
    run = await synced.sync()

    assert run.state == "failed"
    assert "is not a folder that can be read here" in run.error
    assert len(await synced.documents()) == 2


async def test_a_folder_that_is_empty_at_once_keeps_its_documents(
    synced: SyncedCollection, house: Path
) -> None:
    await synced.sync()

    shutil.rmtree(house)
    house.mkdir()
    run = await synced.sync()

    assert run.removed == 0
    assert "as a share is that is not mounted" in run.notes[0]
    assert len(await synced.documents()) == 2


async def test_a_folder_with_nothing_but_what_is_passed_over_keeps_its_documents(
    synced: SyncedCollection, house: Path
) -> None:
    await synced.sync()

    shutil.rmtree(house)
    write(house / ".not-mounted", "")
    dry = await synced.sync(dry=True)
    run = await synced.sync()
    kept = await synced.documents()
    accepted = await synced.sync(accept_removals=True)

    assert (dry.held, dry.removed) == (run.held, run.removed) == (2, 0)
    assert len(kept) == accepted.removed == 2


async def test_a_folder_that_shrinks_by_more_than_half_is_held_back_until_somebody_accepts_it(
    synced: SyncedCollection, house: Path
) -> None:
    for number in range(20):
        write(house / f"{number}.txt", f"Text {number}.")
    await synced.sync()

    for number in range(18):
        (house / f"{number}.txt").unlink()
    held = await synced.sync()
    dry = await synced.sync(dry=True)
    accepted = await synced.sync(accept_removals=True)

    assert (held.held, held.removed) == (dry.held, dry.removed) == (18, 0)
    assert "18 of 22 are gone at once" in held.notes[0]
    assert accepted.removed == 18


async def test_a_disk_that_does_not_answer_keeps_nothing_else_waiting(
    synced: SyncedCollection, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(house / "pack.zip", "w") as archive:
        archive.writestr("inside.txt", "Inside.")
    callers: set[str] = set()

    def noting(look: Callable[[Path], str]) -> Callable[[Path], str]:
        def noted(place: Path) -> str:
            callers.add(threading.current_thread().name)
            return look(place)

        return noted

    monkeypatch.setattr(folder_run, "resolve_links", noting(resolve_links))
    monkeypatch.setattr(folder_run, "find_archive", noting(find_archive))

    await synced.sync()
    dry = await synced.sync(dry=True)

    assert callers == {"files"}
    assert (dry.added, dry.changed, dry.removed) == (0, 0, 0)


async def test_a_file_that_cannot_be_read_is_named_with_its_reason(
    synced: SyncedCollection, house: Path
) -> None:
    write(house / "broken.pdf", "This is no PDF.")

    run = await synced.sync()

    assert (run.added, run.failed) == (2, 1)
    assert run.failures[0].path == "/house/broken.pdf"


async def test_a_link_out_of_the_folder_is_not_followed(
    synced: SyncedCollection, house: Path, tmp_path: Path
) -> None:
    write(tmp_path / "secret.txt", "Secret.")
    (house / "link.txt").symlink_to(tmp_path / "secret.txt")

    run = await synced.sync()

    assert run.failed == 1
    assert "Secret." not in await synced.texts()
