"""What files beside documents say of them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InvalidMetadata
from ragstone.ingest.files import FoundFile, discover
from ragstone.ingest.metadata import MAX_METADATA_BYTES, FoundMetadata, MetadataFiles


def write(path: Path, text: str = "Whales sing.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def said_of(*given: Path) -> dict[str, FoundMetadata]:
    beside = MetadataFiles()
    found = [item for item in discover(given) if isinstance(item, FoundFile)]
    return {item.path: beside.describe(item) for item in found}


def test_given_a_sidecar_then_it_is_typed_and_no_document(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "a.txt")
    sidecar = "year: 2023\nshare: 0.5\ndraft: false\ncreated: 2024-03-01\ncountry: no\nnone:\n"
    write(tmp_path / "docs" / "a.txt.meta.yaml", sidecar + 'tags: [law, 7]\nid: 007\nof: "1"\n')
    said = said_of(tmp_path / "docs")
    assert said == {
        "/docs/a.txt": FoundMetadata(
            {
                "year": 2023,
                "share": 0.5,
                "draft": False,
                "created": "2024-03-01",
                "country": "no",
                "tags": ["law", 7],
                "id": "007",
                "of": "1",
            }
        )
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt.meta.yml", "year: 1"), ("a.txt.meta.json", '{"year": 1, "none": null}')],
)
def test_given_a_sidecar_of_another_ending_then_it_counts_too(
    tmp_path: Path, name: str, text: str
) -> None:
    file = write(tmp_path / "a.txt")
    write(tmp_path / name, text)
    assert said_of(file)["/a.txt"].metadata == {"year": 1}


def test_given_patterns_then_later_ones_win_and_the_sidecar_over_them(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in ("reports/2023/q1/a.txt", "reports/2023/b.txt", "reports/2022/c.txt", "d.md"):
        write(docs / name)
    write(
        docs / "ragstone.yaml",
        '"reports/**": {kind: report, year: 0}\n"reports/2023/*": {year: 2023}\n'
        '"*.md": {kind: note}\n"b.txt": {name: b}\n',
    )
    write(docs / "reports" / "ragstone.yaml", '"*/c.txt": {year: 2022}')
    write(docs / "reports/2023/b.txt.meta.yaml", "kind: sidecar")
    assert {path: said.metadata for path, said in said_of(docs).items()} == {
        "/docs/d.md": {"kind": "note"},
        "/docs/reports/2022/c.txt": {"kind": "report", "year": 2022},
        "/docs/reports/2023/b.txt": {"kind": "sidecar", "year": 2023, "name": "b"},
        "/docs/reports/2023/q1/a.txt": {"kind": "report", "year": 2023},
    }


def test_given_a_file_alone_then_the_folders_above_it_speak_too(tmp_path: Path) -> None:
    file = write(tmp_path / "docs" / "sub" / "a.txt")
    write(tmp_path / "docs" / "ragstone.yaml", '"sub/*": {year: 2023}')
    by_folder = said_of(tmp_path / "docs")["/docs/sub/a.txt"]
    assert by_folder == said_of(file)["/a.txt"] == FoundMetadata({"year": 2023})


BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n" for before, name in zip("abcd", "bcde", strict=True)
)
BAD = [
    ("year: [1", "not YAML"),
    ("- a\n- b", "must have keys"),
    (BOMB, "aliases"),
    ("year: {of: birth}", "'year' must be a text"),
    ("a: 1\na: 2", "line 2: 'a' stands there twice"),
    ("[" * 5000, "nested"),
    ("? [a]\n: 1", "a key must be a text"),
    ("x: " + "y" * 3000, "more than 2,000 characters"),
    ("x: " + "y" * MAX_METADATA_BYTES, "more than 64 kB"),
    ("\n".join(f"k{n}: 1" for n in range(200)), "more than 100 keys"),
    (b"year: \xff\xfe", "not UTF-8"),
]


@pytest.mark.parametrize(("content", "reason"), BAD)
def test_given_a_bad_sidecar_then_one_line_names_it(
    tmp_path: Path, content: str | bytes, reason: str
) -> None:
    write(tmp_path / "docs" / "a.txt")
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / "docs" / "a.txt.meta.yaml").write_bytes(data)
    said = said_of(tmp_path / "docs")["/docs/a.txt"]
    assert said.metadata == {}
    [refused] = said.refused
    assert refused.path == "/docs/a.txt.meta.yaml"
    assert isinstance(refused.error, InvalidMetadata)
    assert reason in refused.error.message
    assert "a.txt.meta.yaml" in refused.error.message
    assert "\n" not in refused.error.message


def test_given_a_bad_folder_file_then_it_is_named_once_for_all_files(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        write(tmp_path / "docs" / name)
    write(tmp_path / "docs" / "ragstone.yaml", '"*": [1]')
    refused = [item for said in said_of(tmp_path / "docs").values() for item in said.refused]
    assert [item.path for item in refused] == [str(tmp_path / "docs" / "ragstone.yaml")]
    assert "below '*'" in refused[0].error.message


def test_given_a_sidecar_that_leads_outside_then_it_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.yaml", "password: x")
    write(tmp_path / "docs" / "a.txt")
    (tmp_path / "docs" / "a.txt.meta.yaml").symlink_to(secret)
    said = said_of(tmp_path / "docs")["/docs/a.txt"]
    assert said.metadata == {}
    assert "leads outside" in said.refused[0].error.message


def test_given_a_pipe_for_a_sidecar_then_nothing_waits_for_it(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "a.txt")
    os.mkfifo(tmp_path / "docs" / "a.txt.meta.yaml")
    said = said_of(tmp_path / "docs")["/docs/a.txt"]
    assert "not a regular file" in said.refused[0].error.message


@given(content=st.binary(max_size=200) | st.text("{}[]:-&*!|> \n'\"a1,#%?", max_size=80))
def test_given_any_sidecar_then_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str
) -> None:
    folder = tmp_path_factory.mktemp("docs")
    write(folder / "a.txt")
    data = content.encode() if isinstance(content, str) else content
    (folder / "a.txt.meta.yaml").write_bytes(data)
    [said] = said_of(folder).values()
    assert not (said.metadata and said.refused)
