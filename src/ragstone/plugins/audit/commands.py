"""`ragstone audit`: who did what, and what came of it."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, table
from ragstone.cli.running import Context, context_settings, run
from ragstone.plugins.audit.event import AuditEvent, Kind, Outcome

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer(add_completion=False, help="Read the audit trail.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Without this, Typer would make a group of one command that command."""


@app.command()
def events(
    context: Context,
    user: Annotated[str, typer.Option("--user", help="Only of this user.")] = "",
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only of this kind.")] = None,
    outcome: Annotated[Outcome | None, typer.Option("--outcome", help="Only these.")] = None,
    about: Annotated[str, typer.Option("--about", help="Only with this in what it names.")] = "",
    days: Annotated[float, typer.Option("--days", min=0, help="Only the last days; 0: all.")] = 0,
    before: Annotated[str, typer.Option("--before", help="Only before this event's id.")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="Whose events.")] = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most events.")] = 100,
    as_json: opt.AsJson = False,
) -> None:
    """Print events, the newest first."""
    from ragstone.plugins.audit.contract import AUDIT

    async def action(service: "Service") -> int:
        page = await AUDIT.of(service).events(
            tenant,
            user=user,
            kind=kind,
            outcome=outcome,
            about=about,
            since=time.time() - days * 86_400 if days else 0.0,
            before=before,
            limit=limit,
        )
        if as_json:
            out_json(page)
            return 0
        rows = [
            (
                format_time(event.at, seconds=True),
                event.user or "-",
                event.operation,
                event.what or "-",
                " ".join(filter(None, (event.outcome, event.detail, format_count(event)))),
            )
            for event in page.events
        ]
        if rows:
            table(("when", "who", "operation", "what", "outcome"), rows)
        else:
            print_text("There are no such events.")
        if page.lost:
            print_text(f"{page.lost:,} events were lost; the server's log says why.")
        return 0

    run(context_settings(context), action)


def format_count(event: AuditEvent) -> str:
    """Tell how many events one stands for, empty for itself."""
    return f"({event.count:,} times)" if event.count > 1 else ""
