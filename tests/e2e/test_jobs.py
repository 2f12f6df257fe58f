"""Jobs of a real server: asynchronous questions, kill -9, a large deletion."""

import asyncio
import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.turn import Ask, Principal
from ragstone.remote import connect_service
from ragstone.service import Service
from ragstone.service.jobs import JobView
from ragstone.service.server_file import find_server
from tests.documents import copied
from tests.e2e.processes import json_here, run, run_json, serving
from tests.patience import PATIENCE
from tests.with_constants import constants

pytestmark = pytest.mark.slow

EVA = Principal("default", "eva", ("staff",))
QUESTIONS = tuple(f"How long does a full charge last, attempt {n}?" for n in range(8))


def remote(data: Path) -> Service:
    found = find_server(data)
    assert found is not None
    return connect_service(*found)


async def ended(ragstone: Service, id: str) -> JobView:
    async with asyncio.timeout(PATIENCE):
        async for view in ragstone.jobs.watch(EVA, id):
            last = view
    return last


@pytest.fixture
def data(indexed_documents: Path, tmp_path: Path) -> Path:
    return copied(indexed_documents, tmp_path / "data")


async def test_a_question_is_answered_in_the_background_with_its_sources(data: Path) -> None:
    with serving(data) as url:
        ragstone = remote(data)
        job = await ragstone.jobs.ask(Ask("How long does a full charge last?", EVA))
        done = await ended(ragstone, job.id)
        assert done.result is not None
        assert "31 days" in done.result["answer"]
        source = done.result["sources"][0]
        assert {"title", "path", "portal_type", "score", "chunk_index", "snippet"} <= set(source)
        again = await ragstone.jobs.ask(Ask("How long does a full charge last?", EVA))
        assert (again.id, again.state, again.attempts) == (job.id, "done", 1)
        # Whoever is on this machine is an admin, who sees the job, but not the answer.
        with urllib.request.urlopen(f"{url}/api/v1/jobs/{job.id}") as response:
            seen: dict[str, Any] = json.load(response)
        assert (seen["state"], seen["result"]) == ("done", None)
        assert run_json(data, "jobs", "list", "--kind", "ask")["jobs"][0]["user"] == "eva"
        await ragstone.aclose()


async def test_given_kill_9_while_questions_wait_then_each_is_answered_after_the_restart(
    data: Path,
) -> None:
    ids = []
    with pytest.raises(AssertionError), serving(data):  # It does not end well: it is killed.
        ragstone = remote(data)
        for question in QUESTIONS:
            ids.append((await ragstone.jobs.ask(Ask(question, EVA, cache=False))).id)
        server = json.loads((data / "server.json").read_text())
        os.kill(server["pid"], signal.SIGKILL)
        await ragstone.aclose()
    with serving(data):
        ragstone = remote(data)
        for id in ids:
            view = await ended(ragstone, id)
            assert view.state == "done"
            assert view.attempts in (1, 2)
        kinds = {kind.kind: kind.jobs for kind in await ragstone.jobs.kinds()}
        assert kinds["ask"] == {"done": len(QUESTIONS)}
        await ragstone.aclose()


def test_a_large_deletion_goes_through_the_queue(data: Path) -> None:
    few = constants({"ragstone.local.DELETE_AT_ONCE": 2})
    done = run(data, "delete", "--all", "--yes", **few)
    assert (done.returncode, done.stdout) == (0, "5 documents deleted.\n"), done.stderr
    (job, *_) = json_here(data, "jobs", "list", "--kind", "delete")["jobs"]
    assert (job["state"], job["collection"]) == ("done", "default")
    assert json_here(data, "collections")["collections"] == []


def test_an_evaluation_runs_in_the_background_and_says_what_is_missing(data: Path) -> None:
    with serving(data):
        id = run(data, "jobs", "evaluate", "retrieval", str(data / "nowhere")).stdout.strip()
        followed = run(data, "jobs", "show", id, "--follow")
        assert followed.returncode == 1
        assert "There is no folder" in followed.stdout
