"""Quotas in this process.

Quotas and what is used of them, on the state store.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.access.asking import check_everywhere
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, UnknownQuota
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts, StateStore
from ragstone.plugins.quotas.records import (
    EVERY_USER,
    MonthUse,
    Quota,
    Subject,
    format_month,
    format_subject,
    list_subjects,
    month_end,
    parse_subject,
)
from ragstone.ports import Adapters
from ragstone.store.sql.rows import add_statement, put
from ragstone.store.sql.tables import quota_use, quotas


class SqlQuotas(StateStore):
    """Quotas and the use of them by tenant and subject. Methods raise StateUnavailable and
    StorageFull."""

    name = "quotas"

    async def put(
        self, tenant: str, subject: Subject, tokens: int | None, cost: float | None
    ) -> None:
        """Keep a quota, instead of the subject's before."""
        row = {**_key(tenant, subject), "tokens": tokens, "cost": cost}
        await self._database.write(lambda connection: put(connection, quotas, row))

    async def remove(self, tenant: str, subject: Subject) -> bool:
        """Tell whether there was one."""
        key = _key(tenant, subject)
        gone = delete(quotas).where(*(quotas.c[name] == value for name, value in key.items()))

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(gone)).rowcount > 0

        return await self._database.write(work)

    async def list_all(self, tenant: str) -> list[Quota]:
        """Return all quotas of a tenant with this month's use, by subject."""
        now = state_time()

        def read(connection: Connection) -> list[Quota]:
            known = _read_quotas(connection, tenant)
            used = _read_use(connection, tenant, now)
            others = [use for key, use in used.items() if key[0] == "user" and key not in known]
            used[EVERY_USER] = max(others, key=lambda use: use.tokens, default=MonthUse())
            return [_with_use(known[subject], used, subject, now) for subject in sorted(known)]

        return await self._database.read(read)

    async def find(self, principal: Principal) -> list[Quota]:
        """Return the quotas that count for a principal, with this month's use."""
        now = state_time()

        def read(connection: Connection) -> list[Quota]:
            known = _read_quotas(connection, principal.tenant)
            for subject in list_subjects(principal) if EVERY_USER in known else ():
                if subject[0] == "user":
                    named = replace(known[EVERY_USER], subject=format_subject(subject))
                    known.setdefault(subject, named)
            mine = [subject for subject in list_subjects(principal) if subject in known]
            used = _read_use(connection, principal.tenant, now) if mine else {}
            return [_with_use(known[subject], used, subject, now) for subject in mine]

        return await self._database.read(read)

    async def add(self, principal: Principal, use: MonthUse) -> None:
        """Count what a principal used, for all whom it counts for."""
        month = format_month(state_time())
        rows = [
            {**_key(principal.tenant, subject), "month": month, "tokens": use.tokens}
            | {"cost": use.cost}
            for subject in list_subjects(principal)
        ]

        def work(connection: Connection) -> None:
            statement = add_statement(connection.dialect.name, quota_use, ("tokens", "cost"))
            connection.execute(statement, rows)

        await self._database.keep(work)


def find_store(adapters: Adapters) -> SqlQuotas | None:
    """Return the store that `make` has made, None where nothing is kept."""
    return adapters.added.get("quotas")


def _key(tenant: str, subject: Subject) -> dict[str, str]:
    kind, name = subject
    user, group = (name if kind == "user" else ""), (name if kind == "group" else "")
    return {"tenant": tenant, "user": user, "group": group}


def _subject(row: Mapping[Any, Any]) -> Subject:
    if row["user"]:
        return "user", row["user"]
    return ("group", row["group"]) if row["group"] else ("tenant", "")


def _read_quotas(connection: Connection, tenant: str) -> dict[Subject, Quota]:
    rows = connection.execute(select(quotas).where(quotas.c.tenant == tenant)).mappings()
    found = {_subject(row): row for row in rows}
    return {
        subject: Quota(format_subject(subject), row["tokens"], row["cost"])
        for subject, row in found.items()
    }


def _read_use(connection: Connection, tenant: str, now: float) -> dict[Subject, MonthUse]:
    """Return what each subject has used this month."""
    table = quota_use
    mine = select(table).where(table.c.tenant == tenant, table.c.month == format_month(now))
    rows = connection.execute(mine).mappings()
    return {_subject(row): MonthUse(row["tokens"], row["cost"]) for row in rows}


def _with_use(
    quota: Quota, used: Mapping[Subject, MonthUse], subject: Subject, now: float
) -> Quota:
    use = used.get(subject, MonthUse())
    return replace(quota, used_tokens=use.tokens, used_cost=use.cost, ends_at=month_end(now))


class LocalQuotas:
    """`QuotaService` on the state store."""

    def __init__(self, store: SqlQuotas) -> None:
        self._store = store

    async def list_all(self, tenant: str) -> list[Quota]:
        check_everywhere()
        return await self._store.list_all(tenant)

    async def mine(self, principal: Principal) -> list[Quota]:
        return await self._store.find(principal)

    async def put(
        self, tenant: str, subject: str, tokens: int | None = None, cost: float | None = None
    ) -> None:
        check_everywhere()
        if tokens is None and cost is None:
            raise InputError("A quota limits tokens or money. Give one of them.")
        await self._store.put(tenant, parse_subject(subject), tokens, cost)

    async def remove(self, tenant: str, subject: str) -> None:
        check_everywhere()
        if not await self._store.remove(tenant, parse_subject(subject)):
            raise UnknownQuota(subject)


def open_service(parts: ServiceParts) -> LocalQuotas:
    """Make the operations of this process."""
    store: SqlQuotas = SqlQuotas.of(parts.adapters)
    return LocalQuotas(store)
