"""The audit trail as operations.

What the audit trail tells.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, route, text

Kind = Literal["sign-in", "sign-out", "ask", "read", "change", "export", "delete", "request"]
Outcome = Literal["allowed", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """Who did what, when (seconds since 1970), from where, and what came of it. `what` names what
    it was about; `detail` is the code of an error; `id` is the place in the trail. One event stands
    for `count` of them where somebody without a credential is refused again and again."""

    id: str
    at: float
    user: str
    kind: str
    operation: str
    what: str
    outcome: str
    detail: str = ""
    address: str = ""
    key: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Events, the newest first. `lost` events could not be written since the process that answers
    started, `unsent` were not taken by the syslog server."""

    events: tuple[AuditEvent, ...]
    lost: int = 0
    unsent: int = 0


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
