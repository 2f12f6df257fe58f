"""What webhooks are told, on both databases of the state: all of it, once, to who may know."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from ragstone.core.clock import state_time
from ragstone.core.records import Collection, Document, QuestionTrace
from ragstone.core.turn import Principal
from ragstone.plugins.sources.store import SqlSources
from ragstone.plugins.webhooks.contract import EVENT_TYPES, EventType, Webhook
from ragstone.plugins.webhooks.store import MAX_WAITING, SqlWebhooks, StoredWebhook
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.history import SqlTraces
from ragstone.store.sql.tables import jobs, source_runs
from tests.databases import all_postgres_databases, open_state, postgres_databases, state
from tests.store.sql.test_sources import HANDBOOK

__all__ = ["all_postgres_databases", "open_state", "postgres_databases", "state"]

EVA = Principal(user="eva", groups=("hr",))
COLLECTION = Collection("default", "docs", "m", "m/1", 3)
DOCUMENT = Document("a", "default", COLLECTION.id, "/a.md")


@pytest.fixture
def webhooks(state: Database) -> SqlWebhooks:
    return SqlWebhooks(state)


def make_webhook(*events: EventType) -> StoredWebhook:
    shown = Webhook("w1", "https://x.org/", events or EVENT_TYPES, "eva", state_time() - 5)
    return StoredWebhook(shown, EVA, "", "whsec_AAAA", inside=False)


async def read_messages(state: Database) -> list[Any]:
    wanted = select(jobs.c.request).order_by(jobs.c.created_at, jobs.c.id)
    found = await state.read(lambda connection: connection.scalars(wanted).all())
    return [json.loads(request["body"]) for request in found]


async def end_deliveries(state: Database) -> None:
    ended = update(jobs).values(state="done")
    await state.keep(lambda connection: connection.execute(ended).rowcount)


async def publish(catalog: SqlCatalog, document: Document) -> None:
    await catalog.publish(document, await catalog.begin(document))


async def test_every_event_is_told_once_however_many_there_are(
    state: Database, webhooks: SqlWebhooks
) -> None:
    await webhooks.add(make_webhook("question.refused"))
    kept, now = SqlTraces(state), state_time()
    for number in range(MAX_WAITING + 50):
        finish = ("refused", "blocked", "stop")[number % 3]
        trace = QuestionTrace(str(number), now, "default", "ann", finish=finish, question="Who?")
        await kept.keep(trace, 7)
    await kept.keep(QuestionTrace("other", now, "acme", "ann", finish="refused"), 7)

    for _ in range(4):
        await webhooks.queue_news()
    await end_deliveries(state)
    for _ in range(4):
        await webhooks.queue_news()

    told = [said["data"]["question"] for said in await read_messages(state)]
    assert sorted(told, key=int) == [str(n) for n in range(MAX_WAITING + 50) if n % 3 < 2]
    assert "Who?" not in str(await read_messages(state))


async def test_what_waits_for_a_webhook_is_bounded_and_nothing_is_lost(
    state: Database, webhooks: SqlWebhooks
) -> None:
    await webhooks.add(make_webhook("question.refused"))
    kept, now = SqlTraces(state), state_time()
    for number in range(2 * MAX_WAITING):
        trace = QuestionTrace(str(number), now, "default", "ann", finish="refused")
        await kept.keep(trace, 7)

    counts = [await webhooks.queue_news() for _ in range(3)]
    await end_deliveries(state)
    counts += [await webhooks.queue_news() for _ in range(3)]

    assert counts == [MAX_WAITING, 0, 0, MAX_WAITING, 0, 0]


async def test_documents_are_told_to_who_may_read_them(
    state: Database, webhooks: SqlWebhooks
) -> None:
    catalog = await SqlCatalog.open(state)
    await catalog.put_collection(COLLECTION)
    await publish(catalog, DOCUMENT)
    await webhooks.add(make_webhook("document.changed"))
    await publish(catalog, replace(DOCUMENT, id="b", path="/b.md", own_readers=("group:it",)))
    await publish(catalog, replace(DOCUMENT, id="c", path="/c.md", own_readers=("group:hr",)))
    await webhooks.queue_news()
    await publish(catalog, DOCUMENT)
    await catalog.give_readers(["b"], ("user:eva",))
    await webhooks.queue_news()
    await catalog.give_readers(["c"], ("group:it",))
    await catalog.retire(["a"])
    await webhooks.queue_news()

    told = [
        {(item["id"], item["change"]) for item in said["data"]["documents"]}
        for said in await read_messages(state)
    ]
    assert told == [
        {("c", "added")},
        {("a", "changed"), ("b", "added")},
        {("a", "removed"), ("c", "removed")},
    ]
    assert {said["data"]["collection"] for said in await read_messages(state)} == {"docs"}


async def test_a_run_that_failed_is_told_without_its_reasons(
    state: Database, webhooks: SqlWebhooks
) -> None:
    await SqlSources(state).add(replace(HANDBOOK, tenant="default"))
    await webhooks.add(make_webhook())
    now = state_time()
    counts = ["added", "changed", "rights", "removed", "held", "unchanged", "failed"]
    row = {
        **dict.fromkeys(counts, 0), "id": "r1", "source": "s1", "started_at": now, "ended_at": now,
        "state": "failed", "dry": False, "error": "/srv is gone", "failures": [], "notes": [],
    }  # fmt: skip
    rows = [row, {**row, "id": "r2", "dry": True}, {**row, "id": "r3", "state": "done"}]
    await state.keep(lambda connection: connection.execute(insert(source_runs), rows).rowcount)
    await webhooks.queue_news()

    [said] = await read_messages(state)
    assert said["data"] == {"source": "handbook", "run": "r1", "failed": 0}


async def test_an_ingest_is_told_once_for_each_of_its_ends(
    state: Database, webhooks: SqlWebhooks
) -> None:
    await webhooks.add(make_webhook("ingest.ended"))
    now = state_time()
    row = {
        "id": "j1", "kind": "ingest", "request": {}, "progress": {"failed": [{}], "indexed": 2},
        "state": "failed", "error": "/srv is gone", "created_at": now, "updated_at": now,
        "attempts": 1,
    }  # fmt: skip
    await state.keep(lambda connection: connection.execute(insert(jobs), [row]).rowcount)
    assert [await webhooks.queue_news() for _ in range(2)] == [1, 0]
    again = update(jobs).where(jobs.c.id == "j1").values(attempts=2, state="done")
    await state.keep(lambda connection: connection.execute(again).rowcount)
    assert [await webhooks.queue_news() for _ in range(2)] == [1, 0]
