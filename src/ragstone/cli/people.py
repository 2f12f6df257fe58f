"""`ragstone people`: who has an account."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import (
    format_time,
    one_line,
    out_json,
    print_text,
    show_list,
    tell_collections_to_come,
)
from ragstone.cli.running import command, context_settings, run, server_address
from ragstone.core.caller import Role
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.service.people import PersonView

app = typer.Typer(
    add_completion=False,
    help="People with accounts: they sign in with a name and a password.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")]
Tenant = Annotated[str, typer.Option(help="Whose documents it is for.")]
Display = Annotated[str | None, typer.Option(metavar="NAME", help="The name that others see.")]
WantedRole = Annotated[
    Role | None,
    typer.Option(help="reader asks, editor also changes documents, admin all the rest."),
]
Groups = Annotated[
    list[str] | None, typer.Option("--group", help="A group of the person; may be repeated.")
]
Collections = Annotated[
    list[str] | None,
    typer.Option("--collection", "-c", help="Reach only this one; may be repeated."),
]


@app.command()
def invite(
    context: typer.Context,
    name: Name,
    display: Display = None,
    role: WantedRole = None,
    group: Groups = None,
    collection: Collections = None,
    days: Annotated[
        float, typer.Option(min=0.001, max=365, help="After these the invitation ends.")
    ] = 7.0,
    same_user: Annotated[
        bool,
        typer.Option(
            "--same-user", help="A key or token of this user exists: it is the same person."
        ),
    ] = False,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> None:
    """Make an account, and print the address where its owner chooses a password; for an account
    that there is, the address for a new password."""
    settings = context_settings(context)
    here = server_address(settings)

    async def action(service: "Service") -> int:
        made = await service.people.invite(
            Principal(tenant),
            name,
            display=display,
            role=role,
            groups=group,
            collections=collection,
            days=days,
            same_user=same_user,
        )
        await tell_collections_to_come(service, tenant, collection)
        if as_json:
            out_json(made)
            return 0
        print_text(f"{here}/#invitation={made.secret}")
        typer.echo(
            f"Give this address to {made.person.name} alone: whoever opens it first chooses the "
            f"password. It ends at {format_time(made.ends_at)}, and is not shown again.",
            err=True,
        )
        return 0

    run(settings, action)


@command(app, "list")
async def list_(service: "Service", tenant: Tenant = "default", as_json: opt.AsJson = False) -> int:
    """List the accounts."""
    found = await service.people.list(Principal(tenant))
    head = ("name", "shown as", "role", "groups", "reaches", "state", "codes", "last use")
    empty = "There are no accounts; make one with 'ragstone people invite'."
    return show_list("people", found, as_json, head, map(_row, found), empty)


@command(app)
async def show(
    service: "Service", name: Name, tenant: Tenant = "default", as_json: opt.AsJson = False
) -> int:
    """Show an account."""
    return _show(await service.people.show(Principal(tenant), name, admin=True), as_json)


@command(app)
async def change(
    service: "Service",
    name: Name,
    display: Display = None,
    role: WantedRole = None,
    group: Groups = None,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Be in no group.")] = False,
    collection: Collections = None,
    all_collections: Annotated[
        bool, typer.Option("--all-collections", help="Reach every collection.")
    ] = False,
    no_codes: Annotated[
        bool, typer.Option("--no-codes", help="Ask for no code of an authenticator any more.")
    ] = False,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Give an account other rights, which hold at once; what is not said stays. Another role ends
    its sessions."""
    whose = Principal(tenant)
    if no_codes:
        await service.people.end_second_factor(whose, name, admin=True)
    view = await service.people.change(
        whose,
        name,
        display=display,
        role=role,
        groups=[] if no_groups else group,
        collections=collection,
        all_collections=all_collections,
    )
    await tell_collections_to_come(service, tenant, collection)
    return _show(view, as_json)


@command(app)
async def remove(service: "Service", name: Name, tenant: Tenant = "default") -> int:
    """Remove an account, its sessions, and the keys of its user. What it asked stays: 'ragstone
    conversations forget' erases that too."""
    keys = await service.people.remove(Principal(tenant), name)
    revoked = f" Keys revoked: {keys:,}." if keys else ""
    print_text(f"{one_line(name)} has no account any more.{revoked}")
    return 0


@command(app)
async def sessions(
    service: "Service", name: Name, tenant: Tenant = "default", as_json: opt.AsJson = False
) -> int:
    """List the browsers in which somebody is signed in."""
    found = await service.people.sessions(Principal(tenant), name, admin=True)
    rows = ((s.id, format_time(s.begun_at), format_time(s.used_at), s.agent) for s in found)
    head = ("id", "begun", "last use", "browser")
    return show_list("sessions", found, as_json, head, rows, "Nobody is signed in.")


@command(app, "sign-out")
async def sign_out(
    service: "Service",
    name: Name,
    session: Annotated[
        str, typer.Option(metavar="ID", help="Only this session; else all of them.")
    ] = "",
    tenant: Tenant = "default",
) -> int:
    """End the sessions of somebody."""
    ended = await service.people.sign_out(Principal(tenant), name, session=session, admin=True)
    print_text(f"Sessions ended: {ended:,}.")
    return 0


def _row(view: "PersonView") -> tuple[object, ...]:
    reaches = "all" if view.collections is None else ", ".join(view.collections) or "nothing"
    invited = f"invited until {format_time(view.invited_until)}" if view.invited_until else ""
    has_password = view.has_password or view.origin != "here"
    state = invited or ("active" if has_password else "invitation ended")
    state = state if view.active else "deactivated"
    used = format_time(view.used_at) if view.used_at else ""
    codes = "yes" if view.second_factor else ""
    groups = ", ".join(view.groups)
    return (view.name, view.display, view.role, groups, reaches, state, codes, used)


def _show(view: "PersonView", as_json: bool) -> int:
    if as_json:
        out_json(view)
        return 0
    names = ("name", "shown as", "role", "groups", "reaches", "state", "codes", "last use")
    for name, value in zip(names, _row(view), strict=True):
        print_text(f"{name}: {value or '-'}")
    return 0
