"""`ragstone conversations` and `ragstone ask --room` on a real Ragstone."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "zappa.txt").write_text("Frank Zappa was born in Baltimore.", encoding="utf-8")
    assert run(tmp_path, "ingest", str(tmp_path / "zappa.txt")).exit_code == 0
    return tmp_path


def run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--data", str(data / "data"), *arguments])


def test_a_conversation_lives(data: Path) -> None:
    assert "no conversations" in run(data, "conversations", "list").stdout
    for question in ("Who is Frank Zappa?", "Where was he born?"):
        answered = run(data, "ask", question, "--room", "r1")
        assert answered.exit_code == 0, answered.output
    listed = run(data, "conversations", "list").stdout
    assert "r1" in listed
    assert "Who is Frank Zappa?" in listed
    shown = run(data, "conversations", "show", "r1").stdout
    assert shown.index("> Who is") < shown.index("> Where was he born?")
    assert "Sources" in shown
    turns = json.loads(run(data, "conversations", "show", "r1", "--json").stdout)["turns"]
    assert turns[0]["block"]["result"]["search_decision"]["rewritten_query"][0] == (
        "Where was he born? Who is Frank Zappa?"
    )
    assert run(data, "conversations", "rename", "r1", "Zappa").stdout == "Zappa\n"
    file = data / "out.md"
    assert run(data, "conversations", "export", "r1", "-o", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8").startswith("# Zappa\n")
    exported = json.loads(run(data, "conversations", "export", "r1", "--format", "json").stdout)
    assert [item["block"]["status"] for item in exported["blocks"]] == ["done", "done"]
    assert run(data, "conversations", "delete", "r1").exit_code == 2
    assert run(data, "conversations", "delete", "r1", "--yes").stdout == "Deleted.\n"
    (data / "in.json").write_text(json.dumps(exported), encoding="utf-8")
    again = run(data, "conversations", "import", str(data / "in.json"))
    assert again.stdout == "2 turns added.\n"
    gone = run(data, "conversations", "forget-user", "local", "--yes", "--json")
    assert json.loads(gone.stdout)["days"] == 1


def test_what_is_wrong_is_said_in_one_line(data: Path) -> None:
    for arguments, says in (
        (("show", "nowhere"), "There is no conversation 'nowhere'"),
        (("show", "x" * 10_000), "The room id has 10,000 characters"),
        (("export", "a\nb"), "holds control characters"),
        (("export", "nowhere", "--format", "docx"), "--output FILE"),
        (("import", str(data / "zappa.txt")), "not valid JSON"),
        (("import", str(data / "nowhere")), "cannot be read"),
        (("delete", "nowhere", "--yes"), "There is no conversation"),
        (("rename", "nowhere", "\n"), "The title is empty"),
    ):
        result = run(data, "conversations", *arguments)
        assert result.exit_code == 1
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
