"""Files that a text includes: found in the given folder only, and bounded."""

from pathlib import Path

import pytest

from ragstone.ingest.document import Block
from ragstone.ingest.formats.includes import MAX_INCLUDED_FILES, read_included
from tests.ingest.formats.reading import opened

CODE = """import os


# --8<-- [start:part]
#
def run(x):
    return x
#
# --8<-- [end:part]


# tag::stop[]
def stop():
    pass
# end::stop[]


class Door:
    @property
    def open(self):
        return True
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A given folder with files to include, beside a secret one."""
    given = tmp_path / "given"
    for name, text in {
        "parts/code.py": CODE,
        "parts/text.rst": "Included *text*.\n\n.. include:: more.rst\n",
        "parts/more.rst": "And more.\n",
        "parts/text.md": "---\ntitle: Part\n---\n# Part\n\nIncluded *text*.\n",
        "parts/text.adoc": "== Part\n\nIncluded *text*.\n",
        "parts/table.csv": "Ann,30\nBob,25\n",
        ".env": "SECRET",
        "docs/.keep": "",
    }.items():
        file = given / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "secret.txt").write_text("SECRET")
    return given


def shown(folder: Path, name: str, source: str) -> list[Block]:
    parsed = opened(folder, f"docs/{name}", source, folder)
    assert parsed.notes == ()
    return list(parsed.blocks)


RUN = Block("def run(x):\n    return x", "code", label="python")
STOP = Block("def stop():\n    pass", "code", label="python")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (".. include:: ../parts/text.rst", [Block("Included text."), Block("And more.")]),
        (".. include:: /parts/more.rst", [Block("And more.")]),
        (
            "- An item\n\n  .. include:: ../parts/more.rst\n",
            [Block("- An item", "item", 1, label="-"), Block("And more.")],
        ),
        (
            ".. include:: ../parts/more.rst\n   :literal:\n",
            [Block("And more.", "code")],
        ),
        (".. literalinclude:: ../parts/code.py\n   :pyobject: run", [RUN]),
        (".. literalinclude:: ../parts/code.py\n   :lines: 6-7\n   :language: python", [RUN]),
        (
            ".. literalinclude:: ../parts/code.py\n   :start-after: tag::stop[]\n"
            "   :end-before: # end::stop\n\nText.",
            [STOP, Block("Text.")],
        ),
        (
            ".. literalinclude:: ../parts/code.py\n   :pyobject: Door.open\n",
            [Block("@property\ndef open(self):\n    return True", "code", label="python")],
        ),
        (
            ".. csv-table::\n   :file: ../parts/table.csv\n   :header: Name, Days\n",
            [Block("Name: Ann; Days: 30\nName: Bob; Days: 25", "table")],
        ),
    ],
)
def test_given_rst_that_includes_then_it_is_read_as_if_it_stood_there(
    folder: Path, source: str, expected: list[Block]
) -> None:
    assert shown(folder, "a.rst", source) == expected


PART_OF_CODE = Block("#\ndef run(x):\n    return x\n#", "code", label="python")
PART = [Block("Part", "heading", 1), Block("Included text.")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('--8<-- "parts/text.md"', PART),
        ("--8<--\nparts/text.md\n; parts/not.md\n--8<--", PART),
        ("{{#include ../parts/text.md}}", PART),
        ("<!--@include: ../parts/text.md-->", PART),
        ("```{include} ../parts/text.md\n```", PART),
        ('```python\n--8<-- "parts/code.py:part"\n```', [PART_OF_CODE]),
        ('```python\n--8<-- "parts/code.py:6:7"\n```', [RUN]),
        ("```python\n{!../parts/code.py!}[ln:1]\n```", None),
        ("{* ../parts/code.py hl[1] ln[6:7] *}", [RUN]),
        ("```{literalinclude} ../parts/code.py\n:pyobject: run\n```", [RUN]),
    ],
)
def test_given_markdown_that_includes_then_it_is_read_as_if_it_stood_there(
    folder: Path, source: str, expected: list[Block] | None
) -> None:
    found = shown(folder, "a.md", source)
    assert found == expected if expected else "class Door" in found[0].text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "include::../parts/text.adoc[leveloffset=+1]",
            [Block("Part", "heading", 3), Block("Included text.")],
        ),
        (
            ":dir: ../parts\n\n[source,python]\n----\ninclude::{dir}/code.py[tag=stop]\n----\n",
            [STOP],
        ),
        (
            "[source,python]\n----\ninclude::../parts/code.py[lines=6..7]\n----\n",
            [RUN],
        ),
    ],
)
def test_given_asciidoc_that_includes_then_it_is_read_as_if_it_stood_there(
    folder: Path, source: str, expected: list[Block]
) -> None:
    assert shown(folder, "a.adoc", source) == expected


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../../secret.txt", "outside the given folder"),
        ("link.txt", "outside the given folder"),
        ("/etc/hostname", "not there"),
        ("../.env", "not there"),
        ("missing.rst", "not there"),
        ("a.rst", "it includes itself"),
        ("../parts", "not there"),
        ("x" * 600, "not there"),
    ],
)
def test_given_a_file_elsewhere_then_it_is_left_out_and_told(
    folder: Path, name: str, why: str
) -> None:
    (folder / "docs/link.txt").symlink_to(folder.parent / "secret.txt")
    parsed = opened(folder, "docs/a.rst", f"Text.\n\n.. include:: {name}\n", folder)
    assert [block.text for block in parsed.blocks] == ["Text."]
    assert parsed.notes == (f"Included files were left out: {name[:80]} ({why}).",)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.rst", "Text.\n\n.. include:: ../parts/more.rst\n"),
        ("a.md", 'Text.\n\n--8<-- "../parts/text.md"\n'),
        ("a.adoc", "Text.\n\ninclude::../parts/text.adoc[]\n"),
    ],
)
def test_given_a_file_alone_then_what_it_includes_is_left_out_and_told(
    folder: Path, name: str, source: str
) -> None:
    parsed = opened(folder, f"docs/{name}", source)
    assert [block.text for block in parsed.blocks] == ["Text."]
    assert "given without its folder" in parsed.notes[0]


def test_given_files_that_include_each_other_many_times_then_it_ends_soon(folder: Path) -> None:
    for level in range(9):
        (folder / f"docs/{level}.rst").write_text(f".. include:: {level + 1}.rst\n" * 50)
    (folder / "docs/9.rst").write_text("End.\n")
    parsed = opened(folder, "docs/a.rst", "Text.\n\n.. include:: 0.rst\n", folder)
    assert sum(block.text == "End." for block in parsed.blocks) <= MAX_INCLUDED_FILES
    assert "too much" in parsed.notes[0]


def test_the_files_that_one_is_made_of_are_known(folder: Path) -> None:
    opened(folder, "docs/a.rst", ".. include:: ../parts/text.rst\n", folder)
    names = [file.name for file in read_included(folder / "docs/a.rst", folder).files]
    assert names == ["text.rst", "more.rst"]
    assert read_included(folder / "parts/table.csv", folder).files == ()


@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.adoc"])
@pytest.mark.parametrize(
    "line",
    ["{* " + "x " * 300_000, "{{#include " + "x" * 600_000, "-" * 600_000, "--8<--" * 100_000],
)
def test_given_a_hostile_line_then_it_costs_no_more_than_its_length(
    folder: Path, name: str, line: str
) -> None:
    opened(folder, f"docs/{name}", f"Text.\n\ninclude\n{line}\n", folder)
    assert read_included(folder / f"docs/{name}", folder).files == ()
