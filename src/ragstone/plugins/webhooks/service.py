"""Webhooks in this process."""

import asyncio
import base64
import logging
import secrets
from collections.abc import Sequence
from uuid import uuid4

from ragstone.access.asking import ASKING, check_everywhere
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, RagstoneError, UnknownWebhook
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.local.jobs import LocalJobs
from ragstone.plugins.webhooks.contract import (
    EVENT_TYPES,
    TEST,
    Delivery,
    EventType,
    NewEvent,
    NewWebhook,
    Webhook,
)
from ragstone.plugins.webhooks.deliver import parse_address, resolve
from ragstone.plugins.webhooks.store import SqlWebhooks, StoredWebhook

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""How often it is looked for what is to be told."""

SECRET_BYTES = 32
MAX_WEBHOOKS = 50
"""Webhooks of a tenant: for each it is looked what is to be told."""


class LocalWebhooks:
    """`WebhookService` on the state store."""

    def __init__(self, store: SqlWebhooks, jobs: LocalJobs) -> None:
        self._store = store
        self._jobs = jobs

    async def create(
        self,
        principal: Principal,
        url: str,
        events: Sequence[EventType] = (),
        *,
        operator: bool = False,
    ) -> NewWebhook:
        check_everywhere()
        address = parse_address(url, inside=operator)
        try:
            await resolve(address, inside=operator)
        except OSError as error:
            raise InputError(
                f"The host {address.host!r} is not found. Check the address."
            ) from error
        if len(await self._store.list_all(principal.tenant)) >= MAX_WEBHOOKS:
            raise InputError(f"A tenant has at most {MAX_WEBHOOKS} webhooks. Remove one first.")
        wanted = tuple(dict.fromkeys(events)) or EVENT_TYPES
        made = Webhook(uuid4().hex, url, wanted, principal.user, state_time())
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        await self._store.add(
            StoredWebhook(made, principal, ASKING.get().key, secret, inside=operator)
        )
        return NewWebhook(made, secret)

    async def list_all(self, tenant: str) -> list[Webhook]:
        check_everywhere()
        return await self._store.list_all(tenant)

    async def enable(self, tenant: str, id: str) -> Webhook:
        await self._find(tenant, id)
        await self._store.enable(id)
        return (await self._find(tenant, id)).shown

    async def remove(self, tenant: str, id: str) -> None:
        await self._find(tenant, id)
        await self._store.remove(id)

    async def test(self, tenant: str, id: str) -> Delivery:
        webhook = await self._find(tenant, id)
        if webhook.shown.disabled_at is not None:
            raise InputError("The webhook is disabled. Enable it first.")
        await self._store.queue(webhook, [NewEvent(uuid4().hex, TEST, state_time())])
        self._jobs.wake()
        [newest, *_] = await self._store.list_deliveries(id, 1)
        return newest

    async def deliveries(self, tenant: str, id: str, limit: int = 100) -> list[Delivery]:
        await self._find(tenant, id)
        return await self._store.list_deliveries(id, limit)

    async def watch(self) -> None:
        """Queue what is to be told, from now on and for as long as this is not cancelled."""
        while True:
            try:
                if await self._store.queue_news():
                    self._jobs.wake()
            except RagstoneError as error:
                log.warning("Webhooks are told later: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _find(self, tenant: str, id: str) -> StoredWebhook:
        """Find a webhook. Raises UnknownWebhook."""
        check_everywhere()
        found = await self._store.get(id)
        if found is None or found.owner.tenant != tenant:
            raise UnknownWebhook(id)
        return found


def open_service(parts: ServiceParts) -> LocalWebhooks:
    """Make the operations of this process."""
    return LocalWebhooks(SqlWebhooks.of(parts.adapters), parts.jobs)
