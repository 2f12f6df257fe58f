"""What the audit trail tells."""

from dataclasses import dataclass
from typing import Literal

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
