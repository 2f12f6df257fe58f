"""Two servers on one PostgreSQL whose clocks are hours apart, in real processes."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conformance.postgres_server import PostgresServer
from tests.documents import DOCUMENTS
from tests.e2e.processes import json_here, run, serving

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
QUESTION = "How long does a full charge last without sun?"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed"),
]


@pytest.fixture(params=["+2h", "-2h"])
def two(
    request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path
) -> Iterator[tuple[Path, Path]]:
    """The data directories of a server that is on time and of one that is not."""
    there = {"STATE__URL": postgres.url, "INDEX__URL": postgres.url}
    wrong = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME": request.param,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    folders = tmp_path / "right", tmp_path / "wrong"
    with ExitStack() as stack:
        for folder, more in zip(folders, ({}, wrong), strict=True):
            stack.enter_context(serving(folder, **there, **more))
        yield folders


def test_given_clocks_hours_apart_then_both_tell_the_same_time(two: tuple[Path, Path]) -> None:
    right, wrong = two
    ingested = run(wrong, "ingest", str(DOCUMENTS))
    assert ingested.returncode == 0, ingested.stderr
    for number, folder in enumerate((right, wrong, right, wrong)):
        assert "31 days" in json_here(folder, "ask", QUESTION, "--room", f"r{number}")["answer"]
    for folder in two:
        rooms = json_here(folder, "conversations", "list")["conversations"]
        assert [one["room"] for one in rooms] == ["r3", "r2", "r1", "r0"]
        jobs = json_here(folder, "jobs", "list")["jobs"]
        assert {(one["state"], one["attempts"]) for one in jobs} == {("done", 1)}
    times = [
        one["created_at"] for one in json_here(right, "conversations", "list")["conversations"]
    ]
    assert max(times) - min(times) < 3600
