"""Who may read documents: rules of folders, readers of single documents, and revisions that are
withheld until their chunks have the readers of their document.

A revision that answers always carries its document's readers. So what changes them withholds it in
the same transaction, and so does what publishes a version that was written under other ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from sqlalchemy import ColumnElement, Connection, delete, select, update

from ragstone.core.chunk import revision
from ragstone.core.readers import FolderReaders, resolve_readers
from ragstone.core.records import Document
from ragstone.store.sql.rows import batches, put_now, to_document
from ragstone.store.sql.tables import collections, documents, folder_readers, revisions
from ragstone.store.sql.visibility import Change, Key, Revision


def read_rules(connection: Connection, key: Key) -> list[FolderReaders]:
    """Return the rules of a collection by folder, without those that are on their way out."""
    rows = connection.execute(
        select(folder_readers.c.folder, folder_readers.c.readers, folder_readers.c.file)
        .where(*_collection_conditions(key))
        .order_by(folder_readers.c.folder, folder_readers.c.by_file)
    )
    return [FolderReaders(folder, tuple(names), file) for folder, names, file in rows if names]


def put_rules(connection: Connection, key: Key, rules: Iterable[FolderReaders]) -> None:
    """Put rules in the place of those of the same folder and kind: they hold from now on for what
    is published, and wait to be applied to the documents that are there."""
    # Publishing reads the rules under a shared lock: it comes before or after, not between.
    _lock(connection, key, shared=False)
    known = {
        (folder, by_file): (readers, file)
        for folder, by_file, readers, file in connection.execute(
            select(
                folder_readers.c.folder,
                folder_readers.c.by_file,
                folder_readers.c.readers,
                folder_readers.c.file,
            ).where(*_collection_conditions(key))
        )
    }
    for rule in rules:
        place = (rule.folder, bool(rule.file))
        if known.get(place) == (list(rule.readers), rule.file):
            continue
        row = {**asdict(rule), "readers": list(rule.readers), "by_file": bool(rule.file)}
        tenant, collection = key
        put_now(
            connection,
            folder_readers,
            {"tenant": tenant, "collection": collection, **row, "applied": False},
        )


def list_unapplied(connection: Connection) -> list[tuple[Key, FolderReaders]]:
    """Return the rules that are not applied to all documents yet, with the collections."""
    rows = connection.execute(
        select(folder_readers).where(folder_readers.c.applied.is_(False))
    ).mappings()
    return [
        (
            (row["tenant"], row["collection"]),
            FolderReaders(row["folder"], tuple(row["readers"]), row["file"]),
        )
        for row in rows
    ]


def mark_applied(connection: Connection, key: Key, rules: Sequence[FolderReaders]) -> None:
    """Note that these have been applied, unless they are others by now; those without readers
    go."""
    for rule in rules:
        table = folder_readers.c
        mine = (
            *_collection_conditions(key),
            table.folder == rule.folder,
            table.by_file.is_(bool(rule.file)),
        )
        now = connection.execute(select(table.readers).where(*mine)).scalar()
        if now != list(rule.readers):
            continue
        if rule.readers:
            connection.execute(update(folder_readers).where(*mine).values(applied=True))
        else:
            connection.execute(delete(folder_readers).where(*mine))


def forget_rules(connection: Connection, key: Key) -> None:
    """Forget the rules of a collection that is dropped."""
    connection.execute(delete(folder_readers).where(*_collection_conditions(key)))


def set_readers(
    connection: Connection,
    *,
    document_ids: Sequence[str],
    own: tuple[str, ...] | None = None,
    fixed: bool = False,
) -> Change:
    """Give documents readers of their own, none for those of folder and collection; without `own`
    resolve anew what they have. Those of which something changes are withheld."""
    hide: list[Revision] = []
    for ids in batches(document_ids):
        known = _lock_documents(connection, ids)
        rules = _rules_of_all(connection, known.values())
        for document in known.values():
            place = (document.tenant, document.collection)
            new = document
            if own is not None:
                new = replace(document, own_readers=own, readers_fixed=fixed)
            new = _resolve(new, rules[place])
            if new == document:
                continue
            connection.execute(
                update(documents)
                .where(documents.c.id == document.id)
                .values(
                    allowed=list(new.allowed),
                    own_readers=list(new.own_readers or ()),
                    readers_fixed=new.readers_fixed,
                )
            )
            if document.version and new.allowed != document.allowed:
                hide.append(Revision(*place, revision(document.id, document.version)))
    withhold(connection, [item.name for item in hide])
    return Change(hide=tuple(hide))


def resolve_all(connection: Connection, several: Sequence[Document]) -> list[Document]:
    """Return the documents with the readers that they have as of this transaction, whatever was
    known when their ingest began."""
    known: dict[str, Document] = {}
    for ids in batches(sorted(item.id for item in several)):
        known |= _lock_documents(connection, ids)
    rules = _rules_of_all(connection, several)
    settled = []
    for document in several:
        now = known.get(document.id)
        if now is not None and (document.own_readers is None or now.readers_fixed):
            own, fixed = now.own_readers, now.readers_fixed
        else:
            own, fixed = document.own_readers or (), False
        new = replace(document, own_readers=own, readers_fixed=fixed)
        settled.append(_resolve(new, rules[document.tenant, document.collection]))
    return settled


def withhold(connection: Connection, names: Sequence[str]) -> None:
    """Hide revisions that answer until `grant`."""
    for some in batches(names):
        mine = revisions.c.name.in_(some) & (revisions.c.state == "live")
        connection.execute(update(revisions).where(mine).values(state="withheld"))


def list_withheld(
    connection: Connection, key: Key | None, limit: int
) -> list[tuple[Key, str, tuple[str, ...]]]:
    """Return revisions that are withheld, of a collection or of all, each with its collection and
    the readers that its chunks are to have."""
    wanted = (
        select(revisions.c.tenant, revisions.c.collection, revisions.c.name, documents.c.allowed)
        .join(documents, revisions.c.document_id == documents.c.id)
        .where(revisions.c.state == "withheld")
        .order_by(revisions.c.name)
        .limit(limit)
    )
    if key is not None:
        wanted = wanted.where(revisions.c.tenant == key[0], revisions.c.collection == key[1])
    return [
        ((tenant, collection), name, tuple(allowed))
        for tenant, collection, name, allowed in connection.execute(wanted)
    ]


def grant(connection: Connection, *, given: Mapping[str, tuple[str, ...]]) -> Change:
    """Show revisions whose chunks have these readers now, unless their documents have others."""
    shown: list[Revision] = []
    for names in batches(sorted(given)):
        found = connection.execute(
            select(
                revisions.c.tenant, revisions.c.collection, revisions.c.name, documents.c.allowed
            )
            .join(documents, revisions.c.document_id == documents.c.id)
            .where(revisions.c.name.in_(names), revisions.c.state == "withheld")
            .with_for_update()
        ).all()
        right = [Revision(*row[:3]) for row in found if tuple(row[3]) == given[row[2]]]
        some = [item.name for item in right]
        connection.execute(update(revisions).where(revisions.c.name.in_(some)).values(state="live"))
        shown += right
    return Change(show=tuple(shown))


def _resolve(document: Document, rules: Sequence[FolderReaders]) -> Document:
    own = document.own_readers or ()
    found = resolve_readers(document.path, own, document.readers_fixed, rules)
    return replace(document, allowed=found.allowed)


def _lock_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    """Return documents that nobody else changes before this transaction ends."""
    wanted = select(documents).where(documents.c.id.in_(ids)).order_by(documents.c.id)
    rows = connection.execute(wanted.with_for_update()).mappings()
    return {row["id"]: to_document(dict(row)) for row in rows}


def _rules_of_all(
    connection: Connection, several: Iterable[Document]
) -> Mapping[Key, Sequence[FolderReaders]]:
    keys = sorted({(document.tenant, document.collection) for document in several})
    found: dict[Key, Sequence[FolderReaders]] = defaultdict(list)
    for key in keys:
        _lock(connection, key, shared=True)
        found[key] = read_rules(connection, key)
    return found


def _lock(connection: Connection, key: Key, shared: bool) -> None:
    """Have rules change before or after a transaction that reads them, not meanwhile: a document
    that is published under former ones is there when the new ones are applied."""
    mine = (collections.c.tenant == key[0]) & (collections.c.id == key[1])
    wanted = select(collections.c.id).where(mine)
    connection.execute(wanted.with_for_update(read=shared, key_share=shared))


def _collection_conditions(key: Key) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return folder_readers.c.tenant == key[0], folder_readers.c.collection == key[1]
