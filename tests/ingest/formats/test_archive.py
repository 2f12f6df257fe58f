"""Archives: members as sections, within the bounds of every other package."""

import io
import zipfile
from pathlib import Path

import pytest

from ragstone.core.errors import ArchiveBomb, EmptyDocument, UnreadableDocument
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def packed(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_given_members_when_read_then_each_is_a_section_under_its_path(tmp_path: Path) -> None:
    members = {
        "b/notes.md": b"# Notes\n\nText.",
        "a.txt": b"First.",
        "picture.png": b"\x89PNG",
        "__MACOSX/a.txt": b"junk",
        ".hidden.txt": b"junk",
        "../../out.txt": b"Outside.",
    }
    parsed = parse(packed(tmp_path / "all.zip", members), IngestSettings())
    assert parsed.title == "all"
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        ("heading", 1, "a.txt"),
        ("paragraph", 0, "First."),
        ("heading", 1, "b/notes.md"),
        ("heading", 2, "Notes"),
        ("paragraph", 0, "Text."),
        ("heading", 1, "out.txt"),
        ("paragraph", 0, "Outside."),
    ]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["all.zip"]


def test_given_archives_in_archives_when_read_then_those_of_the_second_are_the_last(
    tmp_path: Path,
) -> None:
    data = b""
    for level in range(5):
        inner = {f"t{level}.txt": f"Level {level}.".encode()}
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for name, text in {**inner, **({"z.zip": data} if data else {})}.items():
                archive.writestr(name, text)
        data = target.getvalue()
    (tmp_path / "a.zip").write_bytes(data)
    texts = [block.text for block in parse(tmp_path / "a.zip", IngestSettings()).blocks]
    assert [text for text in texts if text.startswith("Level")] == ["Level 4.", "Level 3."]


def test_given_nothing_readable_when_read_then_it_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument):
        parse(packed(tmp_path / "a.zip", {"a.png": b"\x89PNG"}), IngestSettings())


def test_given_more_than_fits_when_read_then_it_is_a_bomb(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", {"a.txt": b"word " * 500_000})
    with pytest.raises(ArchiveBomb, match="MAX_FILE_MB"):
        parse(path, IngestSettings(max_file_mb=4))
    path = packed(tmp_path / "b.zip", {"a.txt": bytes(30 << 20)})
    with pytest.raises(ArchiveBomb, match="times its size"):
        parse(path, IngestSettings())


def test_given_a_cut_archive_when_read_then_it_is_unreadable(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", {"a.txt": b"word " * 500})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnreadableDocument, match="damaged or incomplete"):
        parse(path, IngestSettings())
