"""A file with which the server dies again and again is left out; one beside which it is killed is
not."""

import os
from pathlib import Path

import pytest

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.files import FoundFile
from ragstone.ingest.reading_marks import DEATHS, FOLDER, HEAVY_DEATHS, ReadingMarks


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.pdf").write_text("Some words.")
    return tmp_path / "a.pdf"


def make_item(file: Path) -> FoundFile:
    about = file.stat()
    return FoundFile(str(file), f"/{file.name}", file, about.st_size, about.st_mtime)


def die(data: Path, file: Path, *, heavy: bool) -> None:
    """Begin to read, and leave what a process that is killed leaves."""
    reading = ReadingMarks(data).mark(make_item(file))
    if heavy:
        reading.__enter__()()
    else:
        reading.__enter__()
    marks = {place: place.read_bytes() for place in (data / FOLDER).iterdir()}
    reading.__exit__(None, None, None)
    for place, mark in marks.items():
        place.write_bytes(mark)


def read(data: Path, file: Path) -> None:
    with ReadingMarks(data).mark(make_item(file)):
        pass


def test_given_a_file_that_is_read_then_no_mark_stays(tmp_path: Path, file: Path) -> None:
    read(tmp_path, file)
    with pytest.raises(ZeroDivisionError), ReadingMarks(tmp_path).mark(make_item(file)):
        raise ZeroDivisionError
    assert not list((tmp_path / FOLDER).iterdir())


def test_given_two_deaths_with_much_memory_then_the_file_is_left_out_once(
    tmp_path: Path, file: Path
) -> None:
    for _ in range(HEAVY_DEATHS):
        die(tmp_path, file, heavy=True)
    with pytest.raises(UnreadableDocument, match=r"ended 2 times while a\.pdf was read"):
        read(tmp_path, file)
    read(tmp_path, file)


def test_given_a_few_deaths_without_much_memory_then_the_file_is_read(
    tmp_path: Path, file: Path
) -> None:
    for number in range(DEATHS - 1):
        die(tmp_path, file, heavy=number == 0)
    read(tmp_path, file)


def test_given_many_deaths_at_the_same_file_then_it_is_left_out(tmp_path: Path, file: Path) -> None:
    for _ in range(DEATHS):
        die(tmp_path, file, heavy=False)
    with pytest.raises(UnreadableDocument):
        read(tmp_path, file)


def test_given_the_file_was_changed_or_read_meanwhile_then_deaths_count_anew(
    tmp_path: Path, file: Path
) -> None:
    die(tmp_path, file, heavy=True)
    os.utime(file, (1, 1))
    die(tmp_path, file, heavy=True)
    read(tmp_path, file)
    die(tmp_path, file, heavy=True)
    read(tmp_path, file)


def test_given_a_mark_that_was_cut_off_then_the_file_is_read(tmp_path: Path, file: Path) -> None:
    for _ in range(HEAVY_DEATHS):
        die(tmp_path, file, heavy=True)
    [place] = (tmp_path / FOLDER).iterdir()
    place.write_bytes(place.read_bytes()[:10])
    read(tmp_path, file)


def test_given_a_sample_of_such_a_file_then_it_is_not_read_and_what_is_known_stays(
    tmp_path: Path, file: Path
) -> None:
    for _ in range(HEAVY_DEATHS):
        die(tmp_path, file, heavy=True)
    for _ in range(2):
        marked = ReadingMarks(tmp_path).mark(make_item(file), sample=True)
        with pytest.raises(UnreadableDocument), marked:
            pass
    with pytest.raises(UnreadableDocument):
        read(tmp_path, file)
    read(tmp_path, file)


def test_given_another_file_or_no_folder_then_nothing_is_known(tmp_path: Path, file: Path) -> None:
    for _ in range(HEAVY_DEATHS):
        die(tmp_path, file, heavy=True)
    other = tmp_path / "b.pdf"
    other.write_text("Other words.")
    with ReadingMarks(tmp_path).mark(make_item(other)), ReadingMarks(None).mark(make_item(file)):
        pass
