"""YAML, TOML, INI, CSV and source code."""

from pathlib import Path

import pytest

from ragstone.core.errors import ArchiveBomb, UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def read(path: Path, name: str, text: str) -> list[Block]:
    (path / name).write_text(text, encoding="utf-8")
    return list(parse(path / name, IngestSettings()).blocks)


def test_given_yaml_when_read_then_values_stand_under_their_paths(tmp_path: Path) -> None:
    text = (
        "name: web\ndate: 2024-01-02\nports:\n- port: 80\n  open: true\n- port: 443\n--- !Ref x\n"
    )
    assert read(tmp_path, "a.yaml", text) == [
        Block("name: web\ndate: 2024-01-02"),
        Block("ports", "heading", 1),
        Block("ports.port: 80\nports.open: true\nports.port: 443"),
        Block("x"),
    ]


def test_given_yaml_names_without_a_value_when_read_then_they_are_there(tmp_path: Path) -> None:
    text = "on:\n  push: [main]\n  workflow_dispatch:\npermissions: {}\nroles:\n"
    assert read(tmp_path, "a.yaml", text) == [
        Block("on", "heading", 1),
        Block("on.push: main\non.workflow_dispatch"),
        Block("permissions | roles"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[" * 100_000, UnreadableDocument),
        ("a: &a [*a]", UnreadableDocument),
        ("a: [1\nb: 2", UnreadableDocument),
        (
            "a: &a [xxxx, xxxx, xxxx]\n"
            + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else '*a'] * 20)}]\n"
                      for n in range(8)),
            ArchiveBomb,
        ),
    ],
)  # fmt: skip
def test_given_hostile_yaml_when_read_then_it_is_refused(
    tmp_path: Path, text: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        read(tmp_path, "a.yaml", text)


def test_given_toml_or_ini_when_read_then_tables_are_sections(tmp_path: Path) -> None:
    toml = read(tmp_path, "a.toml", 'title = "x"\n[owner]\nborn = 1979-05-27\n')
    assert [block.text for block in toml] == ["title: x", "owner", 'owner.born: "1979-05-27"']
    ini = read(tmp_path, "a.ini", "[Server]\nPort = 80\n; note\n")
    assert [block.text for block in ini] == ["Server", "Server.Port: 80"]
    with pytest.raises(UnreadableDocument, match="TOML"):
        read(tmp_path, "b.toml", "a = ")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Report\n\nRegion;Q1\nNorth;1,5\n", ["Report", "Region: North; Q1: 1,5"]),
        ("sep=|\nName|Age\nAnn|30\n", ["Name: Ann; Age: 30"]),
        ("Name,1,2,3\nAnn,x,,y\n,,z,\n", ["Name: Ann; 1: x; 3: y", "2: z"]),
        (
            "n,v\n'a, b',1\n'c, d',2\n'e, f',3\n",
            ["n: a, b; v: 1", "n: c, d; v: 2", "n: e, f; v: 3"],
        ),
    ],
)
def test_given_odd_csv_when_read_then_titles_and_columns_are_found(
    tmp_path: Path, text: str, lines: list[str]
) -> None:
    (table,) = read(tmp_path, "a.csv", text)
    assert table.text.splitlines() == lines


def test_given_python_when_read_then_each_definition_is_a_section(tmp_path: Path) -> None:
    text = (
        '"""What it is for."""\nimport os\n\nLIMIT = 3\n\n\n# Why so.\n@cache\ndef f(x):\n'
        '    """Doubles x."""\n    return 2 * x\n\n\nclass A:\n    pass\n'
    )
    assert read(tmp_path, "a.py", text) == [
        Block("What it is for."),
        Block("import os\n\nLIMIT = 3", "code", label="python"),
        Block("f", "heading", 1),
        Block("Why so."),
        Block("Doubles x."),
        Block('@cache\ndef f(x):\n    """Doubles x."""\n    return 2 * x', "code", label="python"),
        Block("class A", "heading", 1),
        Block("class A:\n    pass", "code", label="python"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "headings"),
    [
        ("a.go", "package a\n\n// Sum adds.\nfunc Sum(a int) int {\n\treturn a\n}\n", ["Sum"]),
        ("a.sql", "CREATE TABLE ward (\n  id int\n);\n\nCREATE VIEW beds AS SELECT 1;\n",
         ["table ward", "view beds"]),
        ("a.ts", "export interface Bed { id: number }\n\nexport const size = 3;\n",
         ["interface Bed", "size"]),
        ("a.c", "#include <a.h>\n\nstatic int beds(void)\n{\n\n    return 1;\n}\n", ["beds"]),
        ("a.rs", "/// A bed.\npub struct Bed;\n\nimpl Bed {\n}\n", ["struct Bed", "impl Bed"]),
    ],
)  # fmt: skip
def test_given_other_languages_when_read_then_definitions_have_names_and_code_stays(
    tmp_path: Path, name: str, text: str, headings: list[str]
) -> None:
    found = read(tmp_path, name, text)
    assert [block.text for block in found if block.kind == "heading"] == headings
    code = "\n".join(block.text for block in found if block.kind == "code")
    comments = [line for line in text.splitlines() if line.startswith("//")]
    for line in text.splitlines():
        assert line in code or line in comments


def test_given_broken_python_when_read_then_its_code_is_there(tmp_path: Path) -> None:
    (found,) = [block for block in read(tmp_path, "a.py", "print 'x'\n") if block.kind == "code"]
    assert found.text == "print 'x'"


def test_given_spaces_before_quoted_cells_when_csv_is_read_then_the_marks_are_none(
    tmp_path: Path,
) -> None:
    text = 'Name,      Medal,  Year\n"Bolt, Usain", "GOLD", 2012\nYohan Blake, "SILVER", 2012\n'
    (table,) = read(tmp_path, "a.csv", text)
    assert table.text.splitlines() == [
        "Name: Bolt, Usain; Medal: GOLD; Year: 2012",
        "Name: Yohan Blake; Medal: SILVER; Year: 2012",
    ]


NOTED = (
    "Lots of people,,,\ncannot resist,,,some notes\nat,the,top,\nName,Job,Born,Age\n"
    "Bowie,musician,1947-01-08,69\nFisher,actor,1956-10-21,60\nPrince,musician,1958-06-07,57\n{last}"
)


def test_given_notes_round_a_table_when_read_then_they_are_no_records(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", NOTED.format(last="also at,,the bottom,\n"))
    assert table.text.splitlines() == [
        "Lots of people",
        "cannot resist | some notes",
        "at | the | top",
        "Name: Bowie; Job: musician; Born: 1947-01-08; Age: 69",
        "Name: Fisher; Job: actor; Born: 1956-10-21; Age: 60",
        "Name: Prince; Job: musician; Born: 1958-06-07; Age: 57",
        "also at | the bottom",
    ]


@pytest.mark.parametrize("last", ["Jagger,singer,,\n", "Total,,,186\n"])
def test_given_a_last_record_with_few_cells_when_read_then_it_is_one(
    tmp_path: Path, last: str
) -> None:
    (table,) = read(tmp_path, "a.csv", NOTED.format(last=last))
    assert table.text.splitlines()[-1].startswith("Name: ")


def test_given_a_comment_above_a_module_when_read_then_it_is_there(tmp_path: Path) -> None:
    text = '#!/usr/bin/env python\n# Under the MIT licence.\n"""What it is for."""\nA = 1\n'
    assert read(tmp_path, "a.py", text) == [
        Block("usr/bin/env python Under the MIT licence."),
        Block("What it is for."),
        Block("A = 1", "code", label="python"),
    ]
