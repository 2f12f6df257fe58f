"""Installs and uninstalls the add-on."""

from __future__ import annotations

from typing import Any

from plone import api
from plone.base.interfaces import INonInstallable
from zope.interface import implementer

from ragstone_plone.interfaces import PREFIX
from ragstone_plone.outbox import drop_outbox, make_outbox

STOCK_TYPES = ("Document", "News Item", "Event", "Link", "Folder")
"""Of a plain Plone, besides those that the document names."""


@implementer(INonInstallable)
class HiddenProfiles:
    """Uninstalling is not offered as an add-on of its own."""

    def getNonInstallableProfiles(self) -> list[str]:  # noqa: N802
        return ["ragstone_plone:uninstall"]

    def getNonInstallableProducts(self) -> list[str]:  # noqa: N802
        return []


def after_install(context: Any) -> None:
    """Make the outbox, and index the types of a plain Plone that the site has."""
    name = f"{PREFIX}.rag_content_types"
    types = list(api.portal.get_registry_record(name) or ())
    there = api.portal.get_tool("portal_types").objectIds()
    make_outbox(api.portal.get())
    added = [item for item in STOCK_TYPES if item in there and item not in types]
    api.portal.set_registry_record(name, types + added)


def after_uninstall(context: Any) -> None:
    """Forget what was not sent."""
    drop_outbox(api.portal.get())
