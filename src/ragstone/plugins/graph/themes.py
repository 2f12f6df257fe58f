"""The themes of collections, in the state store."""

import json
from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, select, update

from ragstone.core.records import Collection
from ragstone.plugins.graph.entities import EntityCount, EntityTheme
from ragstone.store.sql.database import Database
from ragstone.store.sql.listing import readable_condition
from ragstone.store.sql.rows import batches, insert
from ragstone.store.sql.tables import (
    documents,
    mentions_read,
    model_readings,
    revisions,
    theme_audiences,
    theme_revisions,
    themes,
)
from ragstone.store.sql.vocabulary import collection_conditions


class SqlThemes:
    """The themes of collections. One is given to those only who may read every document that it
    is made of, and to nobody once one of these no longer answers.

    Raises StateUnavailable, writes StorageFull too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def audiences(
        self, collection: Collection
    ) -> Mapping[str, tuple[str, Mapping[str, str]]]:
        """For each set of readers that documents which answer have: of what its themes were made
        (empty if there are none), and the revisions of these documents that were read, in order,
        each with how a chat model has read it, empty if none has."""
        live = (
            select(revisions.c.name, documents.c.allowed, model_readings.c.recipe)
            .join(documents, revisions.c.document_id == documents.c.id)
            .join(mentions_read, mentions_read.c.revision == revisions.c.name)
            .outerjoin(model_readings, model_readings.c.revision == revisions.c.name)
            .where(
                revisions.c.tenant == collection.tenant,
                revisions.c.collection == collection.id,
                revisions.c.state == "live",
                mentions_read.c.reading != "",
            )
            .order_by(revisions.c.name)
        )
        made = select(theme_audiences.c.audience, theme_audiences.c.made_of).where(
            *collection_conditions(theme_audiences, collection)
        )

        def read(connection: Connection) -> dict[str, tuple[str, dict[str, str]]]:
            found: dict[str, tuple[str, dict[str, str]]] = {
                audience: (made_of, {}) for audience, made_of in connection.execute(made)
            }
            for name, allowed, recipe in connection.execute(live):
                audience = json.dumps(sorted(set(allowed)))
                found.setdefault(audience, ("", {}))[1][name] = recipe or ""
            return found

        return await self._database.read(read)

    async def replace(
        self, collection: Collection, audience: str, made_of: str, themes: Sequence[EntityTheme]
    ) -> None:
        """Keep these themes of an audience instead of those before; one that is made of a revision
        which is gone is left out. Without `made_of` the audience is forgotten."""
        await self._database.keep(lambda c: _replace(c, collection, audience, made_of, themes))

    async def sum_up(self, collection: Collection, id: str, summary: str, by: str) -> None:
        """Keep a chat model's summary of a theme."""
        mine = (*collection_conditions(themes, collection), themes.c.id == id)
        said = update(themes).where(*mine).values(summary=summary, by=by)

        def work(connection: Connection) -> None:
            connection.execute(said)

        await self._database.keep(work)

    async def find_summarized(
        self, collection: Collection, audience: str
    ) -> Mapping[str, EntityTheme]:
        """Return the themes of an audience that a chat model has summed up, by key."""
        mine = (
            *collection_conditions(themes, collection),
            themes.c.audience == audience,
            themes.c.by != "",
        )

        def read(connection: Connection) -> dict[str, EntityTheme]:
            return {theme.key: theme for theme in _read(connection, select(themes).where(*mine))}

        return await self._database.read(read)

    async def every(self, collection: Collection) -> list[EntityTheme]:
        """Return all themes that are made of what answers, whoever may read them."""
        return await self._database.read(
            lambda c: _read(c, _whole(collection, None).order_by(themes.c.id))
        )

    async def readable(
        self, collection: Collection, readers: Several[str], limit: int
    ) -> list[EntityTheme]:
        """The themes for these readers, those of the most passages first, at most `limit`."""

        def read(connection: Connection) -> list[EntityTheme]:
            mine = _whole(collection, readable_condition(connection, readers))
            found = _read(connection, mine)
            found.sort(
                key=lambda item: (-len(item.passages), -len(item.revisions), item.title, item.id)
            )
            return found[:limit]

        return await self._database.read(read)

    async def forget(self, collection: Collection) -> None:
        """Delete all themes of a collection."""
        mine = collection_conditions(theme_audiences, collection)
        gone = delete(theme_audiences).where(*mine)
        any_made = select(theme_audiences.c.audience).where(*mine).limit(1)

        def work(connection: Connection) -> None:
            connection.execute(gone)

        if await self._database.read(lambda c: c.execute(any_made).first()):
            await self._database.keep(work)


def _whole(collection: Collection, readable: ColumnElement[bool] | None) -> Select[Any]:
    """Return the themes of which every document answers, and may be read."""
    live = theme_revisions.join(
        revisions, and_(theme_revisions.c.revision == revisions.c.name, revisions.c.state == "live")
    ).join(documents, revisions.c.document_id == documents.c.id)
    counted = select(theme_revisions.c.theme, func.count().label("there")).select_from(live)
    if readable is not None:
        counted = counted.where(readable)
    there = counted.group_by(theme_revisions.c.theme).subquery()
    return (
        select(themes)
        .join(there, there.c.theme == themes.c.id)
        .where(*collection_conditions(themes, collection), there.c.there == themes.c.revisions)
    )


def _read(connection: Connection, wanted: Select[Any]) -> list[EntityTheme]:
    rows = connection.execute(wanted).all()
    made_of: dict[str, list[str]] = {}
    for some in batches([row.id for row in rows]):
        parts = select(theme_revisions).where(theme_revisions.c.theme.in_(some))
        for theme, revision in connection.execute(parts.order_by(theme_revisions.c.revision)):
            made_of.setdefault(theme, []).append(revision)
    return [
        EntityTheme(
            row.id,
            row.audience,
            row.title,
            tuple(EntityCount(**entity) for entity in row.entities),
            tuple((revision, number) for revision, number in row.passages),
            tuple(made_of.get(row.id, ())),
            row.summary,
            row.by,
            row.key,
        )
        for row in rows
    ]


def _replace(
    connection: Connection,
    collection: Collection,
    audience: str,
    made_of: str,
    new: Sequence[EntityTheme],
) -> None:
    place = {"tenant": collection.tenant, "collection": collection.id, "audience": audience}
    mine = (
        *collection_conditions(theme_audiences, collection),
        theme_audiences.c.audience == audience,
    )
    connection.execute(delete(theme_audiences).where(*mine))
    if not made_of:
        return
    # Another server may be making the same.
    made = insert(connection, theme_audiences).on_conflict_do_nothing()
    connection.execute(made, [{**place, "made_of": made_of}])
    wanted = sorted({name for theme in new for name in theme.revisions})
    held: set[str] = set()
    for some in batches(wanted):
        there = select(revisions.c.name).where(revisions.c.name.in_(some))
        held |= set(connection.execute(there).scalars())
    kept = [theme for theme in new if held.issuperset(theme.revisions)]
    if not kept:
        return
    rows = [
        {
            **place,
            "id": item.id,
            "title": item.title,
            "entities": [asdict(entity) for entity in item.entities],
            "passages": [list(passage) for passage in item.passages],
            "revisions": len(item.revisions),
            "summary": item.summary,
            "by": item.by,
            "key": item.key,
        }
        for item in kept
    ]
    connection.execute(insert(connection, themes).on_conflict_do_nothing(), rows)
    parts = [{"theme": item.id, "revision": name} for item in kept for name in item.revisions]
    connection.execute(insert(connection, theme_revisions).on_conflict_do_nothing(), parts)
