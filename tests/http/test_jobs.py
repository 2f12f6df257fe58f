"""Jobs over HTTP: whose are seen, how they are steered, and what is refused."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from ragstone.core.caller import Caller
from ragstone.core.turn import Ask, Principal
from ragstone.http.app import create_app
from ragstone.service.jobs import JobView
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.fake_jobs import ToldJobs
from tests.fake_service import FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.in_turn import in_turn

PATH = "/api/v1/jobs"
KEY = {"authorization": "Bearer secret-token"}
EVA, MAX = Principal("default", "eva"), Principal("default", "max")
CALLERS = {
    "eva": Caller(EVA, "reader"),
    "max": Caller(MAX, "reader"),
    "admin": Caller(Principal("default", "root"), "admin"),
    "narrow": Caller(EVA, "reader", ("other",)),
    "elsewhere": Caller(Principal("acme", "root"), "admin"),
}


SECRETS: dict[str, str] = {}
"""Of the callers, by name."""


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    for name, item in CALLERS.items():
        who = item.principal
        SECRETS[name] = await a_key(
            service, item.role, who.tenant, who.user, collections=item.collections
        )
    transport = httpx2.ASGITransport(create_app(service, Settings(), "secret-token"))
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=by("eva")
    ) as client:
        yield client


@pytest.fixture
async def job(service: FakeService) -> JobView:
    return await service.jobs.ask(Ask("Open?", EVA))


@pytest.mark.parametrize("file", transcripts("jobs"), ids=lambda file: file.stem)
def test_transcript(file: Path) -> None:
    with running(create_app(FakeService(jobs=ToldJobs()), Settings(), "token")) as url:
        replayed(url, file)


def by(name: str) -> dict[str, str]:
    return bearer(SECRETS[name])


async def test_a_job_is_shown_with_its_result_to_its_owner(
    http: httpx2.AsyncClient, job: JobView
) -> None:
    shown = (await http.get(f"{PATH}/{job.id}")).json()
    assert shown["result"] == {"question": "Open?", "answer": "42.", "sources": []}
    names = "id kind state progress eta result error attempts created_at updated_at"
    assert set(names.split()) <= set(shown)
    listed = (await http.get(PATH)).json()["jobs"]
    assert [(item["id"], item["result"]) for item in listed] == [(job.id, None)]


@pytest.mark.parametrize("who", ["max", "narrow", "elsewhere"])
async def test_to_others_it_does_not_exist(
    http: httpx2.AsyncClient, job: JobView, who: str
) -> None:
    for method, path in (
        ("GET", job.id),
        ("GET", f"{job.id}/events"),
        *(("POST", f"{job.id}/{act}") for act in ("cancel", "pause", "resume", "retry")),
    ):
        response = await http.request(method, f"{PATH}/{path}", headers=by(who))
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "unknown_job"
    assert (await http.get(PATH, headers=by(who))).json() == {"jobs": []}


async def test_an_admin_sees_all_of_the_tenant_without_answers(
    http: httpx2.AsyncClient, job: JobView
) -> None:
    shown = (await http.get(f"{PATH}/{job.id}", headers=by("admin"))).json()
    assert (shown["user"], shown["result"]) == ("eva", None)
    assert len((await http.get(PATH, headers=by("admin"))).json()["jobs"]) == 1
    assert (await http.get(f"{PATH}/kinds", headers=by("admin"))).status_code == 403
    kinds = (await http.get(f"{PATH}/kinds", headers=KEY)).json()["kinds"]
    assert [kind["kind"] for kind in kinds] == ["ask", "ingest"]
    cleaned = await http.post(f"{PATH}/clean", json={"state": "done"}, headers=by("admin"))
    assert cleaned.json() == {"forgotten": 1}


async def test_a_job_is_steered(http: httpx2.AsyncClient, service: FakeService) -> None:
    waiting = await service.jobs.ask(Ask("wait", EVA))
    for act, state in (
        ("pause", "paused"),
        ("resume", "queued"),
        ("cancel", "cancelled"),
        ("retry", "queued"),
    ):
        response = await http.post(f"{PATH}/{waiting.id}/{act}")
        assert (response.status_code, response.json()["state"]) == (200, state)
    service.jobs.known[waiting.id] = EVA, replace(waiting, state="done")
    response = await http.post(f"{PATH}/{waiting.id}/cancel")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "job_ended")


async def test_progress_comes_as_events_to_the_end(http: httpx2.AsyncClient, job: JobView) -> None:
    response = await http.get(f"{PATH}/{job.id}/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    name, data = response.text.strip().split("\n")
    assert name == "event: done"
    assert json.loads(data.removeprefix("data: "))["result"]["answer"] == "42."


async def test_kinds_are_paused_only_by_the_operator(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    assert (await http.post(f"{PATH}/kinds/ask/pause")).status_code == 403
    assert (await http.post(f"{PATH}/kinds/ask/pause", headers=KEY)).status_code == 200
    assert service.jobs.paused == {"ask"}
    assert (await http.post(f"{PATH}/kinds/ask/resume", headers=KEY)).json()["paused"] is False
    assert (await http.post(f"{PATH}/kinds/none/pause", headers=KEY)).status_code == 400


@in_turn(
    ("method", "path", "status"),
    [
        ("GET", "/unknown", 404),
        ("GET", "/%00", 404),
        ("GET", "/%ff%fe", 404),
        ("GET", "/" + "x" * 300, 422),
        ("GET", "?limit=0", 422),
        ("GET", "?state=lost", 422),
        ("GET", "/unknown/events", 404),
        ("POST", "/unknown/cancel", 404),
        ("POST", "/unknown/explode", 422),
        ("POST", "/clean", 403),
        ("GET", "/kinds", 403),
    ],
)
async def test_bad_requests_are_refused(
    http: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    response = await http.request(method, PATH + path, json={} if method == "POST" else None)
    assert response.status_code == status
    assert response.json()["error"]["message"]
