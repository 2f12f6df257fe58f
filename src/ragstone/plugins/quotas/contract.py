"""Quotas: set, listed and removed, and one's own."""

from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.plugins.quotas.records import Quota
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, route, text

Subject = Annotated[str, text(300, 1)]
Tokens = Annotated[int, Field(ge=0, le=2**53)]
Dollars = Annotated[float, Field(ge=0, le=1e12)]
WHO = "user:NAME, group:NAME, tenant, or user:* for each user without a quota of its own."


class QuotaService(Protocol):
    """What users, groups and a tenant may use of chat models in a calendar month (UTC). Questions
    count for who asks, for each of its groups and for the tenant. Methods raise StateUnavailable.
    """

    @require_role("admin", everywhere=True)
    @route("GET", "/quotas", "quotas")
    async def list_all(self, tenant: str) -> list[Quota]:
        """The tenant's quotas with what is used of them this month."""
        ...

    @require_role("reader")
    @route("GET", "/quotas/mine", "quotas")
    async def mine(self, principal: Principal) -> list[Quota]:
        """The quotas that count for the principal, with what is used of them this month."""
        ...

    @require_role("admin", everywhere=True)
    @route("PUT", "/quotas", {"subject": "subject"}, subject=Field(description=WHO))
    async def put(
        self,
        tenant: str,
        subject: Subject,
        tokens: Tokens | None = None,
        cost: Dollars | None = None,
    ) -> None:
        """Set the quota of a subject, instead of the one before: tokens of chat models, or US
        dollars (`cost`), or both. Raises InputError."""
        ...

    @require_role("admin", everywhere=True)
    @route("DELETE", "/quotas", {"removed": "subject"}, subject=Field(description=WHO))
    async def remove(self, tenant: str, subject: Subject) -> None:
        """Remove the quota of a subject; what it used stays known. Raises UnknownQuota."""
        ...


QUOTAS: AddedService[QuotaService] = AddedService(
    "quotas", QuotaService, "ragstone.plugins.quotas.service:open_service"
)
