"""Sends to Ragstone what waits in the outbox of a site: after each commit, and again until it is
taken, in a thread of its own. Nobody who edits waits for it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import transaction
from DateTime import DateTime
from Products.CMFCore.utils import getToolByName
from ZODB.POSException import ConflictError
from zope.component import adapter
from zope.component.hooks import getSite, setSite
from zope.processlifetime import IDatabaseOpenedWithRoot

from ragstone_plone.outbox import LEASE_SECONDS, SETTINGS, Change, Outbox, outbox_of
from ragstone_plone.ragstone import RagstoneError, post
from ragstone_plone.settings import RagSettings, read_settings

log = logging.getLogger(__name__)

MODIFIED, MOVED, REMOVED = "modified", "moved", "removed"
BATCH = 20
MOST_REFUSALS = 3
"""Failures one after the other at which Ragstone itself is taken to be in trouble."""

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
EVERY = 60.0
"""Seconds after which it is looked whether something waits."""

DUE_EVERY = 300.0
"""Seconds after which it is looked what has come into force or expired."""

TRIES = 5
"""At writing down what was sent, against edits of the same moment."""

OWNER = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
"""This process among those that serve the site."""

Place = tuple[Any, tuple[str, ...]]
"""A database, and the path of a site in it."""


class Sender:
    """Sends for the sites of this process."""

    def __init__(self) -> None:
        self._woken = threading.Condition()
        self._due: dict[tuple[int, tuple[str, ...]], tuple[float, Place]] = {}
        self._pause: dict[tuple[int, tuple[str, ...]], float] = {}
        self._thread: threading.Thread | None = None
        self.on = True

    def wake(self, database: Any, path: tuple[str, ...], after: float = 0.0) -> None:
        """Send for this site, as soon as may be."""
        if not self.on:
            return
        with self._woken:
            self._put((database, path), time.monotonic() + after)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="ragstone", daemon=True)
                self._thread.start()
            self._woken.notify()

    def _put(self, place: Place, at: float) -> None:
        key = (id(place[0]), place[1])
        self._due[key] = (min(at, self._due.get(key, (at,))[0]), place)

    def _run(self) -> None:
        while True:
            with self._woken:
                while not self._due or min(at for at, _ in self._due.values()) > time.monotonic():
                    soonest = min((at for at, _ in self._due.values()), default=None)
                    self._woken.wait(
                        None if soonest is None else max(0.0, soonest - time.monotonic())
                    )
                key = min(self._due, key=lambda item: self._due[item][0])
                place = self._due.pop(key)[1]
            pause = self._sent(key, place)
            if pause is not None:
                with self._woken:
                    self._put(place, time.monotonic() + pause)

    def _sent(self, key: tuple[int, tuple[str, ...]], place: Place) -> float | None:
        """Seconds until the next try; None where there is nothing to send to any more."""
        try:
            sent = send_all(*place)
        except Exception:
            log.exception("Sending to Ragstone broke; it is tried again")
            sent = False
        if sent is None:
            return None
        pause = self._pause.get(key, FIRST_PAUSE)
        self._pause[key] = FIRST_PAUSE if sent else min(2 * pause, LONGEST_PAUSE)
        return EVERY if sent else pause


SENDER = Sender()


def send_all(database: Any, path: tuple[str, ...]) -> bool | None:
    """Send what waits at one site. True if nothing waits then or another process sends it, False
    if it has to be tried again, None if the add-on is not there."""
    with _opened(database) as (manager, root), _site(root, path) as site:
        outbox = None if site is None else outbox_of(site)
        if outbox is None:
            return None
        if not _leased(manager, outbox):
            return True
        _queue_due(manager, site, outbox)
        settings = read_settings()
        if settings is None:
            return None
        if settings.trouble and not len(outbox):
            return True
        trouble = _send_each(manager, site, outbox)
        _report(manager, outbox, trouble)
        return trouble is None


def _send_each(manager: Any, site: Any, outbox: Outbox) -> RagstoneError | None:
    """Send every change that waits; the first trouble, None for none."""
    last, refusals, trouble = "", 0, None
    while batch := _next(manager, outbox, last):
        # A note of changed records goes with the records as they are when it is read.
        settings = read_settings()
        if settings is None:
            return trouble
        taken: list[str] = []
        for event in _events(site, settings, batch):
            error = _refused(settings, event)
            if error is None:
                refusals = 0
                taken += event.keys
                continue
            trouble = trouble or error
            refusals += 0 if error.is_about_this else 1
            if refusals >= MOST_REFUSALS or error.status in (0, 401, 403, 429):
                _forget(manager, outbox, taken)
                return trouble
        _forget(manager, outbox, taken)
        last = batch[-1][0]
    return trouble


@dataclass(frozen=True)
class Event:
    """What Ragstone is told of one object: modified, moved or removed, by how the site is now. The
    type is told of what is to be indexed."""

    uid: str
    event: str
    portal_type: str
    keys: list[str]


def _next(manager: Any, outbox: Outbox, last: str) -> list[tuple[str, Change]]:
    manager.begin()
    return outbox.after(last, BATCH)


def _events(site: Any, settings: RagSettings, batch: list[tuple[str, Change]]) -> list[Event]:
    """One event for all changes of an object in the batch. In which order they were made does not
    count: Ragstone reads the object as it is."""
    catalog, events = getToolByName(site, "portal_catalog"), []
    for uid, group in groupby(batch, lambda item: item[1].uid):
        changes = list(group)
        brains = [] if uid == SETTINGS else catalog.unrestrictedSearchResults(UID=uid)
        types = [brain.portal_type for brain in brains]
        wanted = [kind for kind in types if kind in settings.content_types]
        if not wanted:
            event = REMOVED
        elif any(change.removed for _, change in changes):
            event = MOVED
        else:
            event = MODIFIED
        keys = [key for key, _ in changes]
        events.append(Event(uid, event, wanted[0] if wanted else "", keys))
    return events


def _refused(settings: RagSettings, event: Event) -> RagstoneError | None:
    """Send an event; why it was not taken, None if it was."""
    try:
        _send(settings, event)
    except RagstoneError as error:
        log.warning("Ragstone did not take %s: %s", event.uid, error)
        return error
    return None


def _send(settings: RagSettings, event: Event) -> None:
    # The id makes two equal calls of one second two signatures.
    id = uuid.uuid4().hex
    if event.uid == SETTINGS:
        post(settings, "/plone/settings", {"nonce": id, "records": settings.told})
        return
    content = {"uid": event.uid, "event": event.event, "portal_type": event.portal_type}
    post(settings, "/plone/webhook", {**content, "id": id})


def _forget(manager: Any, outbox: Outbox, taken: list[str]) -> None:
    def forget() -> None:
        for key in taken:
            outbox.done(key)
        outbox.lease.until = time.time() + LEASE_SECONDS

    if taken:
        _written(manager, forget)


def _report(manager: Any, outbox: Outbox, trouble: RagstoneError | None) -> None:
    text, status = (str(trouble), trouble.status) if trouble else ("", 0)

    def write() -> None:
        outbox.lease.until = 0.0
        if outbox.report.trouble != text or not trouble:
            outbox.report.trouble, outbox.report.status = text, status
            outbox.report.sent_at = time.time()

    _written(manager, write)


def _leased(manager: Any, outbox: Outbox) -> bool:
    """Whether this process may send now."""
    manager.begin()
    lease, now = outbox.lease, time.time()
    waits = len(outbox) or now - outbox.report.due_checked >= DUE_EVERY
    taken = lease.owner != OWNER and lease.until > now and not _has_died(lease.owner)
    if not waits or taken:
        return False
    lease.owner, lease.until = OWNER, now + LEASE_SECONDS
    try:
        manager.commit()
    except ConflictError:
        manager.abort()
        return False
    return True


def _has_died(owner: str) -> bool:
    """Whether a process of this machine is no more; of another machine that cannot be known."""
    host, _, rest = owner.partition(" ")
    pid = rest.partition(" ")[0]
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return int(pid) == os.getpid()  # The number of a process before this one.


def _queue_due(manager: Any, site: Any, outbox: Outbox) -> None:
    """Note objects that came into force or expired since the last look: no event tells of it."""
    settings = read_settings()
    since, now = outbox.report.due_checked, time.time()
    if settings is None or now - since < DUE_EVERY:
        return
    between = {"query": (DateTime(since - EVERY), DateTime(now)), "range": "min:max"}
    catalog = getToolByName(site, "portal_catalog")
    types = list(settings.content_types)
    found = {
        brain.UID
        for index in ("effective", "expires")
        for brain in catalog.unrestrictedSearchResults({index: between, "portal_type": types})
    }

    def write() -> None:
        token = uuid.uuid4().hex
        for uid in sorted(found):
            outbox.put(token, uid)
        outbox.report.due_checked = now

    _written(manager, write)


def _written(manager: Any, write: Any) -> None:
    """Write in a transaction of its own, again where somebody edits at the same moment."""
    for attempt in range(TRIES):
        manager.begin()
        write()
        try:
            manager.commit()
        except ConflictError:
            manager.abort()
            if attempt == TRIES - 1:
                raise
        else:
            return


@contextlib.contextmanager
def _opened(database: Any) -> Iterator[tuple[Any, Any]]:
    """A connection of our own, which no request shares."""
    manager = transaction.TransactionManager()
    connection = database.open(manager)
    try:
        yield manager, connection.root()["Application"]
    finally:
        manager.abort()
        connection.close()


@contextlib.contextmanager
def _site(root: Any, path: tuple[str, ...]) -> Iterator[Any]:
    before = getSite()
    site = root.unrestrictedTraverse(path, None)
    if site is not None:
        setSite(site)
    try:
        yield site
    finally:
        setSite(before)


@adapter(IDatabaseOpenedWithRoot)
def database_opened(event: IDatabaseOpenedWithRoot) -> None:
    """Send what waited when the process before this one ended."""
    with _opened(event.database) as (_, root):
        paths = [
            site.getPhysicalPath()
            for place in (root, *root.objectValues("Folder"))
            for site in place.objectValues("Plone Site")
            if outbox_of(site) is not None
        ]
    for path in paths:
        SENDER.wake(event.database, path, after=FIRST_PAUSE)
