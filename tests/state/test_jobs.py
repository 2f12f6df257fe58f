"""Jobs as other processes see them."""

from pathlib import Path

import pytest

from ragstone.state.database import Database
from ragstone.state.jobs import SqlJobs
from tests.databases import DatabaseOpener


@pytest.fixture
def database(state: Database) -> Database:
    return state


async def test_a_job_from_beginning_to_end(
    database: Database, open_state: DatabaseOpener, tmp_path: Path
) -> None:
    store = SqlJobs(database)
    assert await store.get("j1") is None
    await store.create("j1", "ingest", {"paths": ["/ä"]})
    await store.create("j2", "rebuild", {})
    await store.update("j1", {"files": 3, "eta": None})
    async with open_state(tmp_path) as other:
        seen = await SqlJobs(other).get("j1")
    assert seen is not None
    assert (seen.kind, seen.request, seen.state) == ("ingest", {"paths": ["/ä"]}, "running")
    assert seen.progress == {"files": 3, "eta": None}
    assert seen.updated_at >= seen.created_at
    assert [job.id for job in await store.unfinished()] == ["j1", "j2"]
    await store.finish("j1", "done")
    await store.finish("j2", "failed", "The disk is full.")
    assert await store.unfinished() == []
    failed = await store.get("j2")
    assert failed is not None
    assert (failed.state, failed.error) == ("failed", "The disk is full.")


async def test_creating_again_keeps_what_is_known(database: Database) -> None:
    store = SqlJobs(database)
    await store.create("j1", "ingest", {"a": 1})
    await store.update("j1", {"files": 3})
    await store.create("j1", "ingest", {"a": 2})
    job = await store.get("j1")
    assert job is not None
    assert (job.request, job.progress) == ({"a": 1}, {"files": 3})


async def test_nothing_changes_a_job_after_its_end(database: Database) -> None:
    store = SqlJobs(database)
    await store.create("j1", "ingest", {})
    await store.finish("j1", "done")
    ended = await store.get("j1")
    await store.update("j1", {"files": 3})
    await store.finish("j1", "failed", "Late.")
    await store.update("unknown", {})
    assert await store.get("j1") == ended
