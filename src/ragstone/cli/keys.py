"""The `ragstone keys` commands: who may send requests to the server."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import (
    format_time,
    out_json,
    print_text,
    show_list,
    tell_collections_to_come,
)
from ragstone.cli.running import command, context_settings, run, server_address
from ragstone.core.caller import Role

if TYPE_CHECKING:
    from ragstone.core.records import ApiKey
    from ragstone.service import Service
    from ragstone.service.keys import IssuedKey

app = typer.Typer(
    help="API keys: who may send requests to the server.",
    add_completion=False,
    no_args_is_help=True,
)

DAY = 86_400.0
HOUR = 3600.0

Context = typer.Context
Id = Annotated[str, typer.Argument(metavar="ID", help="As 'ragstone keys list' shows it.")]


@app.command()
def create(
    context: Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    role: Annotated[
        Role, typer.Option(help="reader asks, editor also changes documents, admin all the rest.")
    ] = "reader",
    tenant: Annotated[str, typer.Option(help="Whose documents it is for.")] = "default",
    user: Annotated[str, typer.Option(help="Who asks with it; else the key itself.")] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", help="A group of this user; may be repeated.")
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", help="Reach only this one; may be repeated."),
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0.001, max=36_500, help="It ends after these; else never.")
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(
            "--site",
            metavar="ORIGIN",
            help="Make it a widget's, which only asks, on pages of this site; may be repeated.",
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Make a key, and print its secret, which cannot be shown again; of a widget its script tag."""
    from ragstone.service.keys import KeyGrant

    reach = None if collection is None else tuple(collection)
    seconds = None if days is None else days * DAY
    sites = None if site is None else tuple(site)
    grant = KeyGrant(name, tenant, user, tuple(group or ()), reach, role, seconds, sites)

    settings = context_settings(context)
    here = server_address(settings)

    async def action(service: "Service") -> int:
        issued = await service.keys.create(grant)
        await tell_collections_to_come(service, tenant, reach)
        if sites and not as_json:
            return _show_tag(issued.key.id, here)
        return _show_issued(issued, as_json)

    run(settings, action)


@command(app, "list")
async def list_(
    service: "Service",
    tenant: Annotated[str | None, typer.Option(help="Only keys of this tenant.")] = None,
    as_json: opt.AsJson = False,
) -> int:
    """List the keys, without their secrets."""
    found = await service.keys.list_all(tenant)
    head = ("id", "name", "tenant", "user", "groups", "reaches", "role", "state", "last used")
    empty = "There are no keys; make one with 'ragstone keys create'."
    return show_list("keys", found, as_json, head, map(_row, found), empty)


@command(app)
async def rotate(
    service: "Service",
    id: Id,
    grace_hours: Annotated[
        float, typer.Option(min=0, max=876_000, help="How long the old secret still holds.")
    ] = 24.0,
    as_json: opt.AsJson = False,
) -> int:
    """Give a key a new secret, and print it."""
    return _show_issued(await service.keys.rotate(None, id, grace_hours * HOUR), as_json)


@command(app)
async def revoke(service: "Service", id: Id, as_json: opt.AsJson = False) -> int:
    """End a key, in every server within two seconds."""
    key = await service.keys.revoke(None, id)
    if as_json:
        out_json({"key": key})
    else:
        print_text(f"The key {key.id} ({key.name}) no longer holds.")
    return 0


def _show_issued(issued: "IssuedKey", as_json: bool) -> int:
    if as_json:
        out_json({"key": issued.key, "secret": issued.secret})
        return 0
    print_text(issued.secret)
    typer.echo(f"This is the secret of key {issued.key.id}. Keep it: it is shown once.", err=True)
    return 0


def _show_tag(id: str, address: str) -> int:
    print_text(f'<script src="{address}/web/widget.js" data-widget="{id}" async></script>')
    said = "Put this into a page of the site, with the server's address as its visitors reach it."
    typer.echo(said, err=True)
    return 0


def _row(key: "ApiKey") -> tuple[Any, ...]:
    reaches = "all" if key.collections is None else ", ".join(key.collections) or "nothing"
    groups = ", ".join(key.groups)
    used = format_time(key.used_at) if key.used_at else "never"
    return (key.id, key.name, key.tenant, key.user, groups, reaches, key.role, _state(key), used)


def _state(key: "ApiKey") -> str:
    if key.revoked_at is not None:
        return f"revoked {format_time(key.revoked_at)}"
    if key.expires_at is None:
        return "valid"
    return f"{'ended' if key.expires_at <= time.time() else 'until'} {format_time(key.expires_at)}"
