"""What is opened is a file of the folder, whatever happens to its name meanwhile."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest import parse as parsing
from ragstone.ingest.files import FoundFile, content_hash, discover
from ragstone.ingest.parse import parse
from ragstone.ingest.places import keep_folder, open_folder, open_regular, pin_file, read_regular
from ragstone.settings import IngestSettings
from tests.ingest.formats.test_golden import FILES
from tests.repetition import repeating

SECRET = "The password is hunter2."


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that nobody gave, with files of the same names."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("a.txt", "secret.txt"):
        (folder / name).write_text(SECRET)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs" / "sub"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Whales sing.")
    return folder


def make_pipe(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def make_socket(place: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(place.parent)  # The address of a socket is short.
        server.bind(place.name)
        os.chdir(here)


def make_link(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "secret.txt")


def make_link_to_a_link(place: Path, outside: Path) -> None:
    (outside / "link.txt").symlink_to("secret.txt")
    place.symlink_to(outside / "link.txt")


def make_link_to_a_device(place: Path, outside: Path) -> None:
    place.symlink_to("/dev/zero")


def make_folder(place: Path, outside: Path) -> None:
    place.mkdir()


@pytest.mark.parametrize(
    "make",
    [
        make_pipe,
        make_socket,
        make_link,
        make_link_to_a_link,
        make_link_to_a_device,
        make_folder,
    ],
)
@pytest.mark.parametrize("kept", [False, True])
def test_only_a_regular_file_is_opened(
    folder: Path, outside: Path, make: Callable[[Path, Path], None], kept: bool
) -> None:
    make(folder / "b.txt", outside)

    with keep_folder() if kept else nullcontext(), pytest.raises(OSError, match=r"it is (a|not)"):
        open_regular(folder / "b.txt")


def test_a_device_is_not_opened() -> None:
    with pytest.raises(OSError, match="it is not a regular file"):
        open_regular("/dev/zero")


def test_a_folder_that_became_a_link_leads_nowhere(folder: Path, outside: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(outside)

    with pytest.raises(OSError, match="it is a link, or is in a folder that became one"):
        open_regular(folder / "a.txt")
    with pytest.raises(OSError, match="it is a link"), open_folder(str(folder)):
        pass


@pytest.mark.parametrize("path", ["a.txt", "put:/a.txt", "/../etc/passwd", "/./etc/passwd", ""])
def test_a_path_that_is_not_whole_leads_nowhere(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    with pytest.raises(FileNotFoundError):
        open_regular(path)


def test_a_larger_file_than_wanted_is_not_read(folder: Path) -> None:
    assert read_regular(folder / "a.txt", 12) == b"Whales sing."
    with pytest.raises(OSError, match="too large"):
        read_regular(folder / "a.txt", 11)


def test_no_descriptor_stays_open(folder: Path, outside: Path) -> None:
    make_pipe(folder / "pipe.txt", outside)
    before = len(os.listdir("/proc/self/fd"))

    for name in ("pipe.txt", "none.txt", "a.txt"):
        with suppress(OSError), keep_folder():
            os.close(open_regular(folder / name))
        with suppress(OSError), pin_file(folder / name):
            pass
        list(discover([folder]))

    assert len(os.listdir("/proc/self/fd")) == before


@contextmanager
def swapping(place: Path, target: Path) -> Iterator[None]:
    """A file or folder that is swapped for a link and back, over and over."""
    own, link = place.with_name("own"), place.with_name("link")
    link.symlink_to(target)

    def swap() -> None:
        place.rename(own)
        link.rename(place)
        place.rename(link)
        own.rename(place)

    with repeating(swap):
        yield


@pytest.mark.parametrize("swapped", ["a.txt", ""], ids=["the file", "its folder"])
@pytest.mark.parametrize("kept", [False, True])
def test_a_file_or_folder_that_is_swapped_for_a_link_is_never_read_from_outside(
    folder: Path, outside: Path, swapped: str, kept: bool
) -> None:
    with swapping(folder / swapped, outside / swapped):
        for _ in range(1500):
            with keep_folder() if kept else nullcontext(), suppress(OSError):
                assert read_regular(folder / "a.txt", 1000) == b"Whales sing."


def test_a_link_that_is_swapped_while_it_is_followed_ends_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b.txt").symlink_to(folder / "a.txt")
    (folder / "c.rst").write_text("Owls hunt.\n\n.. include:: b.txt\n")

    def fail(path: str) -> str:
        raise OSError(22, "Invalid argument", path)

    monkeypatch.setattr(os, "readlink", fail)
    found = [item.path for item in discover([folder]) if isinstance(item, FoundFile)]

    assert found == ["/sub/a.txt", "/sub/c.rst"]
    assert "b.txt" in parse(folder / "c.rst", IngestSettings(), folder).notes[0]


@pytest.mark.parametrize("swapped", ["docs/sub/a.txt", "docs/sub"])
def test_what_is_found_and_hashed_while_it_is_swapped_is_of_the_folder(
    folder: Path, outside: Path, tmp_path: Path, swapped: str
) -> None:
    own = content_hash(folder / "a.txt")

    with swapping(tmp_path / swapped, outside / Path(swapped).name.replace("sub", "")):
        for _ in range(300):
            for item in discover([tmp_path / "docs"]):
                if isinstance(item, FoundFile):
                    assert item.source.is_relative_to(tmp_path / "docs")
                    # A fast machine may swap it each time between the two.
                    with suppress(UnreadableDocument):
                        assert content_hash(item.source) == own


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_parser_reads_the_file_that_was_opened_and_not_its_name(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever library it is read with."""
    settings = IngestSettings(ocr_pages=0)
    copy = tmp_path / file.name
    copy.write_bytes(file.read_bytes())

    @contextmanager
    def pin_and_swap(path: Path) -> Iterator[Path]:
        with pin_file(path) as pinned:
            copy.unlink()
            copy.symlink_to("/dev/full")
            yield pinned

    monkeypatch.setattr(parsing, "pin_file", pin_and_swap)
    parsed = parse(copy, settings)

    assert [block.text for block in parsed.blocks]
    assert copy.is_symlink()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rst", ".. include:: other.txt\n"),
        ("a.adoc", "include::other.txt[]\n"),
        ("a.md", '--8<-- "other.txt"\n'),
    ],
)
@pytest.mark.parametrize("make", [make_pipe, make_link, make_link_to_a_link])
def test_what_a_document_includes_is_a_regular_file_of_its_folder(
    folder: Path, outside: Path, name: str, text: str, make: Callable[[Path, Path], None]
) -> None:
    (folder / name).write_text(f"Owls hunt.\n\n{text}")
    make(folder / "other.txt", outside)

    parsed = parse(folder / name, IngestSettings(), folder)

    assert "hunter2" not in " ".join(block.text for block in parsed.blocks)
    assert "other.txt" in parsed.notes[0]
