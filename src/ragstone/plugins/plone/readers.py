"""Who may view the objects of a site, from what a site without add-ons tells.

plone.restapi never says who may view an object. But the site can be asked as a visitor, which shows
what everybody may view, embargoes and expiry included; an object's `@sharing` tells local roles,
inherited ones too; and its workflow state, or that of the nearest object above with one, which
roles may view it. Whoever is not shown to have such a role is nobody: what cannot be found out
makes fewer people see an object, never more.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AnySet

from ragstone.core.chunk import EVERYONE
from ragstone.plugins.plone.client import Item, LocalRoles, PloneClient
from ragstone.plugins.plone.names import (
    ALWAYS,
    CONNECTOR,
    OWNER,
    add_on_fields,
    names,
    reader_names,
    stated_readers,
)
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.summary import Summary

VISITORS = (f"group:{CONNECTOR}", EVERYONE)
MANAGERS = names(ALWAYS)

LOOKED_AT = 4
"""Objects that the site is asked for at the same time."""


def read_site_readers(item: Item, about: Summary, now: float) -> tuple[str, ...] | None:
    """Return who may view an object as the site itself says, None where it does not. Only the
    add-on counts in whether the object is published by now."""
    told = stated_readers(item)
    if told is None:
        return None
    return MANAGERS if about.is_hidden(now) and not add_on_fields(item) else names(told)


class Readers:
    """Finds out who may view objects. `places` are objects known already, by their addresses; what
    stands above an object and is not among them is asked for. Keeps what it has learned: one
    `Readers` is for one moment."""

    def __init__(
        self, client: PloneClient, settings: PloneSettings, places: Iterable[Summary] = ()
    ) -> None:
        self._client = client
        self._states = settings.state_roles
        self._places: dict[str, Summary | None] = {place.address: place for place in places}
        self._shared: dict[str, asyncio.Task[Item | None]] = {}
        self._roles: dict[str, list[LocalRoles]] = {}
        self.untold = False
        """Whether the site kept to itself who something is shared with."""

    async def of(
        self, objects: Sequence[Summary], public: AnySet[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the names of those who may view each object, by UID; `public` are the UIDs of what
        visitors find."""
        found: dict[str, tuple[str, ...]] = {}
        closed: list[Summary] = []
        now = time.time()
        for item in objects:
            if item.uid in public:
                found[item.uid] = VISITORS
            elif item.is_hidden(now) or self._client.is_visitor:
                found[item.uid] = MANAGERS
            else:
                closed.append(item)
        chains = {summary.uid: await self._above(summary) for summary in closed}
        uids = {item.uid for chain in chains.values() for item in chain} - self._roles.keys()
        self._roles |= await self._client.local_roles(sorted(uids)) if uids else {}
        limit = asyncio.Semaphore(LOOKED_AT)

        async def look(summary: Summary) -> None:
            async with limit:
                found[summary.uid] = await self._restricted_readers(chains[summary.uid])

        looking = [asyncio.create_task(look(summary)) for summary in closed]
        try:
            await asyncio.gather(*looking)
        finally:
            for task in looking:
                task.cancel()
        return found

    async def _restricted_readers(self, chain: Sequence[Summary]) -> tuple[str, ...]:
        """Who may view an object that visitors may not; `chain` leads from it to the site."""
        state = next((summary.state for summary in chain if summary.state), "")
        roles = self._states.get(state, ())
        if not roles:
            return MANAGERS
        sharing = await self._read_sharing(chain[0].address)
        if sharing is None:
            return reader_names(set(roles), (), ())
        owners = await self._owners(chain) if OWNER in roles else []
        return reader_names(roles, _entries(sharing), owners)

    async def _owners(self, chain: Sequence[Summary]) -> list[str]:
        """Users who own the object or something above it, as far up as roles are inherited."""
        found: list[str] = []
        for summary in chain:
            found += [name for name, roles in self._roles.get(summary.uid, ()) if OWNER in roles]
            sharing = await self._read_sharing(summary.address)
            if sharing is None or sharing.get("inherit") is not True:
                break
        return found

    async def _read_sharing(self, address: str) -> Item | None:
        if address not in self._shared:
            self._shared[address] = asyncio.create_task(self._client.read_sharing(address))
        sharing = await self._shared[address]
        self.untold = self.untold or sharing is None
        return sharing

    async def _above(self, summary: Summary) -> list[Summary]:
        """Return the object and what it is in, up to the site, as far as that can be seen."""
        chain, address, site = [summary], summary.address, self._client.site
        while address != site and address.startswith(site + "/"):
            address = address.rpartition("/")[0]
            if address not in self._places:
                self._places[address] = await self._client.place(address)
            place = self._places[address]
            if place is None:
                break
            chain.append(place)
        return chain


def _entries(sharing: Mapping[str, object]) -> list[Mapping[str, object]]:
    entries = sharing.get("entries")
    return (
        [entry for entry in entries if isinstance(entry, Mapping)]
        if isinstance(entries, list)
        else []
    )
