"""Accounts in the state store, their sessions and invitations, and tries of passwords.

API keys and ended sessions in the state store. Of a secret only its digest is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.records import ApiKey, Person
from ragstone.ports import PersonToken, StoredKey, StoredPerson, TokenKind
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import add, put
from ragstone.store.sql.tables import (
    api_keys,
    ended_sessions,
    metadata,
    people,
    person_tokens,
    sign_in_tries,
)

FORGOTTEN_SECONDS = 3600.0
"""After which a try of a password counts no longer."""

_OF_PERSON = ("password", "totp", "totp_step", "recovery", "profile")


class SqlPeople:
    """`ports.PeopleStore` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, stored: StoredPerson) -> bool:
        return await self._database.write(lambda c: add(c, people, _to_row(stored)))

    async def find(self, tenant: str, name: str) -> StoredPerson | None:
        wanted = select(people).where(*_is_of(people, tenant, name))
        row = await self._database.read(lambda c: c.execute(wanted).mappings().first())
        return _to_person(row) if row else None

    async def list_all(self, tenant: str) -> Sequence[StoredPerson]:
        wanted = select(people).where(people.c.tenant == tenant).order_by(people.c.user)
        return await self._database.read(
            lambda c: [_to_person(row) for row in c.execute(wanted).mappings()]
        )

    async def any(self) -> bool:
        wanted = select(people.c.user).limit(1)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None

    async def is_used(self, tenant: str, name: str) -> bool:
        # Any row of theirs counts, whatever table it is in: new tables need no line here.
        theirs = [
            select(table.c.user).where(*_is_of(table, tenant, name)).limit(1)
            for table in metadata.sorted_tables
            if {"tenant", "user"} <= set(table.c.keys()) and table not in (people, person_tokens)
        ]
        return await self._database.read(lambda c: any(c.execute(item).first() for item in theirs))

    async def edit(
        self,
        tenant: str,
        name: str,
        change: Callable[[StoredPerson], StoredPerson | None],
        *,
        takes: str = "",
        ends: Sequence[TokenKind] = (),
    ) -> StoredPerson | None:
        mine = _is_of(people, tenant, name)
        theirs = _is_of(person_tokens, tenant, name)

        async def work(connection: AsyncConnection) -> StoredPerson | None:
            row = (await connection.execute(select(people).where(*mine))).mappings().first()
            changed = change(_to_person(row)) if row else None
            if changed is None:
                return None
            if takes:
                taken = delete(person_tokens).where(*theirs, person_tokens.c.digest == takes)
                if not (await connection.execute(taken)).rowcount:
                    return None
            await connection.execute(update(people).where(*mine).values(_to_row(changed)))
            if ends:
                gone = delete(person_tokens).where(*theirs, person_tokens.c.kind.in_(ends))
                await connection.execute(gone)
            return changed

        return await self._database.write(work)

    async def remove(self, tenant: str, name: str) -> bool:

        async def work(connection: AsyncConnection) -> bool:
            # Tokens go with it, by their foreign key.
            gone = delete(people).where(*_is_of(people, tenant, name))
            return (await connection.execute(gone)).rowcount > 0

        return await self._database.write(work)

    async def add_token(self, token: PersonToken, password: str) -> bool:
        over = delete(person_tokens).where(person_tokens.c.ends_at <= token.begun_at)
        owner = _is_of(people, token.tenant, token.user)
        same = select(people.c.user).where(*owner, people.c.password == password)

        async def work(connection: AsyncConnection) -> bool:
            if (await connection.execute(same)).first() is None:
                return False
            await connection.execute(over)
            await put(connection, person_tokens, asdict(token))
            return True

        return await self._database.write(work)

    async def find_token(
        self, digest: str, kind: TokenKind, now: float
    ) -> tuple[PersonToken, StoredPerson] | None:
        token = person_tokens.c
        wanted = select(person_tokens).where(token.digest == digest, token.kind == kind)

        def read(connection: Any) -> tuple[PersonToken, StoredPerson] | None:
            row = connection.execute(wanted.where(token.ends_at > now)).mappings().first()
            if row is None:
                return None
            owner = select(people).where(*_is_of(people, row["tenant"], row["user"]))
            return PersonToken(**row), _to_person(connection.execute(owner).mappings().one())

        return await self._database.read(read)

    async def tokens(self, tenant: str, name: str, now: float) -> Sequence[PersonToken]:
        theirs = *_is_of(person_tokens, tenant, name), person_tokens.c.ends_at > now
        wanted = select(person_tokens).where(*theirs).order_by(person_tokens.c.begun_at.desc())
        return await self._database.read(
            lambda c: [PersonToken(**row) for row in c.execute(wanted).mappings()]
        )

    async def touch(self, digest: str, at: float) -> None:
        used = update(person_tokens).where(person_tokens.c.digest == digest).values(used_at=at)
        await self._database.write(lambda connection: connection.execute(used))

    async def end_tokens(
        self, tenant: str, name: str, kinds: Sequence[TokenKind], digest: str = ""
    ) -> int:
        theirs = *_is_of(person_tokens, tenant, name), person_tokens.c.kind.in_(kinds)
        begins_so = person_tokens.c.digest.startswith(digest, autoescape=True)

        async def work(connection: AsyncConnection) -> int:
            gone = await connection.execute(delete(person_tokens).where(*theirs, begins_so))
            return gone.rowcount

        return await self._database.write(work)

    async def begin_try(
        self, counters: Mapping[str, int], pause: Callable[[int], float], now: float
    ) -> float:
        counts = sign_in_tries.c
        known = select(sign_in_tries).where(counts.name.in_(counters))
        over = delete(sign_in_tries).where(counts.at < now - FORGOTTEN_SECONDS)

        async def work(connection: AsyncConnection) -> float:
            await connection.execute(over)
            rows = {row.name: row for row in await connection.execute(known)}
            waits: list[float] = [
                row.at + pause(row.tries - counters[name]) - now
                for name, row in rows.items()
                if row.tries >= counters[name]
            ]
            if max(waits, default=0.0) > 0:
                return max(waits)
            for name in counters:
                tries = rows[name].tries + 1 if name in rows else 1
                await put(connection, sign_in_tries, {"name": name, "tries": tries, "at": now})
            return 0.0

        return await self._database.write(work)

    async def forgive(self, forgets: str, counter: str) -> None:
        counts = sign_in_tries.c
        gone = delete(sign_in_tries).where(counts.name == forgets)
        less = (
            update(sign_in_tries)
            .where(counts.name == counter, counts.tries > 0)
            .values(tries=counts.tries - 1)
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(gone)
            await connection.execute(less)

        await self._database.write(work)


def _is_of(table: Any, tenant: str, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.tenant == tenant, table.c.user == name


def _to_row(stored: StoredPerson) -> dict[str, Any]:
    person = stored.person
    row = {key: value for key, value in asdict(person).items() if key != "name"}
    row |= {"user": person.name, "groups": list(person.groups)}
    row |= {"collections": None if person.collections is None else list(person.collections)}
    return (
        row
        | {key: getattr(stored, key) for key in _OF_PERSON}
        | {"recovery": list(stored.recovery), "profile": dict(stored.profile)}
    )


def _to_person(row: Mapping[Any, Any]) -> StoredPerson:
    values = {key: value for key, value in row.items() if key not in (*_OF_PERSON, "user")}
    reach = row["collections"]
    lists = {"groups": tuple(row["groups"]), "collections": None if reach is None else tuple(reach)}
    person = Person(**values | lists, name=row["user"])
    return StoredPerson(
        person,
        row["password"],
        row["totp"],
        row["totp_step"],
        tuple(row["recovery"]),
        row["profile"],
    )


_DIGESTS = ("digest", "old_digest", "old_until")
_LISTS = ("groups", "collections", "sites")


class SqlKeys:
    """`ports.KeyStore` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, stored: StoredKey) -> None:
        row = asdict(stored.key)
        del row["used_at"]
        row.update({name: row[name] and list(row[name]) for name in _LISTS})
        row.update({name: getattr(stored, name) for name in _DIGESTS})
        await self._database.write(lambda connection: put(connection, api_keys, row))

    async def find(self, id: str) -> StoredKey | None:
        wanted = select(api_keys).where(api_keys.c.id == id)
        row = await self._database.read(lambda c: c.execute(wanted).mappings().first())
        return StoredKey(_key(dict(row)), *(row[name] for name in _DIGESTS)) if row else None

    async def list_all(self, tenant: str | None) -> list[ApiKey]:
        wanted = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
        wanted = wanted.where(api_keys.c.user != "")  # Those of erased users are nobody's.
        if tenant is not None:
            wanted = wanted.where(api_keys.c.tenant == tenant)
        return await self._database.read(
            lambda c: [_key(dict(row)) for row in c.execute(wanted).mappings()]
        )

    async def touch(self, id: str, at: float) -> None:
        used = update(api_keys).where(api_keys.c.id == id).values(used_at=at)
        await self._database.write(lambda connection: connection.execute(used))

    async def any(self) -> bool:
        wanted = select(api_keys.c.id).limit(1)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None

    async def end_session(self, name: str, until: float, now: float) -> None:
        over = delete(ended_sessions).where(ended_sessions.c.until < now)

        async def end(connection: AsyncConnection) -> None:
            await connection.execute(over)
            await put(connection, ended_sessions, {"name": name, "until": until})

        await self._database.write(end)

    async def has_ended(self, name: str) -> bool:
        wanted = select(ended_sessions.c.name).where(ended_sessions.c.name == name)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None


def _key(row: Mapping[str, Any]) -> ApiKey:
    columns = {name: value for name, value in row.items() if name not in _DIGESTS}
    return ApiKey(**{**columns, **{name: _tuple(row[name]) for name in _LISTS}})


def _tuple(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
