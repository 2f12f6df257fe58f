"""The words of collections, in the state store."""

from collections.abc import Collection as Words
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Table, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.records import Collection
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import insert, select_texts
from ragstone.store.sql.tables import collections, revisions, vocabulary, vocabulary_read

STALE = 0.1
"""When a larger share of the read revisions is gone, all words are read again."""


class SqlVocabulary:
    """`ports.Vocabulary` on the state store. Raises StateUnavailable, writes StorageFull too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_words(self, collection: Collection, words: Words[str]) -> frozenset[str]:
        async with self._database.read_view() as connection:
            rows = select(vocabulary.c.word).where(
                *collection_conditions(vocabulary, collection),
                vocabulary.c.word.in_(select_texts(connection, sorted(words))),
            )
            return frozenset((await connection.execute(rows)).scalars())

    async def add(
        self, collection: Collection, words: Words[str], read: Sequence[str] = ()
    ) -> None:
        place = {"tenant": collection.tenant, "collection": collection.id}

        async def work(connection: AsyncConnection) -> None:
            if not await _collection_exists(connection, collection):
                return
            for table, column, values in (
                (vocabulary, "word", sorted(words)),
                (vocabulary_read, "revision", read),
            ):
                if values:
                    rows = [{**place, column: value} for value in values]
                    await connection.execute(
                        insert(connection, table).on_conflict_do_nothing(), rows
                    )

        await self._database.write(work)

    async def unread(self, collection: Collection) -> list[str]:
        live = select(revisions.c.name).where(*collection_conditions(revisions, collection))
        live = live.where(revisions.c.state == "live")
        read = select(vocabulary_read.c.revision).where(
            *collection_conditions(vocabulary_read, collection)
        )
        missing = live.where(revisions.c.name.not_in(read))
        gone = select(func.count()).select_from(vocabulary_read)
        gone = gone.where(*collection_conditions(vocabulary_read, collection))
        every = gone
        gone = gone.where(vocabulary_read.c.revision.not_in(live))
        async with self._database.read_view() as connection:
            counts = [(await connection.execute(item)).scalar_one() for item in (gone, every)]
            if counts[0] <= STALE * counts[1]:
                return list((await connection.execute(missing)).scalars())
        await self._forget(collection)
        async with self._database.read_view() as connection:
            return list((await connection.execute(live)).scalars())

    async def _forget(self, collection: Collection) -> None:
        async def work(connection: AsyncConnection) -> None:
            for table in (vocabulary, vocabulary_read):
                await connection.execute(
                    delete(table).where(*collection_conditions(table, collection))
                )

        await self._database.write(work)


async def _collection_exists(connection: AsyncConnection, collection: Collection) -> bool:
    """Tell whether the collection was not dropped meanwhile."""
    one = select(collections.c.id).where(
        collections.c.tenant == collection.tenant, collections.c.id == collection.id
    )
    return (await connection.execute(one)).first() is not None


def collection_conditions(
    table: Table, collection: Collection
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.tenant == collection.tenant, table.c.collection == collection.id
