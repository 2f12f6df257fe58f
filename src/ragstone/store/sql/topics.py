"""Forbidden topics, their vectors and what they blocked, in the state store."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from sqlalchemy import Connection, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import BlockedQuestion, Topic
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import batches, increment, insert, put, read_count
from ragstone.store.sql.tables import blocked_questions, topic_vectors, topics

MAX_BLOCKED = 100_000
"""Blocked questions kept at most, so that a flood of them cannot fill the disk."""

COUNTER = "topics"

_DAY = 86_400.0


class SqlTopics:
    """`ports.TopicStore` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tenants(self) -> Mapping[str, Sequence[Topic]]:
        wanted = select(topics).order_by(topics.c.term, topics.c.id)

        def read(connection: Connection) -> dict[str, list[Topic]]:
            found: dict[str, list[Topic]] = {}
            for row in connection.execute(wanted).mappings():
                lists = {name: tuple(row[name]) for name in ("synonyms", "examples")}
                topic = Topic(**{**row, **lists})
                found.setdefault(topic.tenant, []).append(topic)
            return found

        return await self._database.read(read)

    async def number(self) -> int:
        return await self._database.read(lambda connection: read_count(connection, COUNTER))

    async def put(self, topics_: Sequence[Topic]) -> None:
        async def work(connection: AsyncConnection) -> None:
            await increment(connection, COUNTER)
            await _forget(connection, [topic.id for topic in topics_])
            rows = [
                {**asdict(t), "synonyms": list(t.synonyms), "examples": list(t.examples)}
                for t in topics_
            ]
            if rows:
                await connection.execute(insert(connection, topics), rows)

        await self._database.write(work)

    async def remove(self, ids: Sequence[str]) -> None:
        async def work(connection: AsyncConnection) -> None:
            await increment(connection, COUNTER)
            await _forget(connection, ids)

        await self._database.write(work)

    async def vectors(self, tenant: str, fingerprint: str) -> Mapping[str, bytes]:
        wanted = (
            select(topic_vectors.c.topic_id, topic_vectors.c.vectors)
            .join(topics, topics.c.id == topic_vectors.c.topic_id)
            .where(topics.c.tenant == tenant, topic_vectors.c.fingerprint == fingerprint)
        )
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).all()
        return {str(topic_id): bytes(vectors) for topic_id, vectors in rows}

    async def keep_vectors(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        async def work(connection: AsyncConnection) -> None:
            known = set((await connection.execute(select(topics.c.id))).scalars())
            for topic_id, packed in vectors.items():
                if topic_id not in known:
                    continue
                row = {"topic_id": topic_id, "fingerprint": fingerprint, "vectors": packed}
                await put(connection, topic_vectors, row)

        await self._database.write(work)

    async def record(self, blocked: BlockedQuestion, keep_days: int) -> None:
        async def work(connection: AsyncConnection) -> None:
            added = await connection.execute(
                insert(connection, blocked_questions)
                .values(**asdict(blocked))
                .returning(blocked_questions.c.id)
            )
            newest = int(added.scalar_one())
            old = blocked_questions.c.at < state_time() - keep_days * _DAY
            over = blocked_questions.c.id <= newest - MAX_BLOCKED
            await connection.execute(delete(blocked_questions).where(old | over))

        await self._database.write(work)

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        names = [field.name for field in fields(BlockedQuestion)]
        newest = (
            select(*(blocked_questions.c[name] for name in names))
            .where(blocked_questions.c.tenant == tenant)
            .order_by(blocked_questions.c.id.desc())
            .limit(limit)
        )
        return await self._database.read(
            lambda c: [BlockedQuestion(**row) for row in c.execute(newest).mappings()]
        )


async def _forget(connection: AsyncConnection, ids: Sequence[str]) -> None:
    for some in batches(ids):
        await connection.execute(delete(topics).where(topics.c.id.in_(some)))
