"""The audit trail as operations."""

from typing import Annotated, Protocol

from pydantic import Field

from ragstone.plugins.audit.event import AuditPage, Kind, Outcome
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, route, text

Text = Annotated[str, text(500)]


class AuditService(Protocol):
    """Reading the audit trail, which is recorded itself."""

    @require_role("admin", everywhere=True)
    @route("GET", "/audit", role="admin")
    async def events(
        self,
        tenant: str,
        *,
        user: Text = "",
        kind: Kind | None = None,
        outcome: Outcome | None = None,
        about: Text = "",
        since: float = 0.0,
        until: float = 0.0,
        before: Text = "",
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
    ) -> AuditPage:
        """The tenant's events, the newest first: of a user, of a kind, with an outcome, `about`
        what has this in its name, and between two times, if these are given. The next page is
        what was `before` the id of the last event. Raises InputError where no trail is kept."""
        ...


AUDIT: AddedService[AuditService] = AddedService(
    "audit", AuditService, "ragstone.plugins.audit.service:open_service"
)
