"""What a disk refuses is never taken for damage, and never keeps anybody from reading."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from ragstone.core.disk import MAX_FLOOR, disk_error, free_floor, need_room
from ragstone.core.errors import ConfigError, RagstoneError, StateUnavailable, StorageFull
from ragstone.local import repair
from ragstone.settings import Settings
from ragstone.store.sql import salvage
from tests.documents import DOCUMENTS
from tests.e2e.processes import here, run


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A disk of its own in memory."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        # Lazily: processes of the test that end may still hold it.
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "size=4m") as folder:
        yield folder


def fill(disk: Path, leave: int = 0) -> Path:
    """Take all of a disk but `leave` bytes; the file that has it."""
    file = disk / "filling"
    with file.open("wb", buffering=0) as filling:
        for size in (2**20, 2**10, 1):
            with suppress(OSError):
                while filling.write(bytes(size)):
                    pass
        filling.truncate(filling.tell() - leave)
    return file


def make_database(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE a (b)")
        connection.executemany("INSERT INTO a VALUES (?)", [("x" * 500,)] * 100)
        connection.commit()


def make_damage(file: Path) -> None:
    """Cut a SQLite file off in its middle."""
    with file.open("r+b") as cut:
        cut.truncate(file.stat().st_size // 2)


def list_all(folder: Path) -> dict[str, int]:
    return {str(item.relative_to(folder)): item.stat().st_ino for item in folder.rglob("*")}


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, ConfigError),
        (errno.EACCES, ConfigError),
        (errno.EIO, StateUnavailable),
        (errno.ENOENT, type(None)),
    ],
)
def test_the_system_s_errors_have_a_meaning(
    tmp_path: Path, number: int, kind: type[RagstoneError]
) -> None:
    told = f"Service runtime error: {os.strerror(number)} (os error {number})"
    for error in (OSError(number, os.strerror(number)), Exception(told)):
        meant = disk_error(error, tmp_path / "state.sqlite")
        assert isinstance(meant, kind)
        assert meant is None or "\n" not in meant.message


def test_a_file_that_was_cut_off_is_damage_and_no_failure_of_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    make_database(file)
    make_damage(file)
    assert salvage.flaws(file)


@pytest.mark.parametrize("name", ["cache.sqlite", "state.sqlite"])
def test_on_a_full_disk_nothing_is_found_damaged(disk: Path, name: str) -> None:
    make_database(disk / name)
    filling = fill(disk)
    before = list_all(disk)

    with pytest.raises(StorageFull, match="full"):
        repair.find_damage(Settings(ragstone_data=disk))

    assert list_all(disk).keys() - before.keys() <= {"lock", "identity"}
    filling.unlink()
    assert salvage.flaws(disk / name) == []


def test_on_a_full_disk_a_damaged_file_stays_where_it_is(disk: Path) -> None:
    make_database(disk / "state.sqlite")
    make_damage(disk / "state.sqlite")
    [damage] = repair.find_damage(Settings(ragstone_data=disk))
    fill(disk)

    assert damage.mend
    with pytest.raises(StorageFull):
        damage.mend()

    assert (disk / "state.sqlite").exists()
    assert not (disk / "damaged").exists()


def test_on_a_disk_that_is_read_only_nothing_is_found_damaged(disk: Path) -> None:
    make_database(disk / "cache.sqlite")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(ConfigError, match=r"read-only|cannot be written"):
        repair.find_damage(Settings(ragstone_data=disk))
    with pytest.raises(ConfigError, match="read-only"):
        salvage.flaws(disk / "cache.sqlite")


def test_without_the_right_to_read_a_file_it_is_not_damaged(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    make_database(file)
    file.chmod(0)
    code = (
        "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "from pathlib import Path\n"
        "from ragstone.core.errors import ConfigError\n"
        "from ragstone.store.sql import salvage\n"
        "try: print(salvage.flaws(Path(sys.argv[1])))\n"
        "except ConfigError as error: print('refused', error.message)\n"
    )
    if os.geteuid():
        pytest.skip("only root can be somebody else")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    if "PermissionError" in done.stderr or "ModuleNotFound" in done.stderr:
        pytest.skip("nobody may not read the packages of this environment")
    assert done.stdout.startswith("refused"), (done.stdout, done.stderr)


def test_what_stays_free_is_a_part_of_the_disk(tmp_path: Path, disk: Path) -> None:
    assert free_floor(disk) == shutil.disk_usage(disk).total // 20
    assert free_floor(tmp_path) <= MAX_FLOOR
    need_room(disk, 2**20)
    with pytest.raises(StorageFull, match="nothing has changed"):
        need_room(disk, 2**40)


@pytest.mark.real
@pytest.mark.parametrize(
    "leave",
    # With no room no job is queued; with this much it is queued and begun, and cannot be ended.
    [0, 100 * 2**10, 160 * 2**10, 220 * 2**10],
)
def test_on_a_full_disk_everybody_reads_and_the_doctor_says_one_line(
    tmp_path: Path, leave: int
) -> None:
    with mounted(tmp_path / "disk", "size=320m") as disk:
        data = disk / "data"
        assert here(data, "ingest", str(DOCUMENTS)).returncode == 0
        filling = fill(disk, leave)

        asked = run(data, "ask", "How long does a full battery charge last without sun?")
        assert asked.returncode == 0, asked.stderr
        assert "lantern" in asked.stdout.lower()
        listed = run(data, "documents")
        assert (listed.returncode, listed.stdout.count("ready")) == (0, 5)
        assert run(data, "search", "battery").returncode == 0
        for command in (["doctor", "--yes"], ["ingest", str(DOCUMENTS), "--collection", "b"]):
            refused = run(data, *command)
            assert refused.returncode == 1
            [line] = [
                splitline for splitline in refused.stderr.splitlines() if "WARNING" not in splitline
            ]
            assert "full" in line, refused.stderr
        assert not (data / "damaged").exists()

        filling.unlink()
        assert run(data, "doctor", "--check").returncode == 0
