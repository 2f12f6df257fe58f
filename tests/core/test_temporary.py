"""Temporary folders are gone when nobody uses them any more, and not before."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ragstone.core.disk import PREFIX, TemporaryFolder, remove_leftovers, temporary_folder

PROGRAM = """
from ragstone.core.disk import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "unpacked.txt").write_text("Whales sing.")
print(folder.path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a temporary folder, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(place)},
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_gone_after_its_use(place: Path) -> None:
    with temporary_folder() as folder:
        (folder / "a.txt").write_text("Whales sing.")
        assert folder.stat().st_mode & 0o777 == 0o700

    assert not list(place.iterdir())


def test_the_folder_of_a_process_that_was_killed_is_removed_and_that_of_a_live_one_is_not(
    place: Path,
) -> None:
    process, folder = start(place)
    own = TemporaryFolder()

    remove_leftovers()
    live = (folder / "unpacked.txt").exists()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    remove_leftovers()

    assert live
    assert list(place.iterdir()) == [own.path]
    own.remove()


def test_nothing_else_is_removed(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.txt").write_text("Whales sing.")
    (place / "ragstone-backup").mkdir()
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").write_text("Owls hunt.")
    (place / f"{PREFIX}real").mkdir()
    (place / f"{PREFIX}real" / "link").symlink_to(elsewhere)

    remove_leftovers()

    assert (elsewhere / "a.txt").exists()
    assert sorted(entry.name for entry in place.iterdir()) == [
        "ragstone-backup",
        f"{PREFIX}file",
        f"{PREFIX}link",
    ]
