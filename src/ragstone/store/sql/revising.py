"""The life of a revision, each step as the work of one transaction.

    begin -> writing -> publish -> live -> retire, or the next publish -> retired -> purged
                     -> fail -> retired
                     -> retire -> abandoned -> retired once its writer has stopped

Every state but live is hidden.
"""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.chunk import revision
from ragstone.core.errors import UnknownCollection
from ragstone.core.records import Collection, Document
from ragstone.store.sql.rows import batches, document_row, insert, put, to_collection
from ragstone.store.sql.tables import collections, documents, revisions, versions
from ragstone.store.sql.visibility import Change

State = Literal["writing", "live", "retired", "abandoned"]


async def recover(connection: AsyncConnection) -> frozenset[str]:
    """The hidden revisions. Writers of an earlier process have stopped: theirs may be purged."""
    await _move(connection, revisions.c.state == "abandoned", "retired")
    hidden = select(revisions.c.name).where(revisions.c.state != "live")
    return frozenset((await connection.execute(hidden)).scalars())


Read = tuple[frozenset[str], list[Collection]]
"""The hidden revisions, and the collections."""


async def read(connection: AsyncConnection) -> Read:
    """What there is; whoever was writing has stopped."""
    hidden = await recover(connection)
    rows = (await connection.execute(select(collections))).mappings()
    return hidden, [to_collection(dict(row)) for row in rows]


async def begin(connection: AsyncConnection, *, document: Document) -> int:
    """The version that is being written, else a new one; the document's row says so."""
    mine = revisions.c.document_id == document.id
    await _move(connection, mine & (revisions.c.state == "abandoned"), "retired")
    open_ = select(revisions.c.version).where(mine, revisions.c.state == "writing")
    version = (await connection.execute(open_)).scalar()
    try:
        if version is None:
            version = await _next_version(connection, document)
        await _describe(connection, document, "writing", "")
    except IntegrityError as error:
        raise UnknownCollection(document.collection) from error
    return int(version)


async def _next_version(connection: AsyncConnection, document: Document) -> int:
    """Give the document a number that it never had, and a revision of that name."""
    number = insert(connection, versions).values(document_id=document.id, last=1)
    number = number.on_conflict_do_update(
        index_elements=["document_id"], set_={"last": versions.c.last + 1}
    )
    last = await connection.execute(number.returning(versions.c.last))
    version = int(last.scalar_one())
    await connection.execute(
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


async def _describe(
    connection: AsyncConnection, document: Document, status: str, error: str
) -> None:
    """Store the document, or only how it is doing if a version answers: that one is described."""
    changed = await connection.execute(
        update(documents)
        .where(documents.c.id == document.id, documents.c.version > 0)
        .values(status=status, error=error, source=document.source)
    )
    if not changed.rowcount:
        row = {**document_row(document), "version": 0, "status": status, "error": error}
        await put(connection, documents, row)


async def publish(connection: AsyncConnection, *, document: Document) -> Change:
    """Make `document.version` live, retire the one before, and store the document."""
    name = revision(document.id, document.version)
    found = select(revisions.c.state).where(revisions.c.name == name)
    state = (await connection.execute(found)).scalar()
    if state is None:
        raise UnknownCollection(document.collection)
    if state in ("abandoned", "retired"):
        await _move(connection, revisions.c.name == name, "retired")
        return Change()
    mine = revisions.c.document_id == document.id
    before = mine & (revisions.c.state == "live") & (revisions.c.name != name)
    hide = await _move(connection, before, "retired")
    await _move(connection, revisions.c.name == name, "live")
    await put(connection, documents, document_row(document))
    return Change(hide=hide, show=(name,))


async def fail(connection: AsyncConnection, *, document: Document) -> None:
    """Retire the unfinished revision and store the reason; the live one stays live."""
    being_written = revisions.c.state.in_(["writing", "abandoned"])
    await _move(connection, (revisions.c.document_id == document.id) & being_written, "retired")
    try:
        await _describe(connection, document, document.status, document.error)
    except IntegrityError as error:
        raise UnknownCollection(document.collection) from error


async def retire(connection: AsyncConnection, *, document_ids: Sequence[str]) -> Change:
    """Forget documents and hide what answered."""
    hide: list[str] = []
    for ids in batches(document_ids):
        mine = revisions.c.document_id.in_(ids)
        hide += await _move(connection, mine & (revisions.c.state == "live"), "retired")
        await _move(connection, mine & (revisions.c.state == "writing"), "abandoned")
        await connection.execute(delete(documents).where(documents.c.id.in_(ids)))
    return Change(hide=tuple(hide))


async def retired(connection: AsyncConnection) -> list[tuple[Collection, str]]:
    """What is to be purged, with its collection.

    Abandoned revisions too: what their writer has written so far goes at once, the rest when it
    has stopped.
    """
    same = (revisions.c.tenant == collections.c.tenant) & (
        revisions.c.collection == collections.c.id
    )
    rows = await connection.execute(
        select(revisions.c.name.label("revision"), collections)
        .join(collections, same)
        .where(revisions.c.state.in_(["retired", "abandoned"]))
        .order_by(revisions.c.document_id, revisions.c.version)
    )
    return [(to_collection(dict(row)), row["revision"]) for row in rows.mappings()]


async def purged(connection: AsyncConnection, *, names: Sequence[str]) -> Change:
    """Forget retired revisions; one that is being written or answers again stays."""
    gone: list[str] = []
    for some in batches(names):
        rows = await connection.execute(
            delete(revisions)
            .where(revisions.c.name.in_(some), revisions.c.state == "retired")
            .returning(revisions.c.name)
        )
        gone += rows.scalars()
    return Change(show=tuple(gone))


async def _move(
    connection: AsyncConnection, which: ColumnElement[bool], state: State
) -> tuple[str, ...]:
    """Put revisions into a state; their names."""
    rows = await connection.execute(
        update(revisions).where(which).values(state=state).returning(revisions.c.name)
    )
    return tuple(rows.scalars())
