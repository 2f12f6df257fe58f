"""How the files of documents looked when they were last hashed."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from ragstone.ports import Look
from ragstone.store.sql.rows import batches, put_now
from ragstone.store.sql.tables import documents
from ragstone.store.sql.tables import looks as table


def read(connection: Connection, *, document_ids: Sequence[str]) -> dict[str, Look]:
    """The looks of those documents that have one."""
    found = {}
    for ids in batches(document_ids):
        rows = connection.execute(select(table).where(table.c.document_id.in_(ids)))
        for id, size, modified, said, included in rows:
            files = tuple((str(path), int(length), float(at)) for path, length, at in included)
            found[id] = Look(size, modified, said, files)
    return found


def put(connection: Connection, *, looks: Mapping[str, Look]) -> None:
    """Keep looks, of documents that exist."""
    for ids in batches(list(looks)):
        there = select(documents.c.id).where(documents.c.id.in_(ids))
        for id in connection.execute(there).scalars().all():
            look = looks[id]
            row = {
                "document_id": id,
                "size": look.size,
                "modified": look.modified,
                "said": look.said,
                "included": [list(one) for one in look.included],
            }
            put_now(connection, table, row)
