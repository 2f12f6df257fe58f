"""Which documents a listing means, as conditions that the database evaluates."""

import json
from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    String,
    Text,
    and_,
    cast,
    exists,
    func,
    or_,
    select,
)

from ragstone.core.filters import Scalar
from ragstone.core.records import DocumentStatus
from ragstone.ports import Look
from ragstone.ports.catalog import MAX_COPIES
from ragstone.store.sql.rows import batches, put_now
from ragstone.store.sql.tables import documents
from ragstone.store.sql.tables import looks as table

EXPONENT = 10**15
"""JSON may spell larger floats as 1e+16, and the same integers with all digits."""

AFTER_SLASH = chr(ord("/") + 1)
"""What follows a slash by code points: a folder's documents are those from `folder/` to before
this, which an index of paths finds without reading others."""


def select_documents(
    tenant: str, collection: str | None, status: DocumentStatus | None, after: str, skipped: bool
) -> Select[Any]:
    """Return documents by path, those after the path `after`, with or without `skipped` ones."""
    some = select(documents).where(documents.c.tenant == tenant)
    if collection is not None:
        some = some.where(documents.c.collection == collection)
    if status is not None:
        some = some.where(documents.c.status == status)
    if not skipped:
        some = some.where(documents.c.status != "skipped")
    if after:
        some = some.where(documents.c.path > after)
    return some.order_by(documents.c.path, documents.c.collection, documents.c.id)


def select_unread(tenant: str, collection: str, endings: Several[str]) -> Select[Any]:
    """Return the files that could not be read, by path, whose names end so."""
    ends = [documents.c.path.iendswith(ending, autoescape=True) for ending in endings]
    return (
        select(documents)
        .where(_place_condition((tenant, collection)), documents.c.version == 0)
        .where(documents.c.status.in_(("failed", "skipped")), or_(*ends))
        .order_by(documents.c.path)
        .limit(ROWS)
    )


def select_ids(tenant: str, collection: str) -> Select[Any]:
    """Return the ids of documents by path."""
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    return select(documents.c.id).where(mine).order_by(documents.c.path)


def readable_condition(connection: Connection, names: Several[str]) -> ColumnElement[bool]:
    """Return the condition that a document is allowed to one of these."""
    if connection.dialect.name == "postgresql":
        # As JSON, which also spells what PostgreSQL's text cannot hold.
        listed = func.json_array_elements(documents.c.allowed).table_valued("value")
        values = [json.dumps(name) for name in sorted(names)]
        return exists(select(1).select_from(listed).where(cast(listed.c.value, Text).in_(values)))
    entries = func.json_each(documents.c.allowed).table_valued("value")
    return exists(select(1).select_from(entries).where(entries.c.value.in_(sorted(names))))


def select_copies(
    connection: Connection,
    tenant: str,
    collection: str,
    hashes: Sequence[str],
    readers: Several[str] | None,
) -> Select[Any]:
    """Return the documents that answer with one of these contents and that these may read, the
    first by path of each content."""
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    wanted = select(
        documents.c.id,
        func.row_number()
        .over(partition_by=documents.c.content_hash, order_by=documents.c.path)
        .label("place"),
    ).where(mine, documents.c.content_hash.in_(hashes), documents.c.version > 0)
    if readers is not None:
        wanted = wanted.where(readable_condition(connection, readers))
    first = wanted.subquery()
    return (
        select(documents)
        .join(first, documents.c.id == first.c.id)
        .where(first.c.place <= MAX_COPIES)
        .order_by(documents.c.path)
    )


def folder_condition(folder: str) -> ColumnElement[bool]:
    """Return the condition that a document lies in a folder or deeper."""
    path = "/" + folder.strip("/")
    return (documents.c.path > f"{path}/") & (documents.c.path < f"{path}{AFTER_SLASH}")


def select_folders(
    connection: Connection, tenant: str, collection: str, folder: str
) -> Select[tuple[str, int]]:
    """Return the names of the folders directly in a folder, empty for the collection itself, each
    with how many documents it or a deeper one holds."""
    # An empty folder is the collection itself: its names follow the first slash.
    inside = "/".join(("", *filter(None, [folder.strip("/")]), ""))
    place = func.strpos if connection.dialect.name == "postgresql" else func.instr
    rest = func.substr(documents.c.path, len(inside) + 1, type_=documents.c.path.type)
    slash = place(rest, "/")
    name = func.substr(rest, 1, slash - 1, type_=documents.c.path.type).label("name")
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection) & (slash > 1)
    mine &= documents.c.status != "skipped"
    some = select(name, func.count().label("documents")).where(mine).group_by(name).order_by(name)
    return some.where(folder_condition(folder)) if folder.strip("/") else some


def metadata_condition(metadata: Mapping[str, Scalar]) -> ColumnElement[bool]:
    """Return the condition that the keys and values of this metadata stand somewhere in a
    document's. Which values are equal no database's JSON says as `filters.token` does: that is for
    the caller."""
    said = cast(documents.c.metadata, String)
    texts = [*map(json.dumps, metadata), *map(_json_text, metadata.values())]
    return and_(*(said.contains(text, autoescape=True) for text in texts))


def _json_text(value: Scalar) -> str:
    """Return what stands in the JSON of every number that equals this one, or of this text."""
    if isinstance(value, bool | str) or not float(value).is_integer():
        return json.dumps(value)
    return "" if abs(value) >= EXPONENT else str(int(value))


def place_condition(places: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a document has one of these ids or paths."""
    paths = ["/" + place.strip("/") for place in places]
    return documents.c.id.in_(places) | documents.c.path.in_(paths)


def below_condition(place: str) -> ColumnElement[bool]:
    """Return the condition that this is a document's id, its path, or a folder above it. No folder
    is above all: nothing names everything by leaving something out."""
    path = "/" + place.strip("/")
    return (documents.c.id == place) | (documents.c.path == path) | folder_condition(place)


PLACES = 100
"""Conditions of one statement: SQLite nests them, and 1,000 deep at most."""

ROWS = 1_000
"""Rows that are read at a time."""

Place = tuple[str, str]
"""A collection's tenant and id."""


def read_sources(
    connection: Connection, *, place: Place, at: Sequence[str] | None, below: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the paths of documents by their sources, of those at these places or below those."""
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
    """Return the condition that a source lies in a folder or deeper."""
    source = documents.c.source
    if connection.dialect.name == "sqlite":  # Which compares bytes, and matches regardless of case.
        return (source > f"{folder}/") & (source < f"{folder}{AFTER_SLASH}")
    return source.startswith(f"{folder}/", autoescape=True)


def find_including(connection: Connection, *, place: Place, files: Sequence[str]) -> list[str]:
    """Return the sources of documents that include any of these files."""
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


def read_looks(connection: Connection, *, document_ids: Sequence[str]) -> dict[str, Look]:
    """Return the looks of those documents that have one."""
    found = {}
    for ids in batches(document_ids):
        rows = connection.execute(select(table).where(table.c.document_id.in_(ids)))
        for id, size, modified, said, included in rows:
            files = tuple((str(path), int(length), float(at)) for path, length, at in included)
            found[id] = Look(size, modified, said, files)
    return found


def put_looks(connection: Connection, *, looks: Mapping[str, Look]) -> None:
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
