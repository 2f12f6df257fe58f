"""Webhooks: made, listed, tried and removed."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.plugins.webhooks.records import Delivery, EventType, NewWebhook, Webhook
from ragstone.service.added import AddedService
from ragstone.service.allowed import require_role
from ragstone.service.bounds import text
from ragstone.service.routes import route

Id = Annotated[str, text(64, 1)]
Url = Annotated[str, text(2_000, 1), Field(description="Where messages are sent: https://...")]
Events = Annotated[
    Sequence[EventType], Field(max_length=10, description="What is told; empty for everything.")
]
Limit = Annotated[int, Field(ge=1, le=1_000)]


class WebhookService(Protocol):
    """The webhooks of a tenant. Messages are signed and sent as https://www.standardwebhooks.com
    says, and carry ids and counts, no texts. Methods that name one raise UnknownWebhook; all raise
    StateUnavailable."""

    @require_role("admin", everywhere=True)
    @route("POST", "/webhooks")
    async def create(
        self, principal: Principal, url: Url, events: Events = (), *, operator: bool = False
    ) -> NewWebhook:
        """Tell an address of what happens from now on. Of documents it is told of those that the
        principal may read, for as long as that is an administrator.

        An address has https and is not in a private network, unless the server's operator gives
        it. Raises InputError.
        """
        ...

    @require_role("admin", everywhere=True)
    @route("GET", "/webhooks", "webhooks")
    async def list_all(self, tenant: str) -> list[Webhook]:
        """The webhooks, the oldest first."""
        ...

    @require_role("admin", everywhere=True)
    @route("POST", "/webhooks/{id}/enable")
    async def enable(self, tenant: str, id: Id) -> Webhook:
        """Send to a webhook again that was disabled; it is told of what it missed as far as that is
        still known."""
        ...

    @require_role("admin", everywhere=True)
    @route("DELETE", "/webhooks/{id}", {"removed": "id"})
    async def remove(self, tenant: str, id: Id) -> None:
        """Forget a webhook; what waits for it is not sent."""
        ...

    @require_role("admin", everywhere=True)
    @route("POST", "/webhooks/{id}/test")
    async def test(self, tenant: str, id: Id) -> Delivery:
        """Send a message of the type `webhook.test`."""
        ...

    @require_role("admin", everywhere=True)
    @route("GET", "/webhooks/{id}/deliveries", "deliveries")
    async def deliveries(self, tenant: str, id: Id, limit: Limit = 100) -> list[Delivery]:
        """The messages of the last days, the newest first."""
        ...


WEBHOOKS: AddedService[WebhookService] = AddedService(
    "webhooks", WebhookService, "ragstone.plugins.webhooks.service:open_service"
)
