"""Parts of jobs, on SQLite and on PostgreSQL: who has one, and what he may write."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragstone.core.chunk import revision
from ragstone.core.errors import JobEnded
from ragstone.core.records import Document
from ragstone.ports.jobs import EMBED_PART, PARTS, READ_PART, Job, NewJob, NewPart
from ragstone.service import wire
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlParts
from tests.conformance.test_catalog import DOC, LAW, hidden
from tests.databases import all_postgres_databases, open_state, postgres_databases, state

__all__ = ["all_postgres_databases", "open_state", "postgres_databases", "state"]

FREE = dict.fromkeys(PARTS, 1)


@pytest.fixture
def store(state: Database) -> SqlJobs:
    return SqlJobs(state)


@pytest.fixture
def parts(state: Database) -> SqlParts:
    return SqlParts(state)


@pytest.fixture
async def catalog(state: Database) -> SqlCatalog:
    made = await SqlCatalog.open(state)
    await made.put_collection(LAW)
    return made


async def running(store: SqlJobs, id: str = "big", tenant: str = "acme") -> Job:
    """An ingest that `leader` runs."""
    await store.submit(NewJob(id, "ingest", {}, tenant, collection=id, priority=5), 100)
    (job,) = await store.claim("leader", {"ingest": 1})
    return job


def reading(id: str, *documents: Document) -> NewPart:
    files = [
        {"source": "/x", "root": "/x", "document": wire.dump(document)} for document in documents
    ]
    return NewPart(id, READ_PART, {"build": 0, "files": files})


def embedding(id: str, chunks: Sequence[str] = ()) -> NewPart:
    return NewPart(id, EMBED_PART, {"build": 0, "chunks": list(chunks)})


async def claimed(store: SqlJobs, worker: str = "helper", **unable: Any) -> list[str]:
    return [job.id for job in await store.claim(worker, FREE, unable)]


async def test_parts_belong_to_whose_job_it_is_and_are_claimed_while_it_runs(
    store: SqlJobs, parts: SqlParts
) -> None:
    job = await running(store)
    await parts.offer("big", [reading("r"), embedding("e")])
    assert {
        (item.tenant, item.collection, item.priority) for item in await parts.list_parts("big")
    } == {("acme", "big", 5)}
    assert await store.next_due(PARTS) is not None
    assert await claimed(store, read_part={"big"}) == ["e"]
    assert await claimed(store) == ["r"]
    assert set(await store.list_claimed("helper")) == {"r", "e"}
    await store.again(job, 0.0, "", "")
    assert await store.list_claimed("helper") == {}


async def test_of_a_job_that_does_not_run_nothing_is_offered_or_claimed(
    store: SqlJobs, parts: SqlParts
) -> None:
    job = await running(store)
    await parts.offer("big", [embedding("e")])
    await store.again(job, 0.0, "", "")
    assert await claimed(store) == []
    assert await store.next_due(PARTS) is None
    await parts.offer("big", [embedding("late")])
    assert [item.id for item in await parts.list_parts("big")] == ["e"]


async def test_nobody_is_shown_a_part(store: SqlJobs, parts: SqlParts) -> None:
    await running(store)
    await parts.offer("big", [embedding("e")])
    assert await store.get("e") is None
    assert [item.id for item in await store.list_all("acme", None, None, 10)] == ["big"]
    assert await store.counts() == {("ingest", "running"): 1}


async def test_only_what_nobody_works_at_is_withdrawn(store: SqlJobs, parts: SqlParts) -> None:
    await running(store)
    await parts.offer("big", [embedding("e1"), embedding("e2")])
    assert await claimed(store) == ["e1"]
    assert set(await parts.withdraw(["e1", "e2", "big"])) == {"e2"}


@pytest.mark.parametrize("how", ["its process died", "the job was cancelled", "who leads died"])
async def test_who_has_lost_a_part_can_neither_begin_nor_publish(
    how: str, store: SqlJobs, parts: SqlParts, catalog: SqlCatalog
) -> None:
    await running(store, "c1")
    other = replace(DOC, id="d2", path="/other")
    await parts.offer("c1", [reading("r", DOC, other)])
    [part] = await store.claim("helper", FREE)
    [begun] = await catalog.begin_all([DOC], part)
    if how == "its process died":
        await store.requeue_orphans(["helper"], 5, 0.0)
    elif how == "the job was cancelled":
        await store.move("c1", ["running"], "cancelled")
    else:
        await store.requeue_orphans(["leader"], 5, 0.0)
    with pytest.raises(JobEnded):
        await catalog.begin_all([other], part)
    # Another one writes the document meanwhile: it is another version.
    [following] = await catalog.begin_all([DOC])
    assert (following.version, following.resumed) == (begun.version + 1, False)
    await catalog.publish(DOC, begun.version)
    assert await catalog.document(DOC.id) == replace(DOC, version=0, status="writing")
    await catalog.publish(DOC, following.version)
    known = await catalog.document(DOC.id)
    assert known
    assert known.version == following.version


async def test_what_was_lost_stays_hidden_until_its_writer_says_that_it_has_stopped(
    store: SqlJobs, parts: SqlParts, catalog: SqlCatalog
) -> None:
    await running(store, "c1")
    await parts.offer("c1", [reading("r", DOC)])
    [part] = await store.claim("helper", FREE)
    [begun] = await catalog.begin_all([DOC], part)
    await parts.drop("c1")
    name = revision(DOC.id, begun.version)
    await catalog.publish(DOC, (await catalog.begin_all([DOC]))[0].version)
    assert [item for _, item in await catalog.list_retired()] == [name]
    await catalog.forget_revisions([name])
    assert name in await hidden(catalog)
    await catalog.mark_stopped([name])
    await catalog.forget_revisions([name])
    assert await hidden(catalog) == frozenset()


async def test_parts_of_what_has_ended_are_swept(store: SqlJobs, parts: SqlParts) -> None:
    job = await running(store)
    await parts.offer("big", [embedding("e")])
    await store.sweep()
    assert len(await parts.list_parts("big")) == 1
    await store.finish(job, "done", 1e12)
    await store.sweep()
    assert await parts.list_parts("big") == []
