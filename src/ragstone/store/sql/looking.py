"""Where the files of documents are, and how they looked when they were last hashed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, String, cast, or_, select

from ragstone.ports import Look
from ragstone.store.sql.listing import AFTER_SLASH
from ragstone.store.sql.rows import batches, put_now
from ragstone.store.sql.tables import documents
from ragstone.store.sql.tables import looks as table

PLACES = 100
"""Conditions of one statement: SQLite nests them, and 1,000 deep at most."""

ROWS = 1_000
"""Rows that are read at a time."""

Place = tuple[str, str]
"""A collection's tenant and id."""


def sources(
    connection: Connection, *, place: Place, at: Sequence[str] | None, below: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The paths of documents by their sources, of those at these places or below those."""
    wanted = select(documents.c.source, documents.c.path).where(_place_condition(place))
    by_source: dict[str, tuple[str, ...]] = {}

    def take(rows: Iterable[Row[Any]]) -> None:
        for row in rows:
            source, path = row.source, row.path
            before = by_source.get(source, ())
            if path not in before:
                by_source[source] = tuple(sorted((*before, path))) if before else (path,)

    if at is None:
        # A million of them are not held twice.
        take(connection.execute(wanted.execution_options(yield_per=ROWS)))
        return by_source
    for some in batches([*at, *below]):
        take(connection.execute(wanted.where(documents.c.source.in_(some))))
    for start in range(0, len(below), PLACES):
        inside = [_below(connection, text) for text in below[start : start + PLACES]]
        take(connection.execute(wanted.where(or_(*inside))))
    return by_source


def _below(connection: Connection, folder: str) -> ColumnElement[bool]:
    """The condition that a source lies in a folder or deeper."""
    source = documents.c.source
    if connection.dialect.name == "sqlite":  # Which compares bytes, and matches regardless of case.
        return (source > f"{folder}/") & (source < f"{folder}{AFTER_SLASH}")
    return source.startswith(f"{folder}/", autoescape=True)


def find_including(connection: Connection, *, place: Place, files: Sequence[str]) -> list[str]:
    """The sources of documents that include any of these files."""
    included = cast(table.c.included, String)
    wanted = (
        select(documents.c.source, table.c.included)
        .join(table, table.c.document_id == documents.c.id)
        .where(_place_condition(place), included != "[]")
    )
    names = set(files)
    return [
        source
        for source, some in connection.execute(wanted)
        if any(path in names for path, _, _ in some)
    ]


def _place_condition(place: Place) -> ColumnElement[bool]:
    tenant, collection = place
    return (documents.c.tenant == tenant) & (documents.c.collection == collection)


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
                "included": [list(item) for item in look.included],
            }
            put_now(connection, table, row)
