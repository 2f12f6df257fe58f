"""Where the files of documents are, and how they looked when they were last hashed."""

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, String, cast, or_, select

from ragstone.ports import Look
from ragstone.store.sql.rows import batches, put_now
from ragstone.store.sql.tables import documents
from ragstone.store.sql.tables import looks as table

PLACES = 100
"""Conditions of one statement: SQLite nests them, and 1,000 deep at most."""

Place = tuple[str, str]
"""A collection's tenant and id."""


def sources(
    connection: Connection, *, place: Place, at: Sequence[str] | None
) -> dict[str, list[str]]:
    """The paths of documents by their sources, of those at or below these places."""
    wanted = select(documents.c.source, documents.c.path).where(_of(place))
    found: dict[str, list[str]] = {}
    if at is None:
        for source, path in connection.execute(wanted.order_by(documents.c.path)):
            found.setdefault(source, []).append(path)
        return found
    rows = set()
    for some in _several(at):
        # Below: in SQLite regardless of case, so what it finds is looked at again.
        here = documents.c.source.in_(some)
        below = [documents.c.source.startswith(f"{one}/", autoescape=True) for one in some]
        for source, path in connection.execute(wanted.where(or_(here, *below))):
            if any(source == one or source.startswith(f"{one}/") for one in some):
                rows.add((path, source))
    for path, source in sorted(rows):
        found.setdefault(source, []).append(path)
    return found


def including(connection: Connection, *, place: Place, files: Sequence[str]) -> list[str]:
    """The sources of documents that include any of these files."""
    included = cast(table.c.included, String)
    wanted = (
        select(documents.c.source, table.c.included)
        .join(table, table.c.document_id == documents.c.id)
        .where(_of(place), included != "[]")
    )
    names = set(files)
    return [
        source
        for source, some in connection.execute(wanted)
        if any(path in names for path, _, _ in some)
    ]


def _of(place: Place) -> ColumnElement[bool]:
    tenant, collection = place
    return (documents.c.tenant == tenant) & (documents.c.collection == collection)


def _several(some: Sequence[str]) -> list[Sequence[str]]:
    return [some[start : start + PLACES] for start in range(0, len(some), PLACES)]


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
