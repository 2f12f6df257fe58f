"""Webhooks on the state store, and what is to be told to them.

What happened is read where it is kept anyway, in the transaction that queues the message and notes
how far the webhook was told: a kill loses no event, and none is told twice.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    and_,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    update,
)

from ragstone.access.gate import OF_A_PERSON
from ragstone.core.caller import OF_A_KEY
from ragstone.core.clock import state_time
from ragstone.core.turn import Principal
from ragstone.local.added import StateStore
from ragstone.local.jobs import USUAL_PRIORITY
from ragstone.plugins.webhooks.contract import KIND, Delivery, NewEvent, Webhook
from ragstone.ports.jobs import DONE, ENDED, INGEST, QUEUED, RUNNING, WRITING, NewJob
from ragstone.store.sql.job_claims import lock_queue_now
from ragstone.store.sql.jobs import add_job
from ragstone.store.sql.listing import readable_condition
from ragstone.store.sql.rows import batches, put_statement
from ragstone.store.sql.tables import (
    api_keys,
    collections,
    documents,
    editions,
    jobs,
    people,
    source_runs,
    sources,
    traces,
    webhook_documents,
    webhooks,
)

T = TypeVar("T")

OVERLAP_SECONDS = 60.0
"""How long it is looked again for what happened: what was begun first may be committed last."""

LOOK_BACK_SECONDS = 600.0
"""After which it is noted that nothing happened."""

MAX_WAITING = 100
"""Messages that wait for one webhook; further events wait where they are kept."""

MAX_IDS = 100
"""Documents that a message names; all are counted."""

INGEST_SECONDS = 60.0
"""How often documents are told of while their collection is being changed."""


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """A webhook with what only the server knows: who it acts for, by which credential it was made,
    its secret, and whether it may be in a private network (`inside`)."""

    shown: Webhook
    owner: Principal
    key: str
    secret: str
    inside: bool
    seen_until: float = 0.0
    editions: Mapping[str, Sequence[Any]] | None = None
    """Of each collection, by its id: the edition that was told of, the name, and when."""


class SqlWebhooks(StateStore):
    """Webhooks by their ids. Methods raise StateUnavailable and StorageFull."""

    name = "webhooks"

    async def add(self, webhook: StoredWebhook) -> None:
        """Keep a new webhook; what there is of documents counts as told."""
        shown, owner = webhook.shown, webhook.owner
        row = {
            "id": shown.id,
            "tenant": owner.tenant,
            "user": owner.user,
            "groups": list(owner.groups),
            "key": webhook.key,
            "url": shown.url,
            "inside": webhook.inside,
            "events": list(shown.events),
            "secret": webhook.secret,
            "created_at": shown.created_at,
            "seen_until": shown.created_at,
            "editions": {},
            "error": "",
        }

        def work(connection: Connection) -> None:
            connection.execute(insert(webhooks).values(**row))
            if "document.changed" in shown.events:
                news = list(_find_changes(connection, webhook, owner.names, shown.created_at))
                _note_told(connection, shown.id, {}, news)

        await self._write(work)

    async def get(self, id: str) -> StoredWebhook | None:
        """Return the webhook of this id."""
        return await self._database.read(partial(_read_webhook, id=id))

    async def list_all(self, tenant: str) -> list[Webhook]:
        """Return the webhooks of a tenant, the oldest first."""
        mine = select(webhooks).where(webhooks.c.tenant == tenant)
        oldest = mine.order_by(webhooks.c.created_at, webhooks.c.id)
        return await self._database.read(
            lambda connection: [
                _to_webhook(row).shown for row in connection.execute(oldest).mappings()
            ]
        )

    async def remove(self, id: str) -> None:
        """Forget a webhook and all that it was told."""
        gone = delete(webhooks).where(webhooks.c.id == id)
        await self._database.keep(lambda connection: connection.execute(gone).rowcount)

    async def enable(self, id: str) -> None:
        """Send to it again."""
        await self._change(id, disabled_at=None, failing_since=None, error="")

    async def disable(self, id: str, reason: str) -> None:
        """Send nothing to it any more."""
        await self._change(id, disabled_at=state_time(), error=reason)

    async def note_delivery(self, id: str) -> None:
        """A message has arrived."""
        await self._change(id, delivered_at=state_time(), failing_since=None, error="")

    async def note_failure(self, id: str, reason: str) -> None:
        """A message has not arrived."""
        since = func.coalesce(webhooks.c.failing_since, state_time())
        await self._change(id, failing_since=since, error=reason)

    async def list_deliveries(self, id: str, limit: int) -> list[Delivery]:
        """Return the newest messages to a webhook."""
        mine = select(jobs).where(jobs.c.kind == KIND, _of(id))
        newest = mine.order_by(jobs.c.created_at.desc(), jobs.c.id).limit(limit)

        def read(connection: Connection) -> list[Delivery]:
            return [
                Delivery(
                    row["id"],
                    str(row["request"]["type"]),
                    row["state"],
                    row["attempts"],
                    "" if row["state"] == DONE else row["error"],
                    row["created_at"],
                    row["updated_at"],
                    row["due_at"],
                )
                for row in connection.execute(newest).mappings()
            ]

        return await self._database.read(read)

    async def queue(self, webhook: StoredWebhook, events: Sequence[NewEvent]) -> None:
        """Queue messages to a webhook."""
        await self._write(partial(_queue, webhook=webhook, events=events))

    async def queue_news(self) -> int:
        """Queue what is to be told to every webhook; how many messages."""
        active = select(webhooks).where(webhooks.c.disabled_at.is_(None))
        found = await self._database.read(
            lambda connection: list(map(_to_webhook, connection.execute(active).mappings()))
        )
        queued = 0
        for webhook in found:
            # A look takes no turn from those who write.
            if await self._database.read(partial(_has_news, webhook=webhook)):
                queued += await self._write(partial(_queue_news, id=webhook.shown.id))
        return queued

    async def _change(self, id: str, **values: Any) -> None:
        changed = update(webhooks).where(webhooks.c.id == id).values(**values)
        await self._database.keep(lambda connection: connection.execute(changed).rowcount)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` whole in a thread: a large collection may have changed."""

        def run_locked(connection: Connection) -> T:
            lock_queue_now(connection)
            return work(connection)

        return await self._database.keep(run_locked)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a webhook is to be told of a collection: documents with their versions, and those that
    are no more there for its owner."""

    collection: str
    told: Sequence[Any]
    """What `StoredWebhook.editions` has of it then; no edition where the collection is gone."""
    added: Mapping[str, int]
    changed: Mapping[str, int]
    removed: Sequence[str]

    @property
    def data(self) -> dict[str, Any]:
        named = [
            {"id": id, "change": change}
            for change, ids in (
                ("added", self.added),
                ("changed", self.changed),
                ("removed", self.removed),
            )
            for id in ids
        ]
        return {
            "collection": self.told[1],
            "added": len(self.added),
            "changed": len(self.changed),
            "removed": len(self.removed),
            "documents": named[:MAX_IDS],
        }


def _queue_news(connection: Connection, *, id: str) -> int:
    """Queue what is new for a webhook, and note that it is told; how many messages."""
    webhook = _read_webhook(connection, id)
    if webhook is None or webhook.shown.disabled_at is not None:
        return 0
    now = state_time()
    names = _find_names(connection, webhook, now)
    # Whoever lost the right to make a webhook is told nothing more by the one that is there.
    if names is None:
        reason = "Who made it is no administrator of all collections any more."
        gone = update(webhooks).where(webhooks.c.id == id)
        connection.execute(gone.values(disabled_at=now, error=reason))
        return 0
    room = MAX_WAITING - _count_waiting(connection, id)
    if room <= 0:
        return 0
    events = sorted(_find_events(connection, webhook), key=attrgetter("at"))
    until = now if len(events) <= room else events[room - 1].at
    changes: list[_Change] = []
    if "document.changed" in webhook.shown.events:
        changes = list(_find_changes(connection, webhook, names, now))
    _note_told(connection, id, webhook.editions or {}, changes)
    told = [
        NewEvent(uuid4().hex, "document.changed", now, change.data)
        for change in changes
        if change.added or change.changed or change.removed
    ]
    # What began before and is committed later would be missed, had it been looked for only once.
    until = max(until - OVERLAP_SECONDS, webhook.seen_until)
    connection.execute(update(webhooks).where(webhooks.c.id == id).values(seen_until=until))
    return _queue(connection, webhook=webhook, events=[*events[:room], *told])


def _has_news(connection: Connection, *, webhook: StoredWebhook) -> bool:
    """Tell whether there may be something to queue for a webhook, or to note."""
    now = state_time()
    if _find_names(connection, webhook, now) is None:
        return True
    if _count_waiting(connection, webhook.shown.id) >= MAX_WAITING:
        return False
    return (
        now - webhook.seen_until > LOOK_BACK_SECONDS
        or any(True for _ in _find_events(connection, webhook))
        or (
            "document.changed" in webhook.shown.events
            and any(True for _ in _find_editions(connection, webhook, now))
        )
    )


def _find_names(connection: Connection, webhook: StoredWebhook, now: float) -> Sequence[str] | None:
    """Return the names that documents are read by for a webhook, as its owner has them now; None
    where that is no administrator any more."""
    owner, key = webhook.owner, webhook.key
    mine = select(people).where(people.c.tenant == owner.tenant, people.c.user == owner.user)
    if key.startswith(OF_A_KEY):
        held = select(api_keys).where(api_keys.c.id == key.removeprefix(OF_A_KEY))
        row = connection.execute(held).mappings().first()
        ended = row and (row["revoked_at"] is not None or (row["expires_at"] or now) < now)
    else:
        row = connection.execute(mine).mappings().first()
        ended = row is None and key.startswith(OF_A_PERSON)
        if row is None and not ended:
            return owner.names  # The operator, or somebody whom another directory knows.
        ended = ended or (row and not row["active"])
    if row is None or ended or row["role"] != "admin" or row["collections"] is not None:
        return None
    return Principal(owner.tenant, owner.user, tuple(row["groups"])).names


def _find_events(connection: Connection, webhook: StoredWebhook) -> Iterator[NewEvent]:
    """What has happened besides changes of documents and is not queued, of each kind the oldest."""
    wanted, tenant = webhook.shown.events, webhook.owner.tenant
    since = webhook.seen_until
    if "ingest.ended" in wanted:
        ended = select(jobs, collections.c.name).outerjoin(
            collections,
            and_(collections.c.tenant == jobs.c.tenant, collections.c.id == jobs.c.collection),
        )
        ended = ended.where(
            jobs.c.kind == INGEST,
            jobs.c.state.in_(ENDED),
            jobs.c.tenant == tenant,
            jobs.c.updated_at > since,
            _is_new(webhook, jobs.c.id + "-" + cast(jobs.c.attempts, String)),
        )
        for row in _read_first(connection, ended, jobs.c.updated_at):
            counts = row["result"] or row["progress"]
            data = {
                "job": row["id"],
                "collection": row["name"] or "",
                "state": row["state"],
                **{name: counts.get(name, 0) for name in ("indexed", "unchanged", "pruned")},
                "failed": len(counts.get("failed", ())) + counts.get("more_failed", 0),
            }
            id = f"{row['id']}-{row['attempts']}"
            yield NewEvent(id, "ingest.ended", row["updated_at"], data)
    if "source.failed" in wanted:
        failed = select(source_runs, sources.c.name).join(
            sources, sources.c.id == source_runs.c.source
        )
        failed = failed.where(
            source_runs.c.state == "failed",
            source_runs.c.dry.is_(False),
            source_runs.c.ended_at > since,
            sources.c.tenant == tenant,
            _is_new(webhook, source_runs.c.id),
        )
        for row in _read_first(connection, failed, source_runs.c.ended_at):
            data = {"source": row["name"], "run": row["id"], "failed": row["failed"]}
            yield NewEvent(row["id"], "source.failed", row["ended_at"], data)
    if "question.refused" in wanted:
        refused = select(traces.c.id, traces.c.at, traces.c.finish, traces.c.collection)
        refused = refused.where(
            traces.c.tenant == tenant,
            traces.c.at > since,
            traces.c.finish.in_(("refused", "blocked")),
            _is_new(webhook, traces.c.id),
        )
        for row in _read_first(connection, refused, traces.c.at):
            data = {"question": row["id"], "collection": row["collection"], "reason": row["finish"]}
            yield NewEvent(row["id"], "question.refused", row["at"], data)


def _is_new(webhook: StoredWebhook, id: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that the event of this id is not queued."""
    queued = jobs.alias()
    return ~exists().where(queued.c.id == literal(f"{webhook.shown.id}-") + id)


def _read_first(
    connection: Connection, wanted: Select[Any], at: ColumnElement[float]
) -> Sequence[Mapping[Any, Any]]:
    """Return the oldest rows, more than are queued in one step."""
    return connection.execute(wanted.order_by(at).limit(MAX_WAITING + 1)).mappings().all()


def _find_editions(
    connection: Connection, webhook: StoredWebhook, now: float
) -> Iterator[tuple[str, str, Any]]:
    """Yield the collections that show other documents than those told of: id, name and edition,
    None for one that is gone."""
    tenant, known = webhook.owner.tenant, webhook.editions or {}
    busy = select(jobs.c.collection).where(
        jobs.c.tenant == tenant, jobs.c.kind.in_(WRITING), jobs.c.state == RUNNING
    )
    changing = set(connection.scalars(busy))
    numbers = select(collections.c.id, collections.c.name, editions.c.number).outerjoin(
        editions,
        and_(editions.c.tenant == collections.c.tenant, editions.c.collection == collections.c.id),
    )
    there = set()
    for row in connection.execute(numbers.where(collections.c.tenant == tenant)).mappings():
        there.add(row["id"])
        before = known.get(row["id"])
        waits = row["id"] in changing and before and now - before[2] < INGEST_SECONDS
        if not waits and (before is None or before[0] != row["number"]):
            yield row["id"], row["name"], row["number"]
    for id in known.keys() - there:
        yield id, known[id][1], None


def _find_changes(
    connection: Connection, webhook: StoredWebhook, names: Sequence[str], now: float
) -> Iterator[_Change]:
    """Yield what a webhook was not told of the documents that are read by these names."""
    table = webhook_documents
    for collection, name, number in _find_editions(connection, webhook, now):
        there = (
            select(documents.c.id, documents.c.version)
            .where(
                documents.c.tenant == webhook.owner.tenant,
                documents.c.collection == collection,
                documents.c.version > 0,
                readable_condition(connection, names),
            )
            .subquery()
        )
        mine = and_(table.c.webhook == webhook.shown.id, table.c.collection == collection)
        told = select(table.c.document, table.c.version).where(mine).subquery()
        other = (
            select(there.c.id, there.c.version, told.c.version.label("before"))
            .outerjoin(told, told.c.document == there.c.id)
            .where(told.c.version.is_(None) | (told.c.version != there.c.version))
            .order_by(there.c.id)
        )
        rows = connection.execute(other).all()
        lost = (
            select(told.c.document)
            .outerjoin(there, there.c.id == told.c.document)
            .where(there.c.id.is_(None))
            .order_by(told.c.document)
        )
        yield _Change(
            collection,
            (number, name, now),
            {row.id: row.version for row in rows if row.before is None},
            {row.id: row.version for row in rows if row.before is not None},
            connection.scalars(lost).all(),
        )


def _note_told(
    connection: Connection, id: str, known: Mapping[str, Sequence[Any]], changes: Sequence[_Change]
) -> None:
    """Note what a webhook is told of documents."""
    table = webhook_documents
    now_known = dict(known)
    for change in changes:
        rows = [
            {"webhook": id, "document": document, "collection": change.collection, "version": n}
            for document, n in {**change.added, **change.changed}.items()
        ]
        if rows:
            put = put_statement(connection.dialect.name, table, tuple(rows[0]))
            connection.execute(put, rows)
        for some in batches(change.removed):
            gone = delete(table).where(table.c.webhook == id, table.c.document.in_(some))
            connection.execute(gone)
        if change.told[0] is None:
            now_known.pop(change.collection, None)
        else:
            now_known[change.collection] = change.told
    if changes:
        changed = update(webhooks).where(webhooks.c.id == id)
        connection.execute(changed.values(editions=now_known))


def _queue(connection: Connection, *, webhook: StoredWebhook, events: Sequence[NewEvent]) -> int:
    """Queue messages; how many."""
    owner = webhook.owner
    for event in events:
        id = f"{webhook.shown.id}-{event.id}"
        request = {"webhook": webhook.shown.id, "type": event.type, "body": event.body}
        whose = owner.tenant, owner.user, owner.groups
        add_job(connection, NewJob(id, KIND, request, *whose, priority=USUAL_PRIORITY))
    return len(events)


def _count_waiting(connection: Connection, id: str) -> int:
    waiting = select(func.count()).where(
        jobs.c.kind == KIND, jobs.c.state.in_((QUEUED, RUNNING)), _of(id)
    )
    return connection.scalar(waiting) or 0


def _of(id: str) -> Any:
    """Return the condition that a job delivers to a webhook."""
    return jobs.c.id.startswith(f"{id}-", autoescape=True)


def _read_webhook(connection: Connection, id: str) -> StoredWebhook | None:
    row = connection.execute(select(webhooks).where(webhooks.c.id == id)).mappings().first()
    return _to_webhook(row) if row else None


def _to_webhook(row: Mapping[Any, Any]) -> StoredWebhook:
    names = ("id", "url", "user", "created_at", "delivered_at", "failing_since", "error")
    shown = Webhook(
        **{name: row[name] for name in names},
        events=tuple(row["events"]),
        disabled_at=row["disabled_at"],
    )
    return StoredWebhook(
        shown,
        Principal(row["tenant"], row["user"], tuple(row["groups"])),
        row["key"],
        row["secret"],
        row["inside"],
        row["seen_until"],
        row["editions"],
    )
