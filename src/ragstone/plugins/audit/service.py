"""Reading the audit trail of this process."""

import asyncio

from ragstone.access.asking import check_everywhere
from ragstone.core.errors import InputError
from ragstone.local.added import ServiceParts
from ragstone.plugins.audit.event import AuditEvent, AuditPage, Kind, Outcome
from ragstone.plugins.audit.events import read_event
from ragstone.plugins.audit.trail import Trail, find_trail


class LocalAudit:
    """`AuditService` on the files of a trail; None where none is kept."""

    def __init__(self, trail: Trail | None) -> None:
        self.trail = trail

    async def events(
        self,
        tenant: str,
        *,
        user: str = "",
        kind: Kind | None = None,
        outcome: Outcome | None = None,
        about: str = "",
        since: float = 0.0,
        until: float = 0.0,
        before: str = "",
        limit: int = 100,
    ) -> AuditPage:
        check_everywhere()
        trail = self.trail
        if trail is None:
            raise InputError("No audit trail is kept here. Set AUDIT__FOLDER to a folder for it.")

        await trail.flush()

        def collect() -> tuple[AuditEvent, ...]:
            matches: list[AuditEvent] = []
            for place, record in trail.read_back(before):
                found = read_event(place, record, tenant)
                if found is None or (until and found.at >= until):
                    continue
                # Processes that write at once may be a little out of order, not by a minute.
                if found.at < since - 60:
                    break
                if (
                    found.at >= since
                    and user in ("", found.user)
                    and kind in (None, found.kind)
                    and outcome in (None, found.outcome)
                    and about.casefold() in found.what.casefold()
                ):
                    matches.append(found)
                if len(matches) == limit:
                    break
            return tuple(matches)

        return AuditPage(await asyncio.to_thread(collect), trail.lost, trail.unsent)


def open_service(parts: ServiceParts) -> LocalAudit:
    """Make the operations of this process."""
    return LocalAudit(find_trail(parts.adapters))
