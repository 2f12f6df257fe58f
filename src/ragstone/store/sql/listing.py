"""Which documents a listing means, as conditions that the database evaluates."""

import json
from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    Text,
    and_,
    cast,
    exists,
    func,
    select,
)

from ragstone.core.filters import Scalar
from ragstone.core.records import DocumentStatus
from ragstone.store.sql.tables import documents

EXPONENT = 10**15
"""JSON may spell larger floats as 1e+16, and the same integers with all digits."""

AFTER_SLASH = chr(ord("/") + 1)
"""What follows a slash by code points: a folder's documents are those from `folder/` to before
this, which an index of paths finds without reading others."""


def select_documents(
    tenant: str, collection: str | None, status: DocumentStatus | None, after: str
) -> Select[Any]:
    """Documents by path, those after the path `after`."""
    some = select(documents).where(documents.c.tenant == tenant)
    if collection is not None:
        some = some.where(documents.c.collection == collection)
    if status is not None:
        some = some.where(documents.c.status == status)
    if after:
        some = some.where(documents.c.path > after)
    return some.order_by(documents.c.path, documents.c.collection, documents.c.id)


def select_ids(tenant: str, collection: str) -> Select[Any]:
    """The ids of documents by path."""
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    return select(documents.c.id).where(mine).order_by(documents.c.path)


def readable_condition(connection: Connection, names: Several[str]) -> ColumnElement[bool]:
    """The condition that a document is allowed to one of these."""
    if connection.dialect.name == "postgresql":
        # As JSON, which also spells what PostgreSQL's text cannot hold.
        listed = func.json_array_elements(documents.c.allowed).table_valued("value")
        values = [json.dumps(name) for name in sorted(names)]
        return exists(select(1).select_from(listed).where(cast(listed.c.value, Text).in_(values)))
    entries = func.json_each(documents.c.allowed).table_valued("value")
    return exists(select(1).select_from(entries).where(entries.c.value.in_(sorted(names))))


def below(folder: str) -> ColumnElement[bool]:
    """The condition that a document lies in a folder or deeper."""
    path = "/" + folder.strip("/")
    return (documents.c.path > f"{path}/") & (documents.c.path < f"{path}{AFTER_SLASH}")


def select_folders(
    connection: Connection, tenant: str, collection: str, folder: str
) -> Select[tuple[str, int]]:
    """The names of the folders directly in a folder, empty for the collection itself, each with
    how many documents it or a deeper one holds."""
    inside = "/".join(("", *filter(None, [folder.strip("/")]), ""))
    place = func.strpos if connection.dialect.name == "postgresql" else func.instr
    rest = func.substr(documents.c.path, len(inside) + 1, type_=documents.c.path.type)
    slash = place(rest, "/")
    name = func.substr(rest, 1, slash - 1, type_=documents.c.path.type).label("name")
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection) & (slash > 1)
    some = select(name, func.count().label("documents")).where(mine).group_by(name).order_by(name)
    return some.where(below(folder)) if folder.strip("/") else some


def may_have(metadata: Mapping[str, Scalar]) -> ColumnElement[bool]:
    """The condition that the keys and values of this metadata stand somewhere in a document's.
    Which values are equal no database's JSON says as `filters.token` does: that is for the
    caller."""
    said = cast(documents.c.metadata, String)
    texts = [*map(json.dumps, metadata), *map(_json_text, metadata.values())]
    return and_(*(said.contains(text, autoescape=True) for text in texts))


def _json_text(value: Scalar) -> str:
    """What stands in the JSON of every number that equals this one, or of this text."""
    if isinstance(value, bool | str) or not float(value).is_integer():
        return json.dumps(value)
    return "" if abs(value) >= EXPONENT else str(int(value))


def named_condition(places: Sequence[str]) -> ColumnElement[bool]:
    """The condition that a document has one of these ids or paths."""
    paths = ["/" + place.strip("/") for place in places]
    return documents.c.id.in_(places) | documents.c.path.in_(paths)


def below_condition(place: str) -> ColumnElement[bool]:
    """The condition that this is a document's id, its path, or a folder above it. No folder is
    above all: nothing names everything by leaving something out."""
    path = "/" + place.strip("/")
    return (documents.c.id == place) | (documents.c.path == path) | below(place)
