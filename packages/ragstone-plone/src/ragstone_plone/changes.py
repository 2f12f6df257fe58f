"""Notes what changes, in the transaction that changes it.

The catalog's queue learns of everything that decides what a visitor finds: content, workflow
states, sharing (of all that is below, too), moves and removals. It is worked off before the commit,
so a note is part of the change: it is there if the change is, and not if it was aborted.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import transaction
from plone.registry.interfaces import IRecordModifiedEvent
from plone.uuid.interfaces import IUUID
from Products.CMFCore.interfaces import IIndexQueueProcessor
from Products.CMFCore.utils import getToolByName
from zope.component import adapter
from zope.component.hooks import getSite
from zope.interface import implementer
from zope.proxy import removeAllProxies

from ragstone_plone.interfaces import PREFIX
from ragstone_plone.outbox import SETTINGS, Outbox, outbox_of
from ragstone_plone.sender import SENDER
from ragstone_plone.settings import TOLD, read_settings

UNIMPORTANT = frozenset({"getObjPositionInParent", "in_reply_to", "total_comments"})
"""Indexes that say nothing of an object's content, place or readers."""

_MARK = object()
"""Under this a transaction keeps its token, once the sender will be woken at its end."""


@implementer(IIndexQueueProcessor)
class Changes:
    """Is told of every object that the catalog indexes anew, or forgets."""

    def index(self, obj: Any, attributes: Iterable[str] | None = None) -> None:
        self._note(obj)

    def reindex(
        self, obj: Any, attributes: Iterable[str] | None = None, update_metadata: int = 1
    ) -> None:
        if not attributes or not UNIMPORTANT.issuperset(attributes):
            self._note(obj)

    def unindex(self, obj: Any) -> None:
        self._note(obj, removed=True)

    def begin(self) -> None:
        """All is done object by object."""

    def commit(self) -> None:
        """All is done object by object."""

    def abort(self) -> None:
        """The transaction takes back what was noted."""

    def _note(self, obj: Any, removed: bool = False) -> None:
        found = site_outbox()
        if found is None:
            return
        site, outbox = found
        content = removeAllProxies(obj)
        uid, portal_type = IUUID(content, None), getattr(content, "portal_type", "")
        settings = read_settings()
        if uid and settings is not None and portal_type in settings.content_types:
            outbox.put(send_after_commit(site), uid, removed)


def site_outbox() -> tuple[Any, Outbox] | None:
    """This site with its outbox; None where the add-on is not installed."""
    site = getSite()
    portal = None if site is None else getToolByName(site, "portal_url", None)
    if portal is None:
        return None
    portal = portal.getPortalObject()
    outbox = outbox_of(portal)
    return None if outbox is None else (portal, outbox)


def send_after_commit(site: Any) -> str:
    """Have the sender woken when this transaction is committed; the transaction's token."""
    current = transaction.get()
    try:
        return current.data(_MARK)
    except KeyError:
        token = uuid.uuid4().hex
        current.set_data(_MARK, token)
        current.addAfterCommitHook(_wake, (site._p_jar.db(), site.getPhysicalPath()))
        return token


def _wake(committed: bool, database: Any, path: tuple[str, ...]) -> None:
    if committed:
        SENDER.wake(database, path)


def queue_types(site: Any, outbox: Outbox, types: Iterable[str], removed: bool = False) -> int:
    """Note every object of these types; how many there are."""
    names, token = list(types), send_after_commit(site)
    if not names:
        return 0
    brains = getToolByName(site, "portal_catalog").unrestrictedSearchResults(portal_type=names)
    for brain in brains:
        outbox.put(token, brain.UID, removed)
    return len(brains)


@adapter(IRecordModifiedEvent)
def record_changed(event: IRecordModifiedEvent) -> None:
    """Tell Ragstone of records that hold there, and of types that are indexed now or no more."""
    prefix, _, name = event.record.__name__.rpartition(".")
    if prefix != PREFIX or event.oldValue == event.newValue:
        return
    found = site_outbox()
    if found is None:
        return
    site, outbox = found
    token = send_after_commit(site)
    if name in TOLD or name in ("ragstone_url", "ragstone_secret"):
        outbox.put(token, SETTINGS)
    if name == "rag_content_types":
        before, now = set(event.oldValue or ()), set(event.newValue or ())
        queue_types(site, outbox, before - now, removed=True)
        queue_types(site, outbox, now - before)
