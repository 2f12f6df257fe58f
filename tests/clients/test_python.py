"""Clients in Python, as people install and call them: each is named in docs/dialects.md."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.conftest import QUESTION, SAID, Clients, program

pytestmark = pytest.mark.real

FIRST, SECOND = ".nox/clients", ".nox/clients_2"
ANSWER = "".join(SAID)


def test_langchain(clients: Clients, opens: Callable[[str], bool]) -> None:
    found = clients.python(FIRST, "langchain_chat.py")
    assert found["answers"] == [ANSWER] * 3
    assert [opens(url) for url in found["urls"]] == [True]
    assert found["dimensions"] == [384, 384]


def test_openai_agents(clients: Clients) -> None:
    found = clients.python(FIRST, "agents_sdk.py")
    assert found["answers"] == [ANSWER] * 2
    assert found["events"] > 3


def test_pydantic_ai(clients: Clients) -> None:
    clients.model.replies = {"As JSON.": '{"days": 31}'}
    found = clients.python(FIRST, "pydantic_ai_agent.py")
    assert found == {"answers": [ANSWER] * 2, "days": 31}


def test_gradio(clients: Clients) -> None:
    assert ANSWER in clients.python(FIRST, "gradio_chat.py")["answers"][0]


def test_llm(clients: Clients, tmp_path: Path) -> None:
    models = {"model_id": "ragstone", "model_name": "ragstone", "api_base": f"{clients.url}/v1"}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([models]))
    command = [str(program(FIRST, "llm")), "-m", "ragstone", "--no-log", "--key", "x", QUESTION]
    assert clients.run(command, tmp_path, LLM_USER_PATH=str(tmp_path)).strip() == ANSWER


def test_litellm(clients: Clients, opens: Callable[[str], bool]) -> None:
    found = clients.python(SECOND, "litellm_completion.py")
    assert found["answers"] == [ANSWER] * 3
    assert [opens(url) for url in found["urls"]] == [True]


def test_llama_index(clients: Clients) -> None:
    assert clients.python(SECOND, "llama_index_chat.py")["answers"] == [ANSWER] * 2
