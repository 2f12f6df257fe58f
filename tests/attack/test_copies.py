"""A copy of a data directory never commands the original, nor knows its tokens."""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI, Response

from ragstone.ingest.uploads import Spool
from ragstone.service import Handed
from ragstone.service.server_file import find_server, is_copy, local_token, publish, read_token
from ragstone.service.wire import INSTANCE_HEADER, instance
from ragstone.store.lock import lock_directory
from tests.http_server import running

TOKEN = "operators-token"


@pytest.fixture
def original(tmp_path: Path) -> Iterator[Path]:
    """A data directory with a server that has it."""
    app = FastAPI()

    @app.get("/health")
    def health() -> Response:
        return Response(headers={INSTANCE_HEADER: instance(TOKEN)})

    data = tmp_path / "original"
    with running(app) as url:
        local_token(data)
        (data / "lock").touch()
        publish(data, url, TOKEN)
        assert find_server(data) == (url, TOKEN)
        yield data


def copy_with_cp(original: Path, copy: Path) -> None:
    subprocess.run(["cp", "-a", original, copy], check=True)


def copy_in_part(original: Path, copy: Path) -> None:
    """As rsync does into a directory that is there already."""
    copy.mkdir()
    shutil.copytree(original, copy, dirs_exist_ok=True)


def copy_by_links(original: Path, copy: Path) -> None:
    subprocess.run(["cp", "-al", original, copy], check=True)


def copy_by_archive(original: Path, copy: Path) -> None:
    packed = shutil.make_archive(str(copy), "tar", original)
    shutil.unpack_archive(packed, copy)


def copy_to_another_disk(original: Path, copy: Path) -> None:
    other = (
        Path("/dev/shm") if os.stat("/dev/shm").st_dev != original.stat().st_dev else Path("/tmp")
    )
    elsewhere = other / f"copy-{os.getpid()}-{copy.parent.name}"
    shutil.copytree(original, elsewhere)
    copy.symlink_to(elsewhere)


COPIES = [copy_with_cp, copy_in_part, copy_by_links, copy_by_archive, copy_to_another_disk]


@pytest.mark.parametrize("copying", COPIES, ids=lambda copying: copying.__name__)
def test_a_copy_has_neither_the_server_nor_the_tokens_of_its_original(
    original: Path,
    tmp_path: Path,
    copying: Callable[[Path, Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, token, copy = find_server(original), read_token(original), tmp_path / "copy"
    copying(original, copy)

    assert find_server(copy) is None
    assert read_token(copy) == ""
    with caplog.at_level(logging.WARNING):
        assert local_token(copy) not in ("", token)

    assert [record.message.count("is a copy") for record in caplog.records] == [1]
    assert local_token(copy) == read_token(copy)
    assert find_server(copy) is None
    assert (find_server(original), read_token(original)) == (server, token)
    if copy.is_symlink():
        shutil.rmtree(copy.resolve())


def test_whoever_opens_a_copy_leaves_the_server_of_the_original_unknown(
    original: Path, tmp_path: Path
) -> None:
    copy_with_cp(original, tmp_path / "copy")
    with lock_directory(tmp_path / "copy"):
        assert find_server(tmp_path / "copy") is None
    assert not (tmp_path / "copy" / "server.json").exists()
    assert find_server(original)


def test_a_directory_is_the_same_under_another_name(original: Path, tmp_path: Path) -> None:
    server, token = find_server(original), local_token(original)
    (tmp_path / "link").symlink_to(original)
    assert find_server(tmp_path / "link") == server

    original.rename(tmp_path / "moved")

    moved = tmp_path / "moved"
    assert (find_server(moved), local_token(moved), is_copy(moved)) == (server, token, False)


def test_a_directory_is_the_same_where_it_is_mounted(original: Path, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    if subprocess.run(["mount", "--bind", original, mount], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        assert find_server(mount) == find_server(original)
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


def test_a_directory_of_an_earlier_version_keeps_its_token(original: Path) -> None:
    token = local_token(original)
    (original / "identity").unlink()
    assert local_token(original) == token


def test_the_uploads_of_a_copy_are_its_own(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    for data in (original, copy):
        (data / "spool" / "a1").mkdir(parents=True)
    theirs, gone = original / "spool" / "a1" / "bees.txt", original / "spool" / "b2" / "gone.txt"
    spool = Spool(copy)

    for file in (theirs, gone):
        here = spool.locate(Handed(str(file), "/x.txt", "upload:x"), elsewhere=False)
        assert Path(here.file).is_relative_to(copy)
    alone = spool.locate(Handed(str(theirs), "/x.txt", "upload:x"), elsewhere=True)
    assert alone.file == str(theirs)
