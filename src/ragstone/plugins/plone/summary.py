"""What a listing says of an object: enough to see whether anything about it has changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

FIELDS = ["UID", "modified", "effective", "expires", "is_folderish"]
"""What is asked for besides @id, @type, title and review_state, which always come."""


@dataclass(frozen=True, slots=True)
class Summary:
    """An object in a listing. Times are seconds since 1970, 0 where none is said."""

    uid: str
    address: str
    type: str
    state: str
    title: str = ""
    modified: float = 0.0
    effective: float = 0.0
    expires: float = 0.0
    folderish: bool = False

    def is_hidden(self, now: float) -> bool:
        """Tell whether it is not published yet, or has expired: searches leave it out but for those
        who see all of a site."""
        return self.effective > now or 0 < self.expires <= now


def summary(item: Mapping[str, Any]) -> Summary | None:
    """Return an item of a listing, or a whole object; None for one that cannot be named."""
    uid, address = item.get("UID"), item.get("@id")
    if not isinstance(uid, str) or not uid or not isinstance(address, str):
        return None
    return Summary(
        uid,
        address.rstrip("/"),
        str(item.get("@type") or item.get("portal_type") or ""),
        str(item.get("review_state") or ""),
        str(item.get("title") or ""),
        seconds(item.get("modified")),
        seconds(item.get("effective")),
        seconds(item.get("expires")),
        item.get("is_folderish") is True,
    )


def seconds(moment: Any) -> float:
    """A time of Plone's (ISO 8601, in UTC if it has no zone) as seconds since 1970, 0 for none."""
    try:
        if not isinstance(moment, str):
            return 0.0
        at = datetime.fromisoformat(moment)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
