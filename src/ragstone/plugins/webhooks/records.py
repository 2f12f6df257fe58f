"""The data of webhooks, and the body of a message."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

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
