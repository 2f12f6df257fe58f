"""`ragstone jobs` on a fake service, and `ragstone worker` where nothing is shared."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app
from ragstone.core.turn import Principal
from ragstone.service import Service
from ragstone.service.jobs import JobState, JobView
from ragstone.settings import Settings
from tests.fake_service import FakeService


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = FakeService()

    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield fake

    monkeypatch.setattr("ragstone.remote.connect", connect)
    return fake


def put(service: FakeService, id: str, state: JobState, error: str = "") -> None:
    progress = {"share": 0.25}
    view = JobView(id, "ingest", state, progress, 90.0, None, error, 2, 1.0, 2.0, user="eva")
    service.jobs.known[id] = Principal(user="eva"), view


def jobs(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["jobs", *arguments])


def test_jobs_are_listed_and_shown(service: FakeService) -> None:
    assert "no such jobs" in jobs("list").stdout
    put(service, "j1", "running")
    put(service, "j2", "failed", "The model is gone.\x1b[31m")
    shown = jobs("list").stdout
    assert "25%" in shown
    assert "The model is gone." in shown
    assert "\x1b" not in shown
    assert [j["id"] for j in json.loads(jobs("list", "--state", "failed", "--json").stdout)["jobs"]]
    one = jobs("show", "j1").stdout
    assert one.startswith("ingest j1: running 25%, about 1:30 left")
    assert "begun 2 times" in one
    failed = jobs("show", "j2")
    assert failed.exit_code == 1
    assert "error: The model is gone." in failed.stdout
    assert json.loads(jobs("show", "j1", "--json").stdout)["eta"] == 90.0


def test_a_job_is_followed_to_its_end(service: FakeService) -> None:
    put(service, "j1", "done")
    followed = jobs("show", "j1", "--follow")
    assert followed.exit_code == 0
    assert "done 25%" in followed.stderr


def test_jobs_are_steered(service: FakeService) -> None:
    put(service, "j1", "running")
    assert jobs("pause", "j1").stdout == "j1 is paused.\n"
    assert jobs("resume", "j1").stdout == "j1 is queued.\n"
    assert jobs("cancel", "j1").stdout == "j1 is cancelled.\n"
    assert jobs("retry", "j1").stdout == "j1 is queued.\n"
    put(service, "j2", "failed")
    put(service, "j3", "failed")
    assert "2 jobs queued again." in jobs("retry", "--failed").stdout
    service.jobs.known["j2"] = (
        service.jobs.known["j2"][0],
        replace(service.jobs.known["j2"][1], state="done"),
    )
    assert jobs("clean", "--state", "done").stdout == "1 job removed from the list.\n"


def test_kinds_are_paused(service: FakeService) -> None:
    assert jobs("pause", "--kind", "ask").stdout == "Jobs of the kind ask are not begun.\n"
    assert "paused" in jobs("kinds").stdout
    assert jobs("resume", "--kind", "ask").exit_code == 0
    assert json.loads(jobs("kinds", "--json").stdout)["kinds"][0]["paused"] is False


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("show", "none"), 1),
        (("cancel", "none"), 1),
        (("pause",), 2),
        (("pause", "j", "--kind", "ask"), 2),
        (("pause", "--kind", "none"), 1),
        (("retry",), 2),
        (("retry", "j", "--failed"), 2),
        (("list", "--state", "lost"), 2),
        (("evaluate", "retrieval", "/nowhere"), 1),
    ],
)
def test_bad_commands_end_with_one_line(
    service: FakeService, arguments: tuple[str, ...], status: int
) -> None:
    done = jobs(*arguments)
    assert done.exit_code == status
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_without_shared_servers_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_DATA", str(tmp_path))
    alone = CliRunner().invoke(app, ["worker"])
    assert (alone.exit_code, "set STATE__URL to a PostgreSQL" in alone.stderr) == (1, True)
    monkeypatch.setenv("STATE__URL", "postgresql://127.0.0.1:1/none")
    half = CliRunner().invoke(app, ["worker"])
    assert (half.exit_code, "Set INDEX__URL to a server" in half.stderr) == (1, True)
