"""What the chunks of collections name, in the state store."""

from collections.abc import Collection as Several
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)

from ragstone.core.records import Collection
from ragstone.plugins.graph.entities import EntityCount, EntityMention, EntityRelation
from ragstone.store.sql.database import Database
from ragstone.store.sql.listing import readable_condition
from ragstone.store.sql.rows import batches, insert
from ragstone.store.sql.tables import (
    documents,
    entity_mentions,
    entity_relations,
    mentions_read,
    revisions,
)
from ragstone.store.sql.vocabulary import collection_conditions

LAST = "\U0010ffff"
"""Behind every other character."""


class SqlMentions:
    """What the chunks of collections name. It goes with the revisions that it was read from.

    Only what answers is given, and only of documents that are allowed to one of `readers`: so what
    is made of it holds nothing of other documents.

    Raises StateUnavailable, writes StorageFull too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def unread(self, collection: Collection, reading: str) -> list[str]:
        """Return the revisions that answer and were not read in this way. `reading` names the rules
        by which mentions are found: after a change of these all is read again."""
        read = select(mentions_read.c.revision).where(mentions_read.c.reading == reading)
        missing = select(revisions.c.name).where(
            *collection_conditions(revisions, collection),
            revisions.c.state == "live",
            revisions.c.name.not_in(read),
        )
        return await self._database.read(lambda c: list(c.execute(missing).scalars()))

    async def begin(self, collection: Collection, revisions: Sequence[str]) -> None:
        """These revisions are going to be read: forget what was kept of them."""
        await self._database.keep(lambda c: _begin(c, collection, revisions))

    async def add(
        self,
        collection: Collection,
        mentions: Sequence[EntityMention],
        relations: Sequence[EntityRelation] = (),
    ) -> None:
        """Keep a part of what begun revisions name; of one that is gone, nothing."""

        def work(connection: Connection) -> None:
            named = {mention.revision for mention in mentions} | {
                relation.revision for relation in relations
            }
            numbers = _numbers(connection, sorted(named))
            rows = [
                {
                    "source": numbers[mention.revision],
                    "chunk": mention.chunk_index,
                    "entity": mention.entity,
                    "collection": collection.id,
                    "name": mention.name,
                    "kind": mention.kind,
                    "count": mention.count,
                    "same": mention.same,
                }
                for mention in mentions
                if mention.revision in numbers
            ]
            said = [
                {
                    "source": numbers[relation.revision],
                    "chunk": relation.chunk_index,
                    "entity": relation.entity,
                    "other": relation.other,
                    "said": relation.said,
                    "collection": collection.id,
                }
                for relation in relations
                if relation.revision in numbers
            ]
            for table, some in ((entity_mentions, rows), (entity_relations, said)):
                if some:
                    # Another server may be reading the same.
                    connection.execute(insert(connection, table).on_conflict_do_nothing(), some)

        await self._database.keep(work)

    async def finish(self, collection: Collection, reading: str, revisions: Sequence[str]) -> None:
        """These revisions were read to their end."""

        def work(connection: Connection) -> None:
            for some in batches(revisions):
                mine = mentions_read.c.revision.in_(some)
                connection.execute(update(mentions_read).where(mine).values(reading=reading))

        await self._database.keep(work)

    async def filter_known(
        self, collection: Collection, readers: Several[str], entities: Several[str]
    ) -> frozenset[str]:
        """Return those of these entities that are named."""
        found = await self.of_entities(collection, readers, entities, 1)
        return frozenset(found)

    async def like(
        self, collection: Collection, readers: Several[str], beginning: str, limit: int
    ) -> list[str]:
        """Entities whose keys begin so, at most `limit`, by key."""

        def read(connection: Connection) -> list[str]:
            names = entity_mentions.c.entity
            wanted = (
                _select_answering(connection, collection, readers, select(names).distinct())
                .where(names >= beginning, names < beginning + LAST)
                .order_by(names)
                .limit(limit)
            )
            return list(connection.execute(wanted).scalars())

        return await self._database.read(read)

    async def of_entities(
        self, collection: Collection, readers: Several[str], entities: Several[str], limit: int
    ) -> dict[str, list[EntityMention]]:
        """Return the mentions of each of these entities that has some, at most `limit` of each,
        always the same ones."""

        def read(connection: Connection) -> dict[str, list[EntityMention]]:
            stored = _find_stored(connection, collection, entities)
            every = _select_answering(connection, collection, readers, select(*_COLUMNS))
            found = _of_all(connection, every, stored, limit)
            if found is None:
                ordered = every.order_by(mentions_read.c.revision, entity_mentions.c.chunk)
                found = _of_each(connection, ordered, stored, limit)
            return {entity: some[:limit] for entity, some in found.items()}

        return await self._database.read(read)

    async def of_rare(
        self, collection: Collection, readers: Several[str], entities: Several[str], most: int
    ) -> dict[str, list[EntityMention]]:
        """Return the mentions of those of these entities that at most so many chunks name."""

        def read(connection: Connection) -> dict[str, list[EntityMention]]:
            stored = _find_stored(connection, collection, entities)
            every = _select_answering(connection, collection, readers, select(*_COLUMNS))
            found = _of_all(connection, every, stored, most + 1)
            if found is None:
                # In no order, so that of one that is frequent no more rows are read.
                found = _of_each(connection, every, stored, most + 1)
            return {entity: some for entity, some in found.items() if len(some) <= most}

        return await self._database.read(read)

    async def of_chunks(
        self, collection: Collection, readers: Several[str], chunks: Several[tuple[str, int]]
    ) -> list[EntityMention]:
        """Return what these chunks name, each given by its revision and its number in that."""
        wanted = set(chunks)
        numbers = sorted({number for _, number in wanted})

        def read(connection: Connection) -> list[EntityMention]:
            found: list[EntityMention] = []
            for some in batches(sorted({revision for revision, _ in wanted})):
                inside = _select_answering(
                    connection, collection, readers, select(*_COLUMNS)
                ).where(mentions_read.c.revision.in_(some), entity_mentions.c.chunk.in_(numbers))
                every = map(_mention, connection.execute(inside))
                found += [item for item in every if (item.revision, item.chunk_index) in wanted]
            return found

        return await self._database.read(read)

    async def find_relations(
        self, collection: Collection, readers: Several[str], chunks: Several[tuple[str, int]]
    ) -> list[EntityRelation]:
        """Return the relations that these chunks tell of."""
        wanted = set(chunks)
        numbers = sorted({number for _, number in wanted})

        def read(connection: Connection) -> list[EntityRelation]:
            found: list[EntityRelation] = []
            every = _relations(connection, collection, readers)
            for some in batches(sorted({revision for revision, _ in wanted})):
                inside = every.where(
                    mentions_read.c.revision.in_(some), entity_relations.c.chunk.in_(numbers)
                )
                rows = (EntityRelation(*row) for row in connection.execute(inside))
                found += [item for item in rows if (item.revision, item.chunk_index) in wanted]
            return found

        return await self._database.read(read)

    async def find_entity_relations(
        self, collection: Collection, readers: Several[str], entities: Several[str], limit: int
    ) -> list[EntityRelation]:
        """Return the relations of these entities, at most `limit`, always the same ones."""
        named = sorted(entities)
        columns = entity_relations.c
        either = or_(columns.entity.in_(named), columns.other.in_(named))

        def read(connection: Connection) -> list[EntityRelation]:
            wanted = (
                _relations(connection, collection, readers)
                .where(either)
                .order_by(
                    mentions_read.c.revision,
                    *(columns.chunk, columns.entity, columns.other, columns.said),
                )
                .limit(limit)
            )
            return [EntityRelation(*row) for row in connection.execute(wanted)]

        return await self._database.read(read)

    async def of_revisions(
        self, collection: Collection, revisions: Several[str]
    ) -> tuple[list[EntityMention], list[EntityRelation]]:
        """Return all that these revisions name, whoever may read them: for what is made of
        documents with the same readers."""

        def read(connection: Connection) -> tuple[list[EntityMention], list[EntityRelation]]:
            named: list[EntityMention] = []
            related: list[EntityRelation] = []
            for some in batches(sorted(revisions)):
                numbers = _numbers(connection, some)
                names = {number: revision for revision, number in numbers.items()}
                mentioned = select(*(entity_mentions.c[name] for name in ("source", *_OF_CHUNK)))
                mentioned = mentioned.where(entity_mentions.c.source.in_(names))
                named += [
                    EntityMention(names[source], *rest)
                    for source, *rest in connection.execute(mentioned)
                ]
                columns = (entity_relations.c[name] for name in ("source", *_RELATION))
                said = select(*columns).where(entity_relations.c.source.in_(names))
                related += [
                    EntityRelation(names[source], *rest)
                    for source, *rest in connection.execute(said)
                ]
            return named, related

        return await self._database.read(read)

    async def most_named(
        self, collection: Collection, readers: Several[str], limit: int
    ) -> list[EntityCount]:
        """Return the entities that most chunks name, those first; reads all mentions."""

        def read(connection: Connection) -> list[EntityCount]:
            chunks = func.count()
            counted = select(entity_mentions.c.entity, func.min(entity_mentions.c.name), chunks)
            wanted = (
                _select_answering(connection, collection, readers, counted)
                .group_by(entity_mentions.c.entity)
                .order_by(chunks.desc(), entity_mentions.c.entity)
                .limit(limit)
            )
            return [EntityCount(*row) for row in connection.execute(wanted)]

        return await self._database.read(read)

    async def count_waiting(
        self, collection: Collection, readers: Several[str], reading: str
    ) -> int:
        """Tell how many documents that answer were not read in this way."""

        def count(connection: Connection) -> int:
            read = select(mentions_read.c.revision).where(mentions_read.c.reading == reading)
            wanted = (
                select(func.count())
                .select_from(revisions.join(documents, revisions.c.document_id == documents.c.id))
                .where(
                    *collection_conditions(revisions, collection),
                    revisions.c.state == "live",
                    revisions.c.name.not_in(read),
                    readable_condition(connection, readers),
                )
            )
            return connection.execute(wanted).scalar_one()

        return await self._database.read(count)

    async def forget(self, collection: Collection) -> None:
        """Delete all that is kept of a collection."""
        mine = select(revisions.c.name).where(*collection_conditions(revisions, collection))
        gone = delete(mentions_read).where(mentions_read.c.revision.in_(mine))
        any_read = select(mentions_read.c.number).where(mentions_read.c.revision.in_(mine)).limit(1)

        def work(connection: Connection) -> None:
            connection.execute(gone)

        if await self._database.read(lambda c: c.execute(any_read).first()):
            await self._database.keep(work)


_OF_CHUNK = ("chunk", "entity", "name", "kind", "count", "same")
"""The fields of an `EntityMention` behind its revision, in order."""

_RELATION = ("chunk", "entity", "other", "said")
"""Those of an `EntityRelation`."""

_COLUMNS = (mentions_read.c.revision, *(entity_mentions.c[name] for name in _OF_CHUNK))


def _mention(row: Any) -> EntityMention:
    return EntityMention(*row)


def _relations(
    connection: Connection, collection: Collection, readers: Several[str]
) -> Select[Any]:
    """Return the relations of revisions that answer and that these may read."""
    columns = (entity_relations.c[name] for name in _RELATION)
    wanted = select(mentions_read.c.revision, *columns)
    return _select_answering(connection, collection, readers, wanted, entity_relations)


def _select_answering(
    connection: Connection,
    collection: Collection,
    readers: Several[str],
    wanted: Select[Any],
    table: Table = entity_mentions,
) -> Select[Any]:
    """Return what is selected of a table, of revisions that answer and that these may read."""
    read = table.join(mentions_read, table.c.source == mentions_read.c.number)
    live = read.join(
        revisions, and_(mentions_read.c.revision == revisions.c.name, revisions.c.state == "live")
    )
    return (
        wanted.select_from(live.join(documents, revisions.c.document_id == documents.c.id))
        .where(table.c.collection == collection.id, *collection_conditions(revisions, collection))
        .where(readable_condition(connection, readers))
    )


def _find_stored(
    connection: Connection, collection: Collection, entities: Several[str]
) -> list[str]:
    """Return those of these entities that anything of the collection names, whoever may read it."""
    found: list[str] = []
    for some in batches(sorted(entities)):
        wanted = select(entity_mentions.c.entity).distinct()
        wanted = wanted.where(
            entity_mentions.c.collection == collection.id, entity_mentions.c.entity.in_(some)
        )
        found += connection.execute(wanted).scalars()
    return found


def _of_all(
    connection: Connection, every: Select[Any], entities: Sequence[str], limit: int
) -> dict[str, list[EntityMention]] | None:
    """Return the mentions of these entities in one statement; None if they are more than so many of
    each could be, since then one is so frequent that not all of its rows should be read."""
    most = limit * len(entities)
    found: dict[str, list[EntityMention]] = {}
    for some in batches(entities):
        wanted = every.where(entity_mentions.c.entity.in_(some)).limit(most + 1)
        rows = connection.execute(wanted).all()
        if len(rows) > most:
            return None
        for item in map(_mention, rows):
            found.setdefault(item.entity, []).append(item)
    return _in_order(found)


def _of_each(
    connection: Connection, every: Select[Any], entities: Sequence[str], limit: int
) -> dict[str, list[EntityMention]]:
    """At most so many mentions of each of these entities that has any."""
    one = every.where(entity_mentions.c.entity == bindparam("wanted")).limit(limit)
    found = {entity: connection.execute(one, {"wanted": entity}).all() for entity in entities}
    return _in_order({k: [_mention(row) for row in rows] for k, rows in found.items() if rows})


def _in_order(found: dict[str, list[EntityMention]]) -> dict[str, list[EntityMention]]:
    for some in found.values():
        some.sort(key=lambda item: (item.revision, item.chunk_index))
    return found


def _begin(connection: Connection, collection: Collection, names: Sequence[str]) -> None:
    """Forget what was kept of these revisions, and open those that are still there."""
    for some in batches(names):
        connection.execute(delete(mentions_read).where(mentions_read.c.revision.in_(some)))
        there = select(revisions.c.name).where(
            *collection_conditions(revisions, collection), revisions.c.name.in_(some)
        )
        rows = [{"revision": name, "reading": ""} for name in connection.execute(there).scalars()]
        if rows:
            connection.execute(insert(connection, mentions_read), rows)


def _numbers(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """Return the numbers of begun revisions."""
    numbers: dict[str, int] = {}
    for some in batches(names):
        read = select(mentions_read).where(mentions_read.c.revision.in_(some))
        numbers |= {row.revision: row.number for row in connection.execute(read)}
    return numbers
