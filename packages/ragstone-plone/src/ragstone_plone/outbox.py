"""What Ragstone is still to be told, kept in the site: it commits with the change that it is of,
and stays until Ragstone has taken it."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent
from zope.annotation.interfaces import IAnnotations

KEY = "ragstone_plone.outbox"
SETTINGS = "#settings"
"""What stands for the registry's records; no UID has this form."""

_ALWAYS = "!"
"""Always there, so that an edit and the sender do not conflict over a last entry."""

LEASE_SECONDS = 120


class Change(NamedTuple):
    """A change of one object in one transaction. `removed` says that it left its place then; it may
    be at another one now, or back."""

    uid: str
    removed: bool


class Lease(Persistent):
    """Which process sends now, so that two do not send the same."""

    owner = ""
    until = 0.0


class Report(Persistent):
    """What became of the last time it was tried."""

    sent_at = 0.0
    trouble = ""
    status = 0
    """That the call in trouble was answered with."""
    due_checked = 0.0


class Outbox(Persistent):
    """Changes by the UID of their object and a token of the transaction.

    Every transaction adds keys of its own, and the sender takes away only keys that it has seen: so
    neither has to try again because of the other.
    """

    def __init__(self) -> None:
        self._changes = OOBTree()
        self._changes[_ALWAYS] = None
        self.lease = Lease()
        self.report = Report()
        self.report.due_checked = time.time()

    def put(self, token: str, uid: str, removed: bool = False) -> None:
        """Keep a change until it is sent. `token` is the transaction's."""
        key = f"{uid}.{token}"
        before = self._changes.get(key)
        removed = removed or (before is not None and before.removed)
        self._changes[key] = Change(uid, removed)

    def after(self, last: str, limit: int) -> list[tuple[str, Change]]:
        """The next changes after one key. Those of one object follow each other."""
        found = []
        for key, change in self._changes.items(min=last, excludemin=True):
            if change is not None:
                found.append((key, change))
            if len(found) >= limit:
                break
        return found

    def done(self, key: str) -> None:
        """Forget a change that was sent."""
        self._changes.pop(key, None)

    def __len__(self) -> int:
        return len(self._changes) - 1

    def __bool__(self) -> bool:
        return True


def outbox_of(site: Any) -> Outbox | None:
    """The outbox of a site; None where the add-on is not installed."""
    annotations = IAnnotations(site, None)
    return None if annotations is None else annotations.get(KEY)


def make_outbox(site: Any) -> Outbox:
    """The outbox of a site, made if there is none."""
    annotations = IAnnotations(site)
    if KEY not in annotations:
        annotations[KEY] = Outbox()
    return annotations[KEY]


def drop_outbox(site: Any) -> None:
    """Take the outbox out of the site, with all that was not sent."""
    IAnnotations(site).pop(KEY, None)
