"""Finding files."""

import os
from pathlib import Path

import pytest

from ragstone.core.errors import OutsideFolder, UnreadableDocument, WrongType
from ragstone.ingest.files import FoundFile, RefusedFile, SkippedFile, content_hash, discover
from ragstone.ingest.formats import recognition


def write(path: Path, text: str = "hello") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def paths_of(*given: Path) -> list[str]:
    return [found.path for found in discover(given)]


def refusal(found: object) -> RefusedFile:
    assert isinstance(found, RefusedFile)
    return found


def test_given_a_folder_when_walked_then_supported_files_come_in_order(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in ("b.txt", "a.MD", "sub/c.pdf", "image.gif", ".hidden.txt", ".git/d.txt"):
        write(docs / name)
    every = list(discover([docs]))
    found = [item for item in every if not isinstance(item, SkippedFile)]
    assert [item.path for item in found] == ["/docs/a.MD", "/docs/b.txt", "/docs/sub/c.pdf"]
    skipped = {item.path: item.kind for item in every if isinstance(item, SkippedFile)}
    assert skipped == {
        "/docs/image.gif": ".gif",
        "/docs/.hidden.txt": "hidden",
        "/docs/.git": "hidden",
    }
    first = found[1]
    assert isinstance(first, FoundFile)
    assert (first.source, first.root, first.size) == (docs / "b.txt", docs, 5)
    assert first.modified == (docs / "b.txt").stat().st_mtime


def test_given_a_file_when_named_then_it_is_at_the_top(tmp_path: Path) -> None:
    assert paths_of(write(tmp_path / "deep" / "a.txt")) == ["/a.txt"]


def test_given_a_relative_path_when_walked_then_the_source_is_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "docs" / "a.txt")
    monkeypatch.chdir(tmp_path / "docs")
    (found,) = discover([Path(".")])
    assert isinstance(found, FoundFile)
    assert (found.path, found.source) == ("/docs/a.txt", tmp_path / "docs" / "a.txt")


def test_given_an_unsupported_file_when_named_then_it_is_refused(tmp_path: Path) -> None:
    (found,) = discover([write(tmp_path / "a.gif")])
    error = refusal(found).error
    assert isinstance(error, WrongType)
    assert ".pdf, .docx" in error.message


def test_given_pictures_when_walked_then_they_are_documents_if_wanted(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "a.png")
    assert paths_of(tmp_path / "docs") == ["/docs/a.png"]
    (skipped,) = discover([tmp_path / "docs"], pictures=False)
    assert isinstance(skipped, SkippedFile)
    assert (skipped.path, skipped.kind) == ("/docs/a.png", ".png")


@pytest.mark.parametrize("installed", [True, False])
def test_given_an_unwanted_picture_when_named_then_it_says_what_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: installed)
    (found,) = discover([write(tmp_path / "a.png")], pictures=False)
    hint = "INGEST__OCR_PAGES" if installed else "pip install 'ragstone[ocr]'"
    assert hint in refusal(found).error.message


@pytest.mark.parametrize("name", ["gone.txt", "gone", "gone.png"])
def test_given_no_such_path_when_named_then_it_is_refused(tmp_path: Path, name: str) -> None:
    (found,) = discover([tmp_path / name])
    error = refusal(found).error
    assert isinstance(error, UnreadableDocument)
    assert "does not exist" in error.message


def test_given_a_misspelt_path_then_the_nearest_names_are_told(tmp_path: Path) -> None:
    write(tmp_path / "report.txt")
    write(tmp_path / "report.txt.meta.yaml")
    (found,) = discover([tmp_path / "reprot.txt"])
    assert refusal(found).error.message.endswith(f"The nearest: {tmp_path / 'report.txt'}.")
    (elsewhere,) = discover([tmp_path / "gone" / "a.txt"])
    assert "The nearest" not in refusal(elsewhere).error.message


def test_given_a_sidecar_when_named_then_it_is_no_document(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    (found,) = discover([write(tmp_path / "a.txt.meta.json")])
    assert "describes other files" in refusal(found).error.message


def test_given_a_link_that_leads_outside_when_walked_then_it_is_refused(
    tmp_path: Path,
) -> None:
    write(tmp_path / "secret" / "s.txt")
    docs = tmp_path / "docs"
    write(docs / "a.txt")
    (docs / "file.txt").symlink_to(tmp_path / "secret" / "s.txt")
    (docs / "folder").symlink_to(tmp_path / "secret")
    refused = [item for item in discover([docs]) if isinstance(item, RefusedFile)]
    assert [item.path for item in refused] == ["/docs/file.txt", "/docs/folder"]
    assert all(isinstance(item.error, OutsideFolder) for item in refused)


def test_given_a_link_inside_the_folder_when_walked_then_it_is_followed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "b.txt").parent.mkdir()
    (docs / "b.txt").symlink_to(write(docs / "a.txt"))
    assert paths_of(docs) == ["/docs/a.txt", "/docs/b.txt"]


def test_given_links_in_a_circle_when_walked_then_it_ends(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs / "sub" / "a.txt")
    (docs / "sub" / "up").symlink_to(docs)
    (docs / "self.txt").symlink_to(docs / "self.txt")
    found = list(discover([docs]))
    assert [item.path for item in found if isinstance(item, FoundFile)] == ["/docs/sub/a.txt"]


def test_given_a_broken_link_when_walked_then_it_is_refused(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").symlink_to(docs / "gone.txt")
    (found,) = discover([docs])
    assert isinstance(refusal(found).error, UnreadableDocument)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_given_no_permission_when_walked_then_it_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "docs" / "a.txt")
    path.chmod(0)
    (found,) = discover([tmp_path / "docs"])
    assert "permission denied" in refusal(found).error.message


def test_given_two_folders_of_the_same_name_when_walked_then_paths_stay_apart(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "x" / "docs", tmp_path / "y" / "docs"
    for path in (one / "a.txt", two / "a.txt", tmp_path / "x" / "b.txt", tmp_path / "y" / "b.txt"):
        write(path)
    given = (one, two, one, tmp_path / "x" / "b.txt", tmp_path / "y" / "b.txt")
    assert paths_of(*given) == ["/docs/a.txt", "/docs-2/a.txt", "/b.txt", "/b-2.txt"]


def test_given_a_named_pipe_when_walked_then_it_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    (found,) = discover([tmp_path])
    assert "not a regular file" in refusal(found).error.message


def test_given_content_when_hashed_then_only_the_content_counts(tmp_path: Path) -> None:
    one, two, three = (
        write(tmp_path / name, text) for name, text in (("a", "x"), ("b", "x"), ("c", "y"))
    )
    assert content_hash(one) == content_hash(two) != content_hash(three)
    assert len(content_hash(one)) == 32
    with pytest.raises(UnreadableDocument):
        content_hash(tmp_path / "gone")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("a.wpd", "Save it as .docx"), ("a.djvu", "Make a .pdf of it"), ("a.tar", "Unpack it")],
)
def test_given_a_type_that_cannot_be_read_then_it_is_said_what_to_do(
    tmp_path: Path, name: str, advice: str
) -> None:
    (tmp_path / name).write_text("x")
    [refused] = discover([tmp_path / name])
    assert isinstance(refused, RefusedFile)
    assert advice in refused.error.message


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + ".txt"])
def test_given_what_the_system_cannot_look_up_then_it_is_refused(tmp_path: Path, name: str) -> None:
    (found,) = discover([tmp_path / name])
    assert isinstance(refusal(found).error, UnreadableDocument)
    assert list(discover([tmp_path], only=[tmp_path / name])) == []


def only_paths(root: Path, *only: str) -> list[str]:
    found = discover([root], only=[root / entry for entry in only])
    return [item.path for item in found if isinstance(item, FoundFile)]


def test_given_places_then_nothing_else_is_looked_at(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", ".git/e.txt", "f.txt"):
        write(docs / name)
    assert only_paths(docs, "b.txt") == ["/docs/b.txt"]
    assert only_paths(docs, "sub") == ["/docs/sub/c.txt", "/docs/sub/deep/d.txt"]
    assert only_paths(docs, "sub/c.txt", "sub", "sub/deep") == only_paths(docs, "sub")
    assert only_paths(docs, ".git/e.txt", "gone.txt", "gone/x.txt", "a.gif") == []
    assert [*discover([docs], only=[tmp_path])] == [*discover([docs])]
    assert only_paths(docs) == []


def test_given_what_describes_documents_then_these_are_looked_at(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in ("a.txt", "a.txt.meta.yaml", "sub/c.txt", "sub/ragstone.yaml"):
        write(docs / name)
    assert only_paths(docs, "a.txt.meta.yaml") == ["/docs/a.txt"]
    assert only_paths(docs, "sub/ragstone.yaml") == ["/docs/sub/c.txt"]
    assert only_paths(docs, "ragstone.yaml") == ["/docs/a.txt", "/docs/sub/c.txt"]


def test_given_places_behind_links_then_links_are_followed_as_in_a_walk(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs / "in" / "a.txt")
    write(tmp_path / "out" / "b.txt")
    (docs / "linked").symlink_to(docs / "in")
    (docs / "outside").symlink_to(tmp_path / "out")
    (tmp_path / "given").symlink_to(docs)
    assert only_paths(docs, "linked/a.txt") == ["/docs/linked/a.txt"]
    assert only_paths(docs, "outside/b.txt") == []
    assert only_paths(tmp_path / "given", "in/a.txt") == ["/docs/in/a.txt"]


def test_given_a_file_then_only_its_own_place_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt")
    assert [item.path for item in discover([file], only=[file])] == ["/a.txt"]
    assert list(discover([file], only=[tmp_path / "b.txt"])) == []


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (1e308, 0.0),
        (-1e308, 0.0),
        (float("inf"), 0.0),
        (float("nan"), 0.0),
        (32_000_000_000_000.0, 0.0),
        (-86_400.5, -86_400.5),
        (253_402_300_799.0, 253_402_300_799.0),
    ],
    ids=["huge", "long ago", "inf", "nan", "year 1,000,000", "1969", "9999"],
)
def test_a_time_that_no_calendar_has_is_none(told: float, kept: float) -> None:
    assert FoundFile("/a.txt", "/a.txt", Path("/"), 1, told).modified == kept
