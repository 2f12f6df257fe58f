"""Webhooks: made, listed, tried and removed.

The data of webhooks, and the body of a message.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Protocol, get_args

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, route, text

KIND = "webhook"
"""The kind of jobs that deliver a message."""

EventType = Literal["ingest.ended", "source.failed", "document.changed", "question.refused"]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
TEST = "webhook.test"
"""The type of a message that an administrator has sent to see whether it arrives."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told of events. `user` made it: of documents, those are told that this one
    may read. Times are seconds since 1970. Deliveries fail since `failing_since`, None for not now,
    the newest for the reason in `error`; from `disabled_at` on nothing is sent."""

    id: str
    url: str
    events: tuple[EventType, ...]
    user: str
    created_at: float
    delivered_at: float | None = None
    failing_since: float | None = None
    error: str = ""
    disabled_at: float | None = None


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook with the secret that signs its messages, which is told this once."""

    webhook: Webhook
    secret: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to a webhook. `id` is its `webhook-id`; `state` is of the job that delivers it,
    where `queued` also waits for the next attempt, at `due_at`. `error` is why the last one
    failed."""

    id: str
    event: str
    state: str
    attempts: int
    error: str
    created_at: float
    updated_at: float
    due_at: float


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be told. The same `id` is the same event."""

    id: str
    type: str
    at: float
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> str:
        """The message, as https://www.standardwebhooks.com says."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds")
        said = {"type": self.type, "timestamp": at, "data": dict(self.data)}
        return json.dumps(said, separators=(",", ":"))


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
