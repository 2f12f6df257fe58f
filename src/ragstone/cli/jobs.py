"""The `ragstone jobs` commands: what goes on in the background, and how to steer it."""

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import (
    duration,
    err,
    format_time,
    one_line,
    out_json,
    print_text,
    show_list,
)
from ragstone.cli.running import Context, command, context_settings, run
from ragstone.core.errors import UnknownJob
from ragstone.core.turn import Principal
from ragstone.core.wording import format_count

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.service.jobs import JobView

app = typer.Typer(
    help="Jobs: what goes on in the background.", add_completion=False, no_args_is_help=True
)

State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose jobs.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id as 'ragstone jobs list' shows it.")]
MaybeId = Annotated[
    str, typer.Argument(metavar="[ID]", help="The id as 'ragstone jobs list' shows it.")
]
OfKind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="Every job of this kind instead.")
]
Action = Literal["cancel", "pause", "resume", "retry"]


@command(app, "list")
async def list_(
    service: "Service",
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only this kind.")] = None,
    state: Annotated[State | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most jobs to show.")] = 50,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """List jobs, the newest first. Those that failed for good have the state failed."""
    found = await service.jobs.list(tenant, kind, state, limit)
    rows = (
        (_when(j), j.id, j.kind, j.state, _share(j), j.attempts, j.user, j.error) for j in found
    )
    head = ("created", "id", "kind", "state", "done", "attempts", "user", "error")
    return show_list("jobs", found, as_json, head, rows, "There are no such jobs.")


@command(app)
async def kinds(service: "Service", as_json: opt.AsJson = False) -> int:
    """Show the kinds of jobs: how many there are, how many run at a time, which are paused."""
    found = await service.jobs.kinds()
    states = ("queued", "running", "paused", "done", "failed", "cancelled")
    rows = (
        (k.kind, "paused" if k.paused else "", k.concurrency, *(k.jobs.get(s, 0) for s in states))
        for k in found
    )
    head = ("kind", "", "at a time", *states)
    return show_list("kinds", found, as_json, head, rows, "There are no kinds of jobs.")


@command(app)
async def show(
    service: "Service",
    id: Id,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show progress until it has ended.")
    ] = False,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Show a job with its progress, its error or its result."""
    view = await service.jobs.get(Principal(tenant), id, admin=True)
    if view is None:
        raise UnknownJob(id)
    if follow:
        watched: Any = service.jobs.watch(Principal(tenant), id, admin=True)
        async with aclosing(watched) as views:
            async for view in views:
                err(f"{view.state} {_share(view)}{_time_left(view)}")
    if as_json:
        out_json(view)
    else:
        _describe(view)
    return 1 if view.state == "failed" else 0


@app.command()
def cancel(context: Context, id: Id, tenant: Tenant = "default") -> None:
    """End a job. What it has done stays."""
    run(context_settings(context), lambda s: _steer(s, "cancel", tenant, id))


@app.command()
def pause(
    context: Context, id: MaybeId = "", kind: OfKind = None, tenant: Tenant = "default"
) -> None:
    """Stop a job until it is resumed, or begin no more jobs of a kind."""
    _check_target(id, kind)
    run(context_settings(context), lambda s: _steer_job_or_kind(s, "pause", tenant, id, kind))


@app.command()
def resume(
    context: Context, id: MaybeId = "", kind: OfKind = None, tenant: Tenant = "default"
) -> None:
    """Let a paused job go on, or begin jobs of a kind again."""
    _check_target(id, kind)
    run(context_settings(context), lambda s: _steer_job_or_kind(s, "resume", tenant, id, kind))


@app.command()
def retry(
    context: Context,
    id: MaybeId = "",
    failed: Annotated[bool, typer.Option("--failed", help="Every job that failed.")] = False,
    tenant: Tenant = "default",
) -> None:
    """Queue a failed or cancelled job again."""
    if bool(id) is failed:
        raise typer.BadParameter("name a job or give --failed, but not both")
    run(context_settings(context), lambda s: _retry(s, tenant, id))


@app.command()
def evaluate(
    context: Context,
    what: Annotated[Literal["retrieval", "answers"], typer.Argument(help="What to measure.")],
    directory: Annotated[Path, typer.Argument(help="The folder of 'ragstone eval'.")],
    split: Annotated[str, typer.Option(help="Which questions: the folder's name.")] = "dev",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many questions.")] = None,
) -> None:
    """Let the running server measure in the background; 'ragstone jobs show' has the figures."""
    wanted = {"what": what, "directory": str(directory.absolute()), "split": split, "limit": limit}
    run(context_settings(context), lambda s: _submit(s, "evaluation", wanted))


@command(app)
async def clean(
    service: "Service",
    state: Annotated[
        Literal["done", "failed", "cancelled"] | None, typer.Option(help="Only those.")
    ] = None,
    older: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Only those that ended so long ago.")
    ] = 0.0,
    tenant: Tenant = "default",
) -> int:
    """Forget jobs that have ended, with their results."""
    cleaned = await service.jobs.clean(tenant, state, older)
    print_text(f"{format_count(cleaned, 'job')} removed from the list.")
    return 0


def _check_target(id: str, kind: str | None) -> None:
    if bool(id) is bool(kind):
        raise typer.BadParameter("name a job or give --kind, but not both")


def _describe(view: "JobView") -> None:
    print_text(f"{view.kind} {view.id}: {view.state} {_share(view)}{_time_left(view)}")
    print_text(f"created {_when(view)} by {one_line(view.user)}, begun {view.attempts} times")
    if view.collection:
        print_text(f"collection {one_line(view.collection)}")
    if view.error:
        print_text(f"error: {one_line(view.error)}")
    if view.result:
        print_text(json.dumps(view.result, indent=2))


async def _steer(service: "Service", action: Action, tenant: str, id: str) -> int:
    view = await getattr(service.jobs, action)(Principal(tenant), id, admin=True)
    print_text(f"{view.id} is {view.state}.")
    return 0


async def _steer_job_or_kind(
    service: "Service", action: Literal["pause", "resume"], tenant: str, id: str, kind: str | None
) -> int:
    if not kind:
        return await _steer(service, action, tenant, id)
    act: Callable[[str], Awaitable[None]] = getattr(service.jobs, f"{action}_kind")
    await act(kind)
    print_text(
        f"Jobs of the kind {kind} are {'not begun' if action == 'pause' else 'begun again'}."
    )
    return 0


async def _retry(service: "Service", tenant: str, id: str) -> int:
    if id:
        return await _steer(service, "retry", tenant, id)
    found = await service.jobs.list(tenant, None, "failed", 10_000)
    for item in found:
        await _steer(service, "retry", tenant, item.id)
    print_text(f"{format_count(len(found), 'job')} queued again.")
    return 0


async def _submit(service: "Service", kind: str, request: dict[str, Any]) -> int:
    view = await service.jobs.submit(kind, request, principal=Principal())
    print_text(view.id)
    return 0


def _when(view: "JobView") -> str:
    return format_time(view.created_at, seconds=True)


def _share(view: "JobView") -> str:
    share = view.progress.get("share")
    return f"{share:.0%}" if isinstance(share, int | float) else ""


def _time_left(view: "JobView") -> str:
    return f", about {duration(view.eta)} left" if view.eta else ""
