"""`ragstone comments` and `ragstone ask --comments` on a fake service."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app
from ragstone.plugins.comments.contract import CommentsWanted
from ragstone.service import Service
from ragstone.settings import Settings
from tests.fake_service import FakeService


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = FakeService()

    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield fake  # type: ignore[misc]

    monkeypatch.setattr("ragstone.remote.connect", connect)
    return fake


def ragstone(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("command", ["show", "answers"])
def test_given_comments_then_counts_facets_and_what_they_say(
    command: str, service: FakeService
) -> None:
    shown = ragstone(
        "comments", command, "delivery", "--tone", "negative", "--where", "Product=Echo"
    )
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[0] == "1 of 1 comment"
    assert "Echo" in shown.stdout
    assert "slow" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert service.comments.wanted == [
        CommentsWanted("delivery", "negative", labels={"Product": "Echo"})
    ]
    found = json.loads(ragstone("comments", command, "--json").stdout)
    assert found["counted"]["negative"] == 1


def test_given_bad_input_then_one_line_says_what_to_do() -> None:
    for arguments, said in (
        (("--where", "Echo"), "COLUMN=VALUE"),
        (("--since", "May"), "YYYY-MM-DD"),
        (("--collection", "none"), "none"),
    ):
        wrong = ragstone("comments", "show", *arguments)
        assert wrong.exit_code != 0
        assert said in wrong.output
    both = ragstone("ask", "q", "--agent", "--comments")
    assert both.exit_code != 0
    assert "exclude each other" in both.output


def test_given_ask_with_comments_then_that_is_asked(service: FakeService) -> None:
    assert ragstone("ask", "q", "--comments").exit_code == 0
    assert service.asked[-1].search_type == "voc"
