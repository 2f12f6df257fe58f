"""A session keeps what a shell and a Python prompt keep, and runs the real command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation.session import Session

pytestmark = pytest.mark.slow


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path) as session:
        yield session


def test_given_scripts_then_exports_and_folders_stay(reader: Session) -> None:
    assert reader.shell("export WORD='two words'; mkdir inside; cd inside").status == 0
    assert reader.shell('echo "$WORD"; basename "$PWD"').output == "two words\ninside\n"


def test_given_a_command_that_fails_then_the_script_ends_with_its_error(reader: Session) -> None:
    done = reader.shell("ragstone documents --collection nowhere; echo after")
    assert done.status == 1
    assert "nowhere" in done.output
    assert "after" not in done.output


def test_given_pipes_and_ids_then_they_are_those_of_the_commands(reader: Session) -> None:
    made = reader.shell("ragstone keys create me 2> said; wc -w < said")
    assert made.status == 0, made.output
    assert reader.shell("ragstone keys revoke ID").status == 0
    assert "revoked" in reader.shell("ragstone keys list").output
    edited = reader.shell(
        "ragstone prompts show answer | sed 's/^/Be brief. /' | ragstone prompts edit answer -f -"
    )
    assert edited.status == 0, edited.output


def test_given_python_then_names_stay_and_it_may_await(reader: Session) -> None:
    reader.python("import asyncio\n\nword = 'kept'\n")
    assert reader.python("await asyncio.sleep(0)\nprint(word)\n").output == "kept\n"
    with pytest.raises(ZeroDivisionError):
        reader.python("1 / 0\n")


def test_given_requests_then_a_server_answers_them_at_the_usual_address(reader: Session) -> None:
    health = reader.request("GET /health\n")
    assert health.status_code == 200
    header = '-H "Authorization: Bearer $(ragstone token)"'
    made = reader.shell(f"curl -sf {header} http://127.0.0.1:8006/v1/models")
    assert made.status == 0, made.output
    assert "ragstone" in made.output
    assert "http://127.0.0.1:8006" in reader.shell("ragstone status").output
