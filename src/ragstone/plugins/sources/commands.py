"""`ragstone source`: what collections are kept in sync with."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import duration, format_time, one_line, out_json, print_text, show_list
from ragstone.cli.readers import format_readers, parse_names
from ragstone.cli.running import command
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.core.sync import SourceOption, SourceRun
    from ragstone.service import Service
    from ragstone.service.sources import SourcesService, SourceView

app = typer.Typer(
    add_completion=False, help="Keep collections in sync with sources.", no_args_is_help=True
)

LOOK_SECONDS = 0.2

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source's name.")]
OptionTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of the kind, as path=/srv/handbook; a secret as "
        "password=env:RAGSTONE_SOURCE_PASSWORD. May be repeated.",
    ),
]
Every = Annotated[
    str, typer.Option(metavar="TIME", help="How often it is synced, as 15m, 6h or 1d.")
]
Cron = Annotated[
    str,
    typer.Option(
        metavar="EXPRESSION",
        help="At which times it is synced instead, as '0 6 * * mon-fri', by the clock of the "
        "server's time zone.",
    ),
]


@command(app)
async def add(
    service: "Service",
    name: Name,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="'ragstone source kinds' shows the kinds.")
    ],
    option: OptionTexts = None,
    every: Every = "",
    cron: Cron = "",
    readers: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Who may read what the source says nothing of, as group:hr,user:ada.",
        ),
    ] = "inherit",
    collection: opt.Collection = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Keep a collection in sync with a source from now on."""
    view = await _operations(service).add(
        Principal(),
        name,
        kind,
        collection,
        options=_parse_options(option or []),
        every=_parse_interval(every) if every else None,
        cron=cron or None,
        readers=parse_names(readers),
        operator=True,
    )
    return _show(view, as_json)


@command(app)
async def kinds(service: "Service", as_json: opt.AsJson = False) -> int:
    """List the kinds of sources, with their options."""
    found = await _operations(service).kinds(Principal())
    rows = [
        row
        for kind in found
        for row in (
            (kind.name, "", kind.help),
            *((kind.name, option.name, _describe_option(option)) for option in kind.options),
        )
    ]
    return show_list("kinds", found, as_json, ("kind", "option", ""), rows, "There are none.")


def _describe_option(option: "SourceOption") -> str:
    values = f" One of {', '.join(option.choices)}." if option.choices else ""
    default = f" {option.default} by default." if option.default else ""
    return option.help + values + (" Needed." if option.required else default)


@command(app)
async def change(
    service: "Service",
    name: Name,
    option: OptionTexts = None,
    every: Every = "",
    cron: Cron = "",
    by_hand: Annotated[
        bool, typer.Option("--by-hand", help="Sync it only when somebody says so from now on.")
    ] = False,
    readers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Who may read what the source says nothing of; 'inherit' for what folder and "
            "collection say.",
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> int:
    """Change schedule, options or readers of a source; what is not given stays. KEY= takes an
    option away. Other options and readers are taken over by a run that is due at once."""
    view = await _operations(service).change(
        Principal(),
        name,
        every=_parse_interval(every) if every else None,
        cron=cron or None,
        by_hand=by_hand,
        options=_parse_options(option or []),
        readers=None if readers is None else parse_names(readers),
        operator=True,
    )
    return _show(view, as_json)


@command(app, "list")
async def list_(service: "Service", as_json: opt.AsJson = False) -> int:
    """List the sources, each with its last run."""
    found = await _operations(service).list(Principal())
    rows = (
        (v.name, v.kind, v.collection, _schedule(v), *(_row(v.last) if v.last else [""] * 8))
        for v in found
    )
    head = ("source", "kind", "collection", "schedule", *_HEAD)
    return show_list("sources", found, as_json, head, rows, "There are no sources yet.")


@command(app)
async def show(service: "Service", name: Name, as_json: opt.AsJson = False) -> int:
    """Show a source, with its last run."""
    return _show(await _operations(service).show(Principal(), name), as_json)


@command(app)
async def sync(
    service: "Service",
    name: Name,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only count what would be done.")] = False,
    accept_removals: Annotated[
        bool,
        typer.Option(
            "--accept-removals", help="Remove also what is held back, as so much is gone at once."
        ),
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Sync a source now, and wait for it. The exit status is 1 if the run or an item failed."""
    import asyncio

    sources = _operations(service)
    run = await sources.sync(Principal(), name, dry=dry, accept_removals=accept_removals)
    while run.state == "running":
        await asyncio.sleep(LOOK_SECONDS)
        runs = await sources.runs(Principal(), name)
        run = next((item for item in runs if item.id == run.id), run)
    if as_json:
        out_json(run)
    else:
        _describe(run)
    return 0 if run.state == "done" and not run.failed else 1


@command(app)
async def runs(
    service: "Service",
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most runs to show.")] = 20,
    as_json: opt.AsJson = False,
) -> int:
    """List the runs of a source, the newest first."""
    found = await _operations(service).runs(Principal(), name, limit)
    rows = (_row(run) for run in found)
    return show_list("runs", found, as_json, _HEAD, rows, "It was not synced yet.")


@command(app)
async def remove(
    service: "Service",
    name: Name,
    documents: Annotated[
        bool, typer.Option("--documents", help="Delete its documents from the collection too.")
    ] = False,
) -> int:
    """Forget a source. Its documents stay, unless --documents is given."""
    removed = await _operations(service).remove(Principal(), name, documents=documents)
    deleted = f" Documents deleted: {removed:,}." if documents else " Its documents stay."
    print_text(f"{one_line(name)} is removed.{deleted}")
    return 0


_HEAD = ("last run", "state", "added", "changed", "rights", "removed", "failed", "reason")


def _parse_options(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            # What is after the key may be a secret.
            raise typer.BadParameter(f"--option is given as KEY=VALUE, but {key[:40]!r} is not")
        found[key.strip()] = value.strip()
    return found


def _parse_interval(text: str) -> float:
    from ragstone.settings.section import seconds

    try:
        return float(seconds(text))
    except ValueError as error:
        raise typer.BadParameter(
            f"--every is a time such as 15m, 6h or 1d, but {text[:40]!r} is not"
        ) from error


def _schedule(view: "SourceView") -> str:
    return f"every {duration(view.every)}" if view.every is not None else one_line(view.cron or "")


def _row(run: "SourceRun") -> tuple[object, ...]:
    counts = (run.added, run.changed, run.rights, run.removed, run.failed)
    first = run.failures[0].reason if run.failures else next(iter(run.notes), "")
    state = f"{run.state} (dry)" if run.dry else run.state
    return (format_time(run.started_at, seconds=True), state, *counts, run.error or first)


def _show(view: "SourceView", as_json: bool) -> int:
    if as_json:
        out_json(view)
        return 0
    print_text(f"{one_line(view.name)}: {one_line(view.kind)} to {one_line(view.collection)}")
    for key, value in view.options.items():
        print_text(f"  {one_line(key)}: {one_line(value)}")
    print_text(f"  readers: {format_readers(view.readers)}")
    due = f", next at {format_time(view.next_at, seconds=True)}" if view.next_at else ""
    print_text(f"  schedule: {_schedule(view) or 'only when synced by hand'}{due}")
    if view.last:
        _describe(view.last)
    return 0


def _describe(run: "SourceRun") -> None:
    verb = "would be " if run.dry else ""
    counts = (
        f"{run.added:,} added, {run.changed:,} changed, {run.rights:,} given other readers, "
        f"{run.removed:,} removed"
    )
    when = format_time(run.started_at, seconds=True)
    print_text(f"{when} {run.state}: {verb}{counts}; {run.unchanged:,} unchanged.")
    if run.error:
        print_text(f"  {one_line(run.error)}")
    for note in run.notes:
        print_text(f"  {one_line(note)}")
    if run.failed:
        print_text(f"  {run.failed:,} failed:")
    for failure in run.failures:
        print_text(f"    {one_line(failure.path)}: {one_line(failure.reason)}")


def _operations(service: "Service") -> "SourcesService":
    from ragstone.plugins.sources.contract import SOURCES_PART

    return SOURCES_PART.of(service)
