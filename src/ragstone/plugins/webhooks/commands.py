"""`ragstone webhook`: addresses that are told of events."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, show_list
from ragstone.cli.running import command
from ragstone.core.errors import InputError
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.plugins.webhooks.contract import EventType, Webhook, WebhookService
    from ragstone.service import Service

app = typer.Typer(
    add_completion=False,
    help="Addresses that are told of ingests, sources, documents and refused questions.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="As 'ragstone webhook list' shows it.")]
Tenant = Annotated[str, typer.Option(help="Whose webhooks.")]


@command(app)
async def add(
    service: "Service",
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are sent.")],
    event: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="TYPE", help="Only these; may be repeated. All if absent."),
    ] = None,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Tell an address of what happens from now on; the secret is shown this once."""
    made = await _operations(service).create(
        Principal(tenant), url, [_event_type(item) for item in event or ()], operator=True
    )
    if as_json:
        out_json(made)
    else:
        print_text(f"Webhook {made.webhook.id} is told from now on. Its secret, shown once:")
        print_text(made.secret)
    return 0


@command(app, "list")
async def list_(service: "Service", tenant: Tenant = "default", as_json: opt.AsJson = False) -> int:
    """List the webhooks, and how they do."""
    found = await _operations(service).list_all(tenant)
    return show_list(
        "webhooks",
        found,
        as_json,
        ("id", "state", "url", "events"),
        [(item.id, _format_state(item), item.url, ", ".join(item.events)) for item in found],
        "There are no webhooks. 'ragstone webhook add URL' adds one.",
    )


@command(app)
async def enable(service: "Service", id: Id, tenant: Tenant = "default") -> int:
    """Send to a disabled webhook again."""
    await _operations(service).enable(tenant, id)
    print_text(f"Webhook {id} is told again.")
    return 0


@command(app)
async def remove(service: "Service", id: Id, tenant: Tenant = "default") -> int:
    """Forget a webhook."""
    await _operations(service).remove(tenant, id)
    print_text(f"Removed {id}.")
    return 0


@command(app, "test")
async def send_test(service: "Service", id: Id, tenant: Tenant = "default") -> int:
    """Send a message to see whether it arrives."""
    sent = await _operations(service).test(tenant, id)
    print_text(f"Message {sent.id} is queued; 'ragstone webhook deliveries {id}' shows its end.")
    return 0


@command(app)
async def deliveries(
    service: "Service",
    id: Id,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The newest.")] = 20,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """List the last messages to a webhook."""
    found = await _operations(service).deliveries(tenant, id, limit)
    return show_list(
        "deliveries",
        found,
        as_json,
        ("at", "event", "state", "attempts", "error"),
        [
            (format_time(item.created_at), item.event, item.state, item.attempts, item.error)
            for item in found
        ],
        "Nothing was sent yet.",
    )


def _format_state(webhook: "Webhook") -> str:
    if webhook.disabled_at is not None:
        return f"disabled: {webhook.error}"
    return f"failing: {webhook.error}" if webhook.failing_since is not None else "ok"


def _event_type(text: str) -> "EventType":
    """Return a type of events as it is typed. Raises InputError."""
    from ragstone.plugins.webhooks.contract import EVENT_TYPES

    for known in EVENT_TYPES:
        if text == known:
            return known
    raise InputError(f"Not a valid type of event: {text[:100]!r}. Use {', '.join(EVENT_TYPES)}.")


def _operations(service: "Service") -> "WebhookService":
    from ragstone.plugins.webhooks.contract import WEBHOOKS

    return WEBHOOKS.of(service)
