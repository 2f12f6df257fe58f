"""Members that are compressed apart make a ZIP like any other."""

import os
import zipfile
from pathlib import Path

import pytest

from ragstone.backup.writer import Member, add, pack


def written(file: Path, members: list[Member]) -> zipfile.ZipFile:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("before", b"b")
        add(archive, members)
        archive.writestr("after", b"a")
    return zipfile.ZipFile(file)


@pytest.mark.parametrize(
    ("data", "method"),
    [
        (b"", zipfile.ZIP_STORED),
        (b"word " * 100_000, zipfile.ZIP_DEFLATED),
        (os.urandom(500_000), zipfile.ZIP_STORED),
    ],
    ids=["nothing", "text", "noise"],
)
def test_a_member_is_read_as_it_was_and_compressed_if_that_is_worth_it(
    tmp_path: Path, data: bytes, method: int
) -> None:
    with written(tmp_path / "a.zip", [pack("one", data), pack("folder/two", b"2")]) as found:
        assert found.testzip() is None
        assert found.namelist() == ["before", "one", "folder/two", "after"]
        assert [found.read(name) for name in found.namelist()] == [b"b", data, b"2", b"a"]
        assert found.getinfo("one").compress_type == method
        assert found.getinfo("one").compress_size <= len(data)
