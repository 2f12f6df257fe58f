"""Quotas in this process."""

from ragstone.access.asking import check_everywhere
from ragstone.core.errors import InputError, UnknownQuota
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.plugins.quotas.records import Quota, parse_subject
from ragstone.plugins.quotas.store import SqlQuotas


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
    store: SqlQuotas = parts.adapters.added["quotas"]
    return LocalQuotas(store)
