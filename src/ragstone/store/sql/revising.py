"""The life of a revision, each step as the work of one transaction.

    begin -> writing -> publish -> live -> retire, or the next publish -> retired -> purged
                     -> fail -> retired
                     -> retire -> abandoned -> retired once its writer has stopped
                     -> lose -> lost -> retired once its writer has stopped
                                      live -> withheld while its chunks are given other readers

Every state but live is hidden.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from ragstone.core.chunk import revision
from ragstone.core.errors import UnknownCollection
from ragstone.core.records import Collection, Document
from ragstone.ports import Begun
from ragstone.store.sql.rights import resolve_all, withhold
from ragstone.store.sql.rows import (
    add_statement,
    batches,
    document_row,
    insert,
    put_now,
    put_statement,
    to_collection,
)
from ragstone.store.sql.tables import collections, documents, revisions, unused_indexes, versions
from ragstone.store.sql.visibility import Change, Revision

State = Literal["writing", "live", "retired", "abandoned", "lost", "withheld"]

ANSWERING: tuple[State, ...] = ("live", "withheld")
"""The states of the version that answers."""


_REVISION = (revisions.c.tenant, revisions.c.collection, revisions.c.name)


def recover(connection: Connection) -> list[Revision]:
    """The hidden revisions. Writers of an earlier process have stopped: theirs may be purged."""
    _move(connection, revisions.c.state.in_(["abandoned", "lost"]), "retired")
    hidden = select(*_REVISION).where(revisions.c.state != "live")
    return [Revision(*row) for row in connection.execute(hidden)]


Read = tuple[list[Revision], list[Collection]]
"""The hidden revisions, and the collections."""


def read(connection: Connection) -> Read:
    """Return what there is; whoever was writing has stopped."""
    hidden = recover(connection)
    rows = connection.execute(select(collections)).mappings()
    return hidden, [to_collection(dict(row)) for row in rows]


def begin_all(connection: Connection, *, several: Sequence[Document]) -> list[Begun]:
    """`begin` for each; those that were never there take a few statements in all."""
    several = resolve_all(connection, several)
    ids = [document.id for document in several]
    known = _ids_among(connection, documents.c.id, ids)
    known |= _ids_among(connection, revisions.c.document_id, ids)
    fresh = {document.id: document for document in several if document.id not in known}
    begun = _begin_fresh(connection, list(fresh.values()))
    return [begun.get(document.id) or begin(connection, document=document) for document in several]


def _begin_fresh(connection: Connection, fresh: Sequence[Document]) -> dict[str, Begun]:
    """Open the first versions of documents, or those after the last number of deleted ones."""
    if not fresh:
        return {}
    last: dict[str, int] = {}
    for ids in batches([document.id for document in fresh]):
        some = select(versions.c.document_id, versions.c.last)
        rows = connection.execute(some.where(versions.c.document_id.in_(ids)))
        last.update((id, number) for id, number in rows)
    numbers = {document.id: last.get(document.id, 0) + 1 for document in fresh}
    counted = add_statement(connection.dialect.name, versions, (), ("last",))
    opened = [
        {
            "name": revision(document.id, numbers[document.id]),
            "document_id": document.id,
            "version": numbers[document.id],
            "tenant": document.tenant,
            "collection": document.collection,
            "state": "writing",
        }
        for document in fresh
    ]
    new = [
        {**document_row(document), "version": 0, "status": "writing", "error": ""}
        for document in fresh
    ]
    try:
        connection.execute(counted, [{"document_id": id, "last": n} for id, n in numbers.items()])
        connection.execute(insert(connection, revisions), opened)
        connection.execute(put_statement(connection.dialect.name, documents, tuple(new[0])), new)
    except IntegrityError as error:
        # The foreign key fails where the collection was dropped meanwhile.
        raise UnknownCollection(fresh[0].collection) from error
    return {id: Begun(number, False) for id, number in numbers.items()}


def _ids_among(connection: Connection, column: ColumnElement[str], ids: Sequence[str]) -> set[str]:
    """Return those of these ids that the column holds."""
    found: set[str] = set()
    for some in batches(ids):
        found |= set(connection.execute(select(column).where(column.in_(some))).scalars())
    return found


def begin(connection: Connection, *, document: Document) -> Begun:
    """Return the version that is being written, else a new one; the document's row says so."""
    mine = revisions.c.document_id == document.id
    _move(connection, mine & (revisions.c.state == "abandoned"), "retired")
    open_ = select(revisions.c.version).where(mine, revisions.c.state == "writing")
    resumed = connection.execute(open_).scalar()
    try:
        version = _next_version(connection, document) if resumed is None else resumed
        _describe(connection, document, "writing", "")
    except IntegrityError as error:
        raise UnknownCollection(document.collection) from error
    return Begun(int(version), resumed is not None)


def _next_version(connection: Connection, document: Document) -> int:
    """Give the document a number that it never had, and a revision of that name."""
    number = insert(connection, versions).values(document_id=document.id, last=1)
    number = number.on_conflict_do_update(
        index_elements=["document_id"], set_={"last": versions.c.last + 1}
    )
    last = connection.execute(number.returning(versions.c.last))
    version = int(last.scalar_one())
    connection.execute(
        insert(connection, revisions).values(
            name=revision(document.id, version),
            document_id=document.id,
            version=version,
            tenant=document.tenant,
            collection=document.collection,
            state="writing",
        )
    )
    return version


def _describe(connection: Connection, document: Document, status: str, error: str) -> None:
    """Store the document, or only how it is doing if a version answers: that one is described."""
    changed = connection.execute(
        update(documents)
        .where(documents.c.id == document.id, documents.c.version > 0)
        .values(status=status, error=error, source=document.source)
    )
    if not changed.rowcount:
        row = {**document_row(document), "version": 0, "status": status, "error": error}
        put_now(connection, documents, row)


def publish_all(connection: Connection, *, several: Sequence[Document]) -> Change:
    """`publish` for each; the first versions take a few statements in all. What was written under
    other readers than the document has by now stays hidden until its chunks have these."""
    written = {revision(document.id, document.version): document.allowed for document in several}
    several = resolve_all(connection, several)
    outdated = {
        name
        for document in several
        if written[name := revision(document.id, document.version)] != document.allowed
    }
    by_id = {document.id: document for document in several}
    states: dict[tuple[str, str], str] = {}
    for ids in batches(list(by_id)):
        there = select(revisions.c.document_id, revisions.c.name, revisions.c.state)
        for id, name, state in connection.execute(there.where(revisions.c.document_id.in_(ids))):
            states[id, name] = state
    live = {id for (id, _), state in states.items() if state in ANSWERING}
    first = [
        item
        for item in by_id.values()
        if item.id not in live
        and states.get((item.id, revision(item.id, item.version))) == "writing"
    ]
    shown: list[Revision] = []
    for some in batches([revision(item.id, item.version) for item in first]):
        shown += _move(connection, revisions.c.name.in_(some), "live")
    if first:
        rows = [document_row(item) for item in first]
        connection.execute(put_statement(connection.dialect.name, documents, tuple(rows[0])), rows)
    done = {item.id for item in first}
    changes = [
        publish(connection, document=document) for document in several if document.id not in done
    ]
    hide = {hidden for change in changes for hidden in change.hide}
    show = {*shown, *(visible for change in changes for visible in change.show)}
    withhold(connection, sorted(outdated))
    return Change(tuple(hide), tuple(item for item in show if item.name not in outdated))


def publish(connection: Connection, *, document: Document) -> Change:
    """Make `document.version` live, retire the one before, and store the document."""
    name = revision(document.id, document.version)
    found = select(revisions.c.state).where(revisions.c.name == name)
    state = connection.execute(found).scalar()
    if state is None:
        raise UnknownCollection(document.collection)
    if state in ("abandoned", "retired", "lost"):
        _move(connection, revisions.c.name == name, "retired")
        return Change()
    mine = revisions.c.document_id == document.id
    before = mine & revisions.c.state.in_(ANSWERING) & (revisions.c.name != name)
    hide = _move(connection, before, "retired")
    show = _move(connection, revisions.c.name == name, "live")
    put_now(connection, documents, document_row(document))
    return Change(hide=hide, show=show)


def fail_all(connection: Connection, *, several: Sequence[Document]) -> None:
    """Retire the unfinished revisions and store the reasons; the live ones stay live."""
    several = resolve_all(connection, several)
    by_id = {document.id: document for document in several}
    being_written = revisions.c.state.in_(["writing", "abandoned"])
    answering: set[str] = set()
    for ids in batches(list(by_id)):
        _move(connection, revisions.c.document_id.in_(ids) & being_written, "retired")
        live = select(documents.c.id).where(documents.c.id.in_(ids), documents.c.version > 0)
        answering.update(connection.execute(live).scalars())
    rows = [document_row(item) for id, item in by_id.items() if id not in answering]
    try:
        if rows:
            put = put_statement(connection.dialect.name, documents, tuple(rows[0]))
            connection.execute(put, rows)
        for id in answering:
            _describe(connection, by_id[id], by_id[id].status, by_id[id].error)
    except IntegrityError as error:
        raise UnknownCollection(several[0].collection) from error


def retire(connection: Connection, *, document_ids: Sequence[str]) -> Change:
    """Forget documents and hide what answered."""
    hide: list[Revision] = []
    for ids in batches(document_ids):
        mine = revisions.c.document_id.in_(ids)
        hide += _move(connection, mine & revisions.c.state.in_(ANSWERING), "retired")
        _move(connection, mine & (revisions.c.state == "writing"), "abandoned")
        keep_last_readers(connection, documents.c.id.in_(ids))
        connection.execute(delete(documents).where(documents.c.id.in_(ids)))
    return Change(hide=tuple(hide))


def keep_last_readers(connection: Connection, which: ColumnElement[bool]) -> None:
    """Remember who may read the documents that are about to be deleted."""
    mine = documents.c.id == versions.c.document_id
    connection.execute(
        update(versions)
        .where(versions.c.document_id.in_(select(documents.c.id).where(which)))
        .values(
            tenant=select(documents.c.tenant).where(mine).scalar_subquery(),
            last_readers=select(documents.c.allowed).where(mine).scalar_subquery(),
        )
    )


def lose(connection: Connection, *, document_ids: Sequence[str]) -> None:
    """Take what is being written of documents from its writer, which may not know that yet: it
    stays hidden, and the next version is another one."""
    for ids in batches(document_ids):
        being_written = revisions.c.state == "writing"
        _move(connection, revisions.c.document_id.in_(ids) & being_written, "lost")


def mark_stopped(connection: Connection, *, names: Sequence[str]) -> None:
    """Who wrote these revisions has stopped: of them, those that were lost may be purged."""
    for some in batches(names):
        _move(connection, revisions.c.name.in_(some) & (revisions.c.state == "lost"), "retired")


def list_retired(
    connection: Connection, *, document_ids: Sequence[str] | None = None
) -> list[tuple[Collection, str]]:
    """Return what is to be purged, of these documents or of all, with its collection.

    Abandoned and lost revisions too: what their writer has written so far goes at once, the rest
    when it has stopped.
    """
    same = (revisions.c.tenant == collections.c.tenant) & (
        revisions.c.collection == collections.c.id
    )
    wanted = (
        select(revisions.c.name.label("revision"), collections)
        .join(collections, same)
        .where(revisions.c.state.in_(["retired", "abandoned", "lost"]))
        .order_by(revisions.c.document_id, revisions.c.version)
    )
    if document_ids is None:
        several = [wanted]
    else:
        several = [wanted.where(revisions.c.document_id.in_(ids)) for ids in batches(document_ids)]
    return [
        (to_collection(dict(row)), row["revision"])
        for some in several
        for row in connection.execute(some).mappings()
    ]


def keep_known(connection: Connection, *, names: Sequence[str]) -> set[str]:
    """Return those of these revisions that there are, in whatever state."""
    return _ids_among(connection, revisions.c.name, names)


def forget_purged(connection: Connection, *, names: Sequence[str]) -> Change:
    """Forget retired revisions; one that is being written or answers again stays."""
    gone: list[Revision] = []
    for some in batches(names):
        rows = connection.execute(
            delete(revisions)
            .where(revisions.c.name.in_(some), revisions.c.state == "retired")
            .returning(*_REVISION)
        )
        gone += (Revision(*row) for row in rows)
    return Change(show=tuple(gone))


def list_unused(connection: Connection) -> list[Collection]:
    """Return the collections that were, whose indexes are to be dropped."""
    rows = connection.execute(select(unused_indexes).order_by(*unused_indexes.primary_key))
    return [to_collection(dict(row)) for row in rows.mappings()]


def leave_index(connection: Connection, tenant: str, id: str, build: int | None = None) -> None:
    """Remember that the index of a collection is to be dropped, unless it has this `build`."""
    mine = (collections.c.tenant == tenant) & (collections.c.id == id)
    for row in connection.execute(select(collections).where(mine)).mappings():
        if row["build"] != build:
            put_unused(connection, [to_collection(dict(row))])


def put_unused(connection: Connection, several: Sequence[Collection]) -> None:
    """Remember that the indexes of these are to be dropped."""
    for collection in several:
        put_now(connection, unused_indexes, asdict(collection))


def forget_dropped(connection: Connection, *, unused: Sequence[Collection]) -> None:
    """Forget indexes that have been dropped."""
    for collection in unused:
        mine = (unused_indexes.c.tenant == collection.tenant) & (
            unused_indexes.c.id == collection.id
        )
        mine &= unused_indexes.c.build == collection.build
        connection.execute(delete(unused_indexes).where(mine))


def _move(connection: Connection, which: ColumnElement[bool], state: State) -> tuple[Revision, ...]:
    """Put revisions into a state."""
    rows = connection.execute(
        update(revisions).where(which).values(state=state).returning(*_REVISION)
    )
    return tuple(Revision(*row) for row in rows)
