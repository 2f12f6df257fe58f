"""What Ragstone keeps is its owner's alone."""

import logging
from pathlib import Path

import pytest

from ragstone.store.lock import lock_directory
from tests.e2e.processes import run


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_given_a_new_data_directory_then_it_is_closed(tmp_path: Path) -> None:
    with lock_directory(tmp_path / "data"):
        assert mode(tmp_path / "data") == 0o700


def test_given_an_open_data_directory_then_it_and_what_it_holds_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "index" / "default").mkdir(parents=True)
    (data / "index" / "default" / "points").touch()
    (data / "state.sqlite").touch()
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with lock_directory(data):
        assert {mode(path) for path in (data, *data.rglob("*")) if path.is_dir()} == {0o700}
        assert {mode(path) for path in data.rglob("*") if path.is_file()} == {0o600}


def test_given_files_of_others_beside_then_those_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("notes.txt", "state.sqlite"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    with lock_directory(tmp_path):
        assert mode(tmp_path) == 0o755
        assert mode(tmp_path / "notes.txt") == 0o644
        assert mode(tmp_path / "state.sqlite") == 0o600


def test_given_rights_that_cannot_be_changed_then_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    with caplog.at_level(logging.WARNING), lock_directory(tmp_path / "data"):
        assert "belong to the user that runs Ragstone" in caplog.text


def test_given_a_command_then_every_file_that_it_makes_is_closed(tmp_path: Path) -> None:
    (tmp_path / "hours.txt").write_text("The museum opens at nine.")
    data = tmp_path / "data"
    done = run(data, "ingest", str(tmp_path / "hours.txt"))
    assert done.returncode == 0, done.stderr
    assert not [path for path in (data, *data.rglob("*")) if mode(path) & 0o077]
