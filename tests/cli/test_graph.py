"""`ragstone graph show` on a fake service."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app
from ragstone.service import Service
from ragstone.settings import Settings
from tests.fake_service import FakeService


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield FakeService()  # type: ignore[misc]

    monkeypatch.setattr("ragstone.remote.connect", connect)


def graph(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["graph", "show", *arguments])


def test_without_a_name_it_prints_what_is_named_most_and_what_is_not_read_yet() -> None:
    lines = graph().stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["chunks", "named"],
        ["3", "Bergen"],
        ["1", "Oslo"],
    ]
    assert "Not read for the graph yet: 1 document." in lines[3]


def test_of_a_name_it_prints_other_names_places_and_what_is_named_with_it() -> None:
    shown = graph("ada", "--limit", "1")
    assert shown.stdout.splitlines()[0] == "Ada (also A. Thornbury)"
    assert "/docs/1.md, page 7" in shown.stdout
    assert "named with it" in shown.stdout
    assert "Oslo" not in shown.stdout
    assert "Ada sleeps in" in shown.stdout
    assert "Ada, Bergen: Ada" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_as_json_it_is_what_programs_get() -> None:
    assert json.loads(graph("ada", "--json").stdout)["spellings"] == ["A. Thornbury"]


def test_of_an_unknown_name_it_says_what_lists_known_ones() -> None:
    unknown = graph("nobody")
    assert unknown.exit_code == 1
    assert "ragstone graph show" in unknown.output
