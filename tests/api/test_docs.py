"""The examples of docs/python.md and examples/notebook.py run as they stand."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import DOCUMENTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Namespace = dict[str, Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the example documents, as a copy of the repository has them."""
    shutil.copytree(DOCUMENTS, tmp_path / "examples" / "documents")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_DATA", raising=False)
    return tmp_path


def blocks(kind: str) -> list[tuple[int, str]]:
    """The examples of one kind, each with the lines that stand before it."""
    page = PAGE.read_text(encoding="utf-8")
    return [
        (page[: found.start(2)].count("\n"), found[2])
        for found in BLOCK.finditer(page)
        if found[1] == kind
    ]


def run(kind: str, namespace: Namespace) -> None:
    """Run the examples of one kind, one after the other."""
    for line, source in blocks(kind):
        tree = ast.increment_lineno(ast.parse(source), line)
        exec(compile(tree, str(PAGE), "exec"), namespace)


@pytest.mark.slow
def test_the_examples_of_the_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("", {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert "A full charge lasts 31 days without sun" in said
    assert "The lease of the office ends on 31 March 2027. [1]" in said
    assert "There is no collection named 'nowhere'." in said
    assert "The director earns 9,000 euros. [1]" in said
    assert said.count("True") == 2


@pytest.mark.slow
def test_the_example_of_langchain(here: Path, data: Path, capsys: Any) -> None:
    run("langchain", {"ragstone": __import__("ragstone")})
    assert "/documents/lantern-3-manual.md" in capsys.readouterr().out


@pytest.mark.real
def test_the_example_of_llama_index(here: Path, data: Path, capsys: Any) -> None:
    run("llama_index", {"ragstone": __import__("ragstone")})
    assert "/documents/lantern-3-manual.md" in capsys.readouterr().out


def test_every_example_is_run() -> None:
    page = PAGE.read_text(encoding="utf-8")
    kinds = ("", "server", "langchain", "llama_index")
    assert sum(len(blocks(kind)) for kind in kinds) == page.count("```python")


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "notebook.py")],
        env={**os.environ, "RAGSTONE_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 indexed, 0 unchanged, 0 failed" in done.stdout
    assert "Revenue was 48.6 million euros in 2024" in done.stdout
    assert "[1] Northmoor Instruments: annual report 2024, page 2" in done.stdout
