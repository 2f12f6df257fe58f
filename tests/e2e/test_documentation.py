"""Every fence of the documentation is run, and prints what it shows."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation.pages import ROOT, RUN, Block, Page, pages, steps
from tests.documentation.session import Session
from tests.documentation.shown import fits
from tests.documents import copied
from tests.e2e.processes import environment

PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
PAGES = [
    pytest.param(page, id=page.name, marks=() if page.name == "README.md" else pytest.mark.real)
    for page in pages()
    if any(block.language in RUN and not block.not_run for block in page.blocks)
]
"""The pages but the README are real too: most start a server."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all pages use, one after the other: paths in data directories stay true."""
    place = tmp_path_factory.mktemp("reader")
    with Session(place) as session:
        done = session.shell("ragstone ingest examples/documents")
        assert done.status == 0, done.output
    copied(place / "data", place / "ingested")
    return place


@pytest.fixture
def reader(place: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    page: Page = request.getfixturevalue("page")
    shutil.rmtree(place / "data", ignore_errors=True)
    if not page.empty:
        copied(place / "ingested", place / "data")
    with Session(place) as session:
        yield session


@pytest.mark.parametrize("page", PAGES)
def test_given_a_page_when_its_fences_are_run_then_all_is_as_it_shows(
    page: Page, reader: Session
) -> None:
    for block in page.blocks:
        if block.language in RUN and not block.not_run:
            run(block, reader)


def test_given_the_demo_then_its_questions_are_answered(tmp_path: Path) -> None:
    demo = ROOT / "examples" / "demo.py"
    command = [sys.executable, str(demo)]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert (
        len(re.findall(r"Checked: supported by \d source.*: likely \(\.\d\d\)\.", done.stdout)) == 3
    )


def run(block: Block, reader: Session) -> None:
    if block.first:
        check(block, reader, block.first)
    if block.language == "sh":
        check(block, reader, block.text)
    if block.language == "console":
        for step in steps(block):
            output = check(block, reader, step.command)
            if step.output.strip():
                shown = f"{block.name}: $ {step.command}\n{output}"
                assert fits(step.output, output), f"another output than the page shows:\n{shown}"
    if block.language == "python":
        output = reader.python(block.text).output
        shown = "\n...\n".join(["", *PRINTED.findall(block.text), ""]).strip("\n")
        assert not shown or fits(shown, output), f"{block.name} prints:\n{output}"
    if block.language == "http":
        answer = reader.request(block.text)
        assert answer.status_code < 400, f"{block.name}: {answer.status_code} {answer.text}"


def check(block: Block, reader: Session, script: str) -> str:
    """The output of a script, which must succeed."""
    done = reader.shell(script)
    assert done.status == 0, f"{block.name}: $ {script}\nends with {done.status}:\n{done.output}"
    return done.output
