"""What people download is complete, has nothing else in it, and is the same whoever builds it."""

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from tests.test_notice import DATA, ENTRIES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Release:
    """A wheel and a source distribution that were built of this tree."""

    wheel: Path
    sdist: Path

    def names(self) -> set[str]:
        """The files of the wheel."""
        with zipfile.ZipFile(self.wheel) as packed:
            return set(packed.namelist())

    def read(self, name: str) -> bytes:
        """A file of the wheel."""
        with zipfile.ZipFile(self.wheel) as packed:
            return packed.read(name)

    def metadata(self) -> Message:
        """What a package index shows of it."""
        [name] = (name for name in self.names() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(self.read(name))


def build(tree: Path, target: str, folder: Path) -> Path:
    """Build of `tree` as a package index would have it, into `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=tree, env=variables, check=True, capture_output=True)
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    return Release(build(ROOT, "wheel", folder / "w"), build(ROOT, "sdist", folder / "s"))


@pytest.fixture(scope="module")
def unpacked(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tree of the source distribution."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(release.sdist) as packed:
        packed.extractall(folder, filter="data")
    [tree] = folder.iterdir()
    return tree


def test_the_source_distribution_builds_the_same_wheel(
    release: Release, unpacked: Path, tmp_path: Path
) -> None:
    again = build(unpacked, "wheel", tmp_path / "again")

    assert again.name == release.wheel.name
    assert again.read_bytes() == release.wheel.read_bytes()


def test_the_source_distribution_is_the_same_each_time(release: Release, tmp_path: Path) -> None:
    assert build(ROOT, "sdist", tmp_path / "again").read_bytes() == release.sdist.read_bytes()


def test_the_wheel_has_every_file_of_the_package_unchanged(release: Release) -> None:
    files = [*(SOURCE / "ragstone").rglob("*.py"), *DATA]
    expected = {file.relative_to(SOURCE).as_posix(): file for file in files}

    assert set(expected) <= release.names()
    assert [
        name for name, file in expected.items() if release.read(name) != file.read_bytes()
    ] == []


def test_the_wheel_has_nothing_but_the_package_its_manual_and_its_metadata(
    release: Release,
) -> None:
    tops = {name.partition("/")[0] for name in release.names()}
    shared = {name for name in release.names() if ".data/" in name}

    version = release.metadata()["Version"]

    assert tops == {"ragstone", f"ragstone-{version}.dist-info", f"ragstone-{version}.data"}
    assert {Path(name).name for name in shared} == {"ragstone.1"}
    assert not [name for name in release.names() if "__pycache__" in name or "/tests/" in name]


def test_the_wheel_has_licence_and_notice_of_all_that_is_in_it(release: Release) -> None:
    licences = {Path(name).name: name for name in release.names() if "/licenses/" in name}

    assert release.metadata()["License-Expression"] == "Apache-2.0"
    assert set(licences) == {"LICENSE", "NOTICE"}
    assert ENTRIES
    for name, place in licences.items():
        assert release.read(place) == (ROOT / name).read_bytes()


def test_its_description_has_no_links_to_files_that_an_index_does_not_have(
    release: Release,
) -> None:
    text = str(release.metadata().get_payload())

    assert text.startswith("# Ragstone")
    assert "](docs/" not in text
    assert "![" not in text.replace("![](http", "")


def test_the_source_distribution_has_tests_documentation_and_changes(unpacked: Path) -> None:
    for name in ("tests", "docs", "deploy", "CHANGELOG.md", "noxfile.py", "NOTICE", "LICENSE"):
        assert (unpacked / name).exists(), name
