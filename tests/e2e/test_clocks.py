"""Two servers on one PostgreSQL whose clocks are hours apart, in real processes."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.service.server_file import find_server
from tests.conformance.postgres_server import PostgresServer
from tests.documents import DOCUMENTS
from tests.e2e.processes import json_here, run, serving
from tests.jobs.adapters import fresh_database
from tests.patience import PATIENCE, wait_for
from tests.redis_server import redis_server

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
QUESTION = "How long does a full charge last without sun?"
HOUR, SOON = 3600.0, 3.0
ENTRY_SECONDS = 30.0

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        FAKETIME is None and not os.environ.get("CI"), reason="libfaketime is not installed"
    ),
]


@pytest.fixture(params=["+2h", "-2h"], scope="module")
def two(
    request: pytest.FixtureRequest,
    postgres: PostgresServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, Path]]:
    """The data directories of a server that is on time and of one that is not."""
    root = tmp_path_factory.mktemp("clocks")
    url = asyncio.run(fresh_database(postgres.url))
    wrong = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME": request.param,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    folders = root / "right", root / "wrong"
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(root))
        there = {
            "STATE__URL": url,
            "INDEX__URL": url,
            "CACHE__URL": redis.url,
            "CACHE__DEFAULT_TTL_SECONDS": str(ENTRY_SECONDS),
        }
        for folder, more in zip(folders, ({}, wrong), strict=True):
            stack.enter_context(serving(folder, **there, **more))
        ingested = run(folders[1], "ingest", str(DOCUMENTS))
        assert ingested.returncode == 0, ingested.stderr
        yield folders


def request(folder: Path, method: str, address: str, secret: str = "", **body: Any) -> Any:
    """The response of a server, to its operator or to who has a secret."""
    server = find_server(folder)
    assert server is not None
    url, token = server
    headers = {"Authorization": f"Bearer {secret or token}"}
    return httpx2.request(
        method, url + address, headers=headers, json=body or None, timeout=PATIENCE
    )


def a_key(folder: Path, seconds: float) -> str:
    """The secret of a new key that holds for so long."""
    made = request(folder, "POST", "/api/v1/keys", name="a program", expires_in=seconds)
    assert made.status_code == 201, made.text
    secret: str = made.json()["secret"]
    return secret


def holds(folder: Path, secret: str) -> bool:
    status = request(folder, "GET", "/api/v1/keys/self", secret).status_code
    assert status in (200, 401)
    return bool(status == 200)


def rooms(folder: Path) -> list[str]:
    """The rooms of conversations, the last one first."""
    listed = json_here(folder, "conversations", "list")["conversations"]
    return [item["room"] for item in listed]


def test_given_clocks_hours_apart_then_both_tell_the_same_time(two: tuple[Path, Path]) -> None:
    right, wrong = two
    for number, folder in enumerate((right, wrong, right, wrong)):
        assert "31 days" in json_here(folder, "ask", QUESTION, "--room", f"r{number}")["answer"]
    for folder in two:
        # A busy server stores a conversation a moment after its answer has ended.
        assert wait_for(lambda: rooms(folder) == ["r3", "r2", "r1", "r0"])  # noqa: B023
        jobs = json_here(folder, "jobs", "list")["jobs"]
        assert {(job["state"], job["attempts"]) for job in jobs} == {("done", 1)}
    times = [
        item["created_at"] for item in json_here(right, "conversations", "list")["conversations"]
    ]
    assert max(times) - min(times) < 3600


def test_given_clocks_hours_apart_then_a_key_holds_for_its_time_in_both(
    two: tuple[Path, Path],
) -> None:
    secrets = [a_key(folder, HOUR) for folder in two]
    assert [holds(folder, secret) for folder in two for secret in secrets] == [True] * 4
    for secret in [a_key(folder, SOON) for folder in two]:
        for folder in two:
            assert wait_for(lambda: not holds(folder, secret))  # noqa: B023
    assert [holds(folder, secret) for folder in two for secret in secrets] == [True] * 4


def test_given_clocks_hours_apart_then_the_old_secret_of_a_key_holds_for_its_time_in_both(
    two: tuple[Path, Path],
) -> None:
    for folder in two:
        made = request(folder, "POST", "/api/v1/keys", name="a program").json()
        old, place = made["secret"], f"/api/v1/keys/{made['key']['id']}/rotate"
        request(folder, "POST", place, grace_seconds=HOUR)
        assert [holds(item, old) for item in two] == [True, True]


def test_given_clocks_hours_apart_then_what_one_keeps_in_the_cache_both_have_for_its_time(
    two: tuple[Path, Path],
) -> None:
    def entries() -> list[int]:
        return [json_here(folder, "cache", "stats")["entries"] for folder in two]

    def hits() -> int:
        found: int = json_here(two[0], "cache", "stats")["hits"]
        return found

    def is_shared(here: Path, there: Path) -> bool:
        """Whether what one has kept is found by the other, and counted by both."""
        before, asked = hits(), f"{QUESTION} In {here.name} words."
        for folder in (here, there):
            assert "31 days" in json_here(folder, "ask", asked)["answer"]
        mine, others = entries()
        return hits() > before and mine == others > 0

    for here, there in (two, two[::-1]):
        assert wait_for(lambda: is_shared(here, there))  # noqa: B023
    assert wait_for(lambda: entries() == [0, 0])
