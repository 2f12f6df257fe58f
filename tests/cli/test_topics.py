"""`ragstone topics` on a fake service, and a forbidden question on a real one."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragstone import build
from ragstone.cli import app
from ragstone.core.errors import InvalidTopic, QuestionBlocked, UnknownTopic
from ragstone.core.events import Done, StageStarted
from ragstone.core.turn import Ask
from ragstone.guard.topic_file import topic
from ragstone.service import Service
from ragstone.settings import RagSettings, Settings
from tests.fake_service import FakeService


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = FakeService()

    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield fake

    monkeypatch.setattr("ragstone.remote.connect", connect)
    return fake


def topics(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["topics", *arguments])


def test_a_list_lives(service: FakeService, tmp_path: Path) -> None:
    assert "no forbidden topics" in topics("list").stdout
    added = topics("add", "salary", "--synonym", "wage", "--example", "How much?")
    assert (added.exit_code, added.stdout) == (0, "1 topic added, 0 replaced.\n")
    assert "wage" in topics("list").stdout
    file = tmp_path / "list.csv"
    file.write_text(topics("list", "--csv").stdout + "executive,,,,\n", encoding="utf-8")
    assert topics("import", str(file)).stdout == "1 topic added, 1 replaced.\n"
    assert "blocked: exact match of 'salary'" in topics("check", "the salary").stdout
    assert json.loads(topics("check", "x", "--json").stdout)["blocked"] is False
    assert topics("remove", "salary").stdout == "1 topic removed.\n"
    assert [t["term"] for t in json.loads(topics("list", "--json").stdout)["topics"]] == [
        "executive"
    ]


def test_the_example_list_can_be_imported(service: FakeService) -> None:
    assert topics("example").stdout.startswith("term,synonyms,examples")
    assert topics("import", "--example").exit_code == 0
    assert len(service.forbidden) > 50


def test_blocked_questions_cannot_steer_the_terminal(service: FakeService) -> None:
    shown = topics("blocked")
    assert "Who?" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert len(json.loads(topics("blocked", "--json").stdout)["blocked"]) == 2


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    "arguments",
    [["import", "/nowhere.csv"], ["import"], ["add", "?!"], ["add", ""], ["remove", "unknown"]],
)
def test_mistakes_are_one_clear_line(arguments: list[str]) -> None:
    result = topics(*arguments)
    assert result.exit_code != 0
    assert "Traceback" not in result.output


async def test_a_forbidden_question_searches_nothing(tmp_path: Path) -> None:
    settings = Settings(ragstone_data=tmp_path, rag=RagSettings(forbidden_guidance="Ask HR."))
    async with build.open(settings) as ragstone:
        await ragstone.put_topics("default", [topic("default", "salary")])
        events = [event async for event in ragstone.ask(Ask("How much is the salary?", room="r"))]
        stages = [event.stage for event in events if isinstance(event, StageStarted)]
        done = events[-1]
        assert isinstance(done, Done)
        assert done.turn.answer is not None
        assert (done.turn.answer.text, done.turn.answer.finish) == ("Ask HR.", "blocked")
        assert "retrieve" not in stages
        assert "salary" not in str(done.turn.trace)
        with pytest.raises(QuestionBlocked, match="Ask HR"):
            await ragstone.search(Ask("How much is the salary?"))
        assert len(await ragstone.list_blocked("default", 10)) == 2
        assert (await ragstone.check_topics("default", "salary")).blocked
        assert len(await ragstone.list_blocked("default", 10)) == 2
        with pytest.raises(UnknownTopic):
            await ragstone.remove_topics("default", ["salary", "unknown"])
        with pytest.raises(InvalidTopic):
            await ragstone.put_topics("default", [topic("default", "x"), *_wrong()])
        assert [item.term for item in await ragstone.topics("default")] == ["salary"]
    async with build.open(settings) as ragstone:
        assert [item.term for item in await ragstone.topics("default")] == ["salary"]


async def test_turned_off_it_is_not_there(tmp_path: Path) -> None:
    rag = RagSettings(forbidden_check_enabled=False)
    async with build.open(Settings(ragstone_data=tmp_path, rag=rag)) as ragstone:
        await ragstone.put_topics("default", [topic("default", "salary")])
        events = [event async for event in ragstone.ask(Ask("How much is the salary?"))]
        assert "guard" not in [e.stage for e in events if isinstance(e, StageStarted)]


def _wrong() -> list[object]:
    from ragstone.core.records import Topic

    return [Topic("id", "default", "?!")]
