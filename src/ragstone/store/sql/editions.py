"""A number for each collection that changes whenever it shows other documents, and who may read
those; both change in the transaction that shows them."""

import json
import secrets
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, String, cast, select, update

from ragstone.store.sql.rows import batches, insert
from ragstone.store.sql.tables import documents, editions

Key = tuple[str, str]
"""A collection's tenant and id."""

ALLOWED = cast(documents.c.allowed, String)
"""As JSON: the documents of a collection have few different lists, which are read once each."""

FIRST_BITS = 48
"""A first number is drawn by lot: a collection that is made again has never had it."""


def read_readers(connection: Connection, key: Key) -> set[str]:
    """Names that documents of a collection which answer are allowed to."""
    tenant, collection = key
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    lists = select(ALLOWED).where(mine, documents.c.version > 0).distinct()
    return {name for listed in connection.execute(lists).scalars() for name in json.loads(listed)}


def read_number(connection: Connection, key: Key) -> int:
    """The number of a collection; its first one, if it has none yet."""
    place = (editions.c.tenant == key[0]) & (editions.c.collection == key[1])
    known = connection.execute(select(editions.c.number).where(place)).scalar()
    if known is not None:
        return int(known)
    first = secrets.randbits(FIRST_BITS)
    row = {"tenant": key[0], "collection": key[1], "number": first}
    connection.execute(insert(connection, editions), row)
    return first


def next_number(connection: Connection, key: Key) -> int:
    """Give a collection another number."""
    place = (editions.c.tenant == key[0]) & (editions.c.collection == key[1])
    counted = update(editions).where(place).values(number=editions.c.number + 1)
    found = connection.execute(counted.returning(editions.c.number)).scalar()
    return read_number(connection, key) if found is None else int(found)


def visible_readers(connection: Connection, document_ids: Sequence[str]) -> Mapping[Key, set[str]]:
    """The collections of those documents that answer, and who may read them."""
    found: dict[Key, set[str]] = {}
    for ids in batches(document_ids):
        rows = connection.execute(
            select(documents.c.tenant, documents.c.collection, documents.c.allowed).where(
                documents.c.id.in_(ids), documents.c.version > 0
            )
        )
        for tenant, collection, allowed in rows:
            found.setdefault((tenant, collection), set()).update(allowed)
    return found
