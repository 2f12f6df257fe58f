"""`ragstone settings` and `ragstone prompts`: alone, and beside a server that has the data."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app
from ragstone.service import Service
from ragstone.settings import Settings
from tests.documents import copied
from tests.e2e.processes import here, json_here, run, serving
from tests.fake_service import FakeService


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = FakeService()

    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield fake

    monkeypatch.setattr("ragstone.remote.connect", connect)
    return fake


def ragstone(*arguments: str, **options: str) -> Result:
    return CliRunner().invoke(app, list(arguments), **options)  # type: ignore[arg-type]


def test_settings_live(service: FakeService) -> None:
    assert ragstone("settings", "get", "rag.top_k").stdout == "10\n"
    changed = ragstone("settings", "set", "rag.top_k", "5")
    assert changed.stdout == "rag.top_k is 5 (store global).\n"
    both = ragstone("settings", "set", "rag.top_k=6", "rag.mode=precise", "--scope", "tenant:acme")
    assert both.exit_code == 0
    assert ragstone("settings", "get", "DEFAULT_TOP_K", "--tenant", "acme").stdout == "6\n"
    explained = ragstone("settings", "explain", "rag.top_k", "--tenant", "acme").stdout
    assert "at least 1, at most 100; the default is 10" in explained
    assert "RAG__TOP_K, DEFAULT_TOP_K, RAG_TOP_K" in explained
    assert "store tenant:acme counts: 6." in explained
    listed = json.loads(ragstone("settings", "list", "--changed", "--json").stdout)["settings"]
    assert [item["key"] for item in listed] == ["rag.top_k"]
    assert "rag.top_k" in ragstone("settings", "list", "rag").stdout
    assert "rag.top_k is 10 (default)." in ragstone("settings", "unset", "rag.top_k").stdout
    assert "unset" in ragstone("settings", "log", "rag.top_k").stdout
    assert len(json.loads(ragstone("settings", "log", "--json").stdout)["changes"]) == 4


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("set", "rag.top_k", "0"), 1),
        (("set", "rag.topk", "3"), 1),
        (("set", "rag.top_k"), 2),
        (("set", "rag.top_k=3", "rag.top_k=4"), 2),
        (("set", "index.url", "x"), 1),
        (("get", "nothing"), 1),
    ],
)
def test_given_a_mistake_then_one_line_says_what(
    service: FakeService, arguments: tuple[str, ...], status: int
) -> None:
    done = ragstone("settings", *arguments)
    assert done.exit_code == status
    assert "Traceback" not in done.output
    assert ragstone("settings", "log").stdout == "No setting was changed.\n"


def test_prompts_live(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "p.txt"
    file.write_text("- One.\n")
    edited = ragstone("prompts", "edit", "mode.simple", "--file", str(file))
    assert edited.stdout == "mode.simple has version 1 now.\n"
    assert "Nothing" in ragstone("prompts", "edit", "mode.simple", "-f", "-", input="- One.").stdout
    monkeypatch.setenv("VISUAL", "sed -i s/One/Two/")
    assert "version 2" in ragstone("prompts", "edit", "mode.simple").stdout
    assert ragstone("prompts", "show", "mode.simple").stdout == "- Two.\n"
    assert ragstone("prompts", "show", "mode.simple", "--version", "1").stdout == "- One.\n"
    assert "+- Two." in ragstone("prompts", "diff", "mode.simple").stdout
    assert "version 1" in ragstone("prompts", "rollback", "mode.simple", "1").stdout
    assert "7 characters" in ragstone("prompts", "versions", "mode.simple").stdout
    assert "shipped" in ragstone("prompts", "reset", "mode.simple").stdout
    assert "rewrite_query" in ragstone("prompts", "list").stdout
    file.write_text("No place.")
    refused = ragstone("prompts", "edit", "answer", "--file", str(file))
    assert refused.exit_code == 1
    monkeypatch.setenv("VISUAL", "false")
    assert ragstone("prompts", "edit", "answer").exit_code == 1
    assert ragstone("prompts", "edit", "answer", "-f", str(tmp_path / "none")).exit_code == 1


def test_given_a_file_on_the_command_line_then_its_settings_hold(
    service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("rag:\n  topk: 3\n")
    done = ragstone("--config", str(file), "settings", "list")
    assert done.exit_code == 1
    assert "line 2: there is no setting 'rag.topk'" in done.output


def test_given_a_server_then_a_change_holds_for_the_next_question(
    indexed_documents: Path, tmp_path: Path
) -> None:
    data = copied(indexed_documents, tmp_path / "data")
    question = ("ask", "What does the lantern weigh?", "--no-cache")
    with serving(data):
        many = len(json_here(data, *question)["sources"])
        assert many > 2
        assert run(data, "settings", "set", "rag.top_k", "2").returncode == 0
        assert len(json_here(data, *question)["sources"]) == 2
        assert here(data, "settings", "unset", "rag.top_k").returncode == 0
        assert len(json_here(data, *question)["sources"]) == many
        assert here(data, "settings", "set", "rag.top_k", "1").returncode == 0
        answer = json_here(data, "ask", "What is the daily allowance for meals?")
        assert len(answer["sources"]) == 1
    # Without a server, the same store says the same.
    assert run(data, "settings", "get", "rag.top_k").stdout == "1\n"
    log = json_here(data, "settings", "log")["changes"]
    assert [(line["key"], line["action"]) for line in log] == [
        ("rag.top_k", "set"),
        ("rag.top_k", "unset"),
        ("rag.top_k", "set"),
    ]
