"""Verified answers through the HTTP API, other systems' APIs, MCP and the command line."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from typer.testing import CliRunner

from ragstone.cli import app as cli
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.service.test_every_question import called
from tests.verified.test_verified import ANSWER, QUESTION, open_house

pytestmark = pytest.mark.slow

ADDRESS = "/api/v1/collections/default/verified"
BODY = {
    "text": ANSWER,
    "wordings": [QUESTION],
    "sources": [{"document": "/ops.md"}],
    "owner": "Ada L.",
}
MESSAGES = [{"role": "user", "content": QUESTION}]
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "openai": ("/v1/chat/completions", {"model": "ragstone", "messages": MESSAGES}),
    "openai, streamed": (
        "/v1/chat/completions",
        {"model": "ragstone", "messages": MESSAGES, "stream": True},
    ),
    "responses": ("/v1/responses", {"model": "ragstone", "input": QUESTION}),
    "chat_core": ("/v2/rag/query", {"query": QUESTION}),
    "chat_core, tools": ("/v2/pa/query", {"query": QUESTION}),
    "pipeline": ("/api/v1/chat/completions", {"message": QUESTION}),
    "rag_v1": ("/api/v1/rag/generate", {"query": QUESTION}),
}


class Doors:
    """A house and its HTTP API."""

    def __init__(self, service: Ragstone, http: httpx2.AsyncClient) -> None:
        self.service = service
        self.http = http

    async def key(self, role: Any = "reader", **given: Any) -> dict[str, str]:
        user, groups = given.get("user", "eva"), given.get("groups", ())
        return bearer(
            await a_key(self.service, role, "default", user, groups, given.get("collections"))
        )


@pytest_asyncio.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with open_house(tmp_path) as service:
        app = create_app(service, Settings(ragstone_data=tmp_path / "data"), "token")
        transport = httpx2.ASGITransport(app)
        async with (
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http,
            app.router.lifespan_context(app),
        ):
            yield Doors(service, http)


async def test_an_administrator_of_the_collection_writes_lists_and_removes(doors: Doors) -> None:
    admin = await doors.key("admin", groups=("ops",), collections=("default",))

    made = await doors.http.put(ADDRESS, json=BODY, headers=admin)
    listed = await doors.http.get(ADDRESS, headers=admin)
    review = await doors.http.get("/api/v1/collections/default/questions-to-answer", headers=admin)

    assert made.status_code == 200, made.text
    assert listed.json() == {"answers": [made.json()]}
    assert made.json()["state"] == "current"
    assert review.json() == {"groups": []}
    removed = await doors.http.delete(f"{ADDRESS}/{made.json()['id']}", headers=admin)
    assert removed.json() == {"removed": made.json()["id"]}


async def test_nobody_else_does(doors: Doors) -> None:
    editor = await doors.key("editor", groups=("ops",))
    elsewhere = await doors.key("admin", groups=("ops",), collections=("other",))
    blind = await doors.key("admin")  # May not read the source.

    for who, status in ((editor, 403), (elsewhere, 404), (blind, 404), ({}, 401)):
        assert (await doors.http.put(ADDRESS, json=BODY, headers=who)).status_code == status
    for who, status in ((editor, 403), (elsewhere, 404), ({}, 401)):
        assert (await doors.http.get(ADDRESS, headers=who)).status_code == status


async def test_an_administrator_of_some_collections_sees_no_opinions(doors: Doors) -> None:
    whole = await doors.key("admin", user="root")
    part = await doors.key("admin", collections=("default",))
    given = {"question": "Is it high?", "answer": "No.", "collection": "default"}
    await doors.service.feedback.give(Principal(user="bob"), "a1", "down", **given)

    path = "/api/v1/collections/default/questions-to-answer"
    assert "Is it high?" in (await doors.http.get(path, headers=whole)).text
    assert (await doors.http.get(path, headers=part)).json() == {"groups": []}


@pytest.mark.parametrize("name", ASKED)
async def test_every_api_gives_it_marked_and_to_nobody_else(doors: Doors, name: str) -> None:
    admin = await doors.key("admin", user="ada", groups=("ops",))
    await doors.http.put(ADDRESS, json=BODY, headers=admin)
    path, body = ASKED[name]

    reader = await doors.http.post(path, json=body, headers=await doors.key(groups=("ops",)))
    other = await doors.http.post(path, json=body, headers=await doors.key(user="bob"))

    assert "keeper on duty" in reader.text, reader.text
    assert "Ada L." in reader.text or "verified answer" in reader.text
    assert "keeper on duty" not in other.text
    assert "Ada L." not in other.text
    assert "verified answer" not in other.text


async def test_a_tool_of_mcp_gives_it_marked(doors: Doors) -> None:
    admin = await doors.key("admin", user="ada", groups=("ops",))
    await doors.http.put(ADDRESS, json=BODY, headers=admin)

    reader = await doors.key(groups=("ops",))

    found = await called(doors.http, "ask", {"question": QUESTION}, reader)

    assert found["structuredContent"]["answer"] == ANSWER
    assert found["structuredContent"]["verified"]["by"] == "Ada L."


def test_the_command_line_writes_it_and_says_who_verified_it(tmp_path: Path) -> None:
    (tmp_path / "ost.md").write_text("# Ost\n\nThe lighthouse of Ost was built in 1871.\n")
    data = ["--data", str(tmp_path / "data")]

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, [*data, *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    run("ingest", str(tmp_path / "ost.md"))
    asked = ("--question", "When was it built?", "--source", "/ost.md#7-47", "--owner", "Ada L.")
    run("verified", "add", "In 1871. [1]", *asked, "--until", "2999-01-01")

    said = run("ask", "When was it built, please?")

    assert said.startswith("In 1871. [1]")
    assert "Verified by Ada L. on " in said
    assert ", until 2999-01-01 00:00." in said
    [listed] = json.loads(run("verified", "list", "--json"))["answers"]
    assert (listed["state"], listed["sources"][0]["start"]) == ("current", 7)
    wrong = CliRunner().invoke(cli, [*data, "verified", "add", "x", *asked[:3], "/ost.md#a-b"])
    assert (wrong.exit_code, "PATH#FROM-TO" in wrong.output) == (1, True)
